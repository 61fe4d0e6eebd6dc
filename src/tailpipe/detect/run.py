"""Run detections: over what has come since the last time, or over a window; hits are stored exactly once.

All that a run finds, how far it came, what it has learnt and which alerts are due are one transaction of the partition
of hits. A run that is killed before it has done nothing; one that is killed after it has done all.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from tailpipe.catalog.arrivals import Arrivals, arrivals, heads
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.detect.alerting import enqueue
from tailpipe.detect.counting import reach, spans
from tailpipe.detect.evaluate import Found, evaluate
from tailpipe.detect.hit_table import DETECTION_HIT
from tailpipe.detect.jail import Jail, open_jail
from tailpipe.detect.learn import learn
from tailpipe.detect.past import known_hits, new_hits
from tailpipe.detect.state import State
from tailpipe.detect.store import store_hits
from tailpipe.model.detection import HIT_TABLE, HITS, Detection
from tailpipe.model.request import Detect
from tailpipe.model.table import Table
from tailpipe.model.window import Window
from tailpipe.query.statements import words
from tailpipe.sql.attempt import Attempt
from tailpipe.sql.quoting import moment

_CONTEXT = "tp__context"


@dataclass
class Run:
    """One run over a catalog."""

    catalog: Catalog
    tables: Mapping[str, Table]
    detections: Sequence[Detection]
    request: Detect
    attempt: Attempt | None = None
    """Where it is noted which detection is evaluated."""
    results: list[Found] = field(default_factory=list)
    rows: int = 0
    """How many rows the files hold that were examined, new or not."""
    is_first: bool = False
    """Whether it was the first run, which notes where detections begin."""

    def run(self) -> Run:
        """Evaluate the detections, and commit what they found unless it is a dry run."""
        tables = ChainMap({HIT_TABLE: DETECTION_HIT}, self.tables)  # type: ignore[arg-type] # it is only read
        writing = nullcontext(None) if self.request.dry_run else self.catalog.writer(HITS)
        with writing as writer:
            state = State(self.catalog.cursors(HITS))
            directories = [*self.catalog.snapshot(partition=HITS).directories, self.catalog.database.layout.cache]
            with open_jail(directories, tables, self.detections, self.attempt) as jail:
                found = list(self._replay(jail, state) if self.request.window else self._resume(jail, state))
                self._settle(jail, state, found)
            if writer is not None:
                for result in self.results if self.request.sends else ():
                    enqueue(state, result.detection, result.hits, self.request.now)
                hits = [hit for result in self.results for hit in result.hits]
                store_hits(writer, hits, state.changes, self.request.now)
        return self

    # What is examined

    def _resume(self, jail: Jail, state: State) -> Iterable[Found]:
        """Evaluate over the rows since the last run; a detection that failed then, over earlier ones too."""
        ends = {name: head for name, head in heads(self.catalog.database).items() if name != HITS}
        self.is_first = not state.is_started
        if self.is_first:
            state.change("started", self.request.now.isoformat())
        since = state.positions(ends)
        late = {one.name: behind for one in self.detections if (behind := state.behind(one.name))}
        usual = [one for one in self.detections if one.name not in late]
        groups = [(since, usual)] if usual else []
        groups += [({**since, **late[one.name]}, [one]) for one in self.detections if one.name in late]
        for positions, some in groups:
            tables = {one.table for one in some}
            of_tables = {name: at for name, at in positions.items() if name.partition(".")[0] in tables}
            new = arrivals(self.catalog.database, of_tables)
            for found in self._evaluate(jail, state, some, new):
                if not self.request.names:
                    one = found.detection
                    changed = {name for name, _ in new.stamps if found.failure and name.partition(".")[0] == one.table}
                    state.fall_behind(one.name, {name: positions[name] for name in changed})
                yield found
        if not self.request.names:
            state.move(ends)

    def _evaluate(self, jail: Jail, state: State, some: Sequence[Detection], new: Arrivals) -> Iterable[Found]:
        """Evaluate over the new rows of each table: those with the ingest times of what has come."""
        for table in dict.fromkeys(one.table for one in some):
            groups: dict[str, list[LiveFile]] = {}
            for file in new.snapshot.files:
                if file.table == table:
                    stamps = ", ".join(moment(one) for one in new.stamps[file.partition, file.unit])
                    groups.setdefault(f"tp_ingest_timestamp IN ({stamps})", []).append(file)
            yield from self._of_table(jail, state, [one for one in some if one.table == table], new.snapshot, groups)

    def _replay(self, jail: Jail, state: State) -> Iterable[Found]:
        """Evaluate over the rows of a window."""
        window = self.request.window or Window.of_day(self.request.now.date())
        condition = f"tp_timestamp >= {moment(window.start)} AND tp_timestamp < {moment(window.end)}"
        for table in dict.fromkeys(one.table for one in self.detections):
            snapshot = self._near(table, [(_naive(window.start), _naive(window.end))])
            own = [one for one in self.detections if one.table == table]
            yield from self._of_table(jail, state, own, snapshot, {condition: snapshot.files} if snapshot.files else {})

    def _of_table(
        self,
        jail: Jail,
        state: State,
        own: Sequence[Detection],
        snapshot: Snapshot,
        groups: Mapping[str, Sequence[LiveFile]],
    ) -> Iterable[Found]:
        """Evaluate the detections of one table; without rows only what has to learn is done."""
        learning = [one for one in own if one.first_seen and not state.has_begun(one.name, one.version)]
        if learning and self.request.window is None:
            yield from learn(jail, self.catalog, learning, state)
            own = [one for one in own if one not in learning]
        table, files = (own or learning)[0].table, [file for some in groups.values() for file in some]
        if not files or not own:
            yield from (Found(one) for one in own)
            return
        self.rows += sum(file.rows for file in files)
        jail.show_groups(table, snapshot, groups)
        named = {word for one in own if one.sql is not None for word in words(one.sql)}
        for other in jail.tables if named else ():  # tables of plugins are loaded when they are named
            if other.lower() in named:
                jail.show(other, other, self.catalog.snapshot(other))
        seen = {one.name: state.seen(one.name) for one in own if one.first_seen}
        columns = [column.name for column in self.tables[table].columns if not column.name.startswith("tp_")]
        yield from evaluate(jail, own, columns, lambda one, times: self._context(jail, one, times), seen)

    def _context(self, jail: Jail, one: Detection, times: Sequence[datetime]) -> str:
        """The rows of a table near these times, in which a threshold is counted."""
        near = spans(times, reach(one))
        snapshot = self._near(one.table, near)
        conditions = " OR ".join(f"tp_timestamp BETWEEN {moment(low)} AND {moment(high)}" for low, high in near)
        jail.show(_CONTEXT, one.table, snapshot, conditions or "false")
        return _CONTEXT

    def _near(self, table: str, near: Sequence[tuple[datetime, datetime]]) -> Snapshot:
        """The live files of a table that may hold rows of these times; the catalog reads these dates alone."""
        found: dict[str, LiveFile] = {}
        known: Snapshot | None = None
        columns: dict[int, Mapping[str, str]] = {}
        for totals in heads(self.catalog.database):
            if totals.partition(".")[0] != table:
                continue
            for low, high in near:
                known = self.catalog.snapshot(partition=totals, dates=(low.date(), high.date()))
                columns |= known.columns
                for file in known.files:
                    first, last = file.min_timestamp, file.max_timestamp
                    if first is None or last is None or (_naive(first) <= high and _naive(last) >= low):
                        found[file.path] = file
        if known is None:
            known = self.catalog.snapshot(partition=f"{table}.")
        return replace(known, files=tuple(found.values()), columns=columns)

    # What is done with it

    def _settle(self, jail: Jail, state: State, found: Sequence[Found]) -> None:
        """Separate new hits from known ones, and note the values that `first_seen` has met."""
        known = known_hits(jail, self.catalog, {one.detection.name: (one.detection, one.hits) for one in found})
        self.results += found
        for one in found:
            new = new_hits(one.detection, one.hits, known)
            one.known, one.hits = len(one.hits) - len(new), new
            if not one.failure:
                state.see(one.detection.name, one.seen)


def begin_detecting(catalog: Catalog, now: datetime) -> None:
    """Note where detections begin, if they were never run: what is collected from now on is new to them."""
    with catalog.writer(HITS) as writer:
        state = State(catalog.cursors(HITS))
        if not state.is_started:
            state.change("started", now.isoformat())
            state.move({name: head for name, head in heads(catalog.database).items() if name != HITS})
            store_hits(writer, (), state.changes, now)


def _naive(moment: datetime) -> datetime:
    """A time in UTC as the files have it."""
    return moment.astimezone(UTC).replace(tzinfo=None) if moment.tzinfo else moment
