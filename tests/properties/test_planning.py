"""Plans against a model: whatever happens to the logs and wherever a run stops, each line is taken once."""

from __future__ import annotations

import copy
import io
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tailpipe.collect.identity import decide, needs
from tailpipe.collect.item import WorkItem
from tailpipe.collect.plan import Plan, SourceState, UnitPlan
from tailpipe.collect.planning import plan_units
from tailpipe.collect.scope import listing
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import NO_DAYS, Advance, Cover, Coverage, DaySet, Drop, Request, first_day
from tailpipe.model.ledger import HEAD_BYTES, TAIL_BYTES, LedgerEntry, Span, Unit, fingerprints, printed
from tailpipe.model.request import Collect
from tailpipe.model.staged import Covered
from tailpipe.model.window import Window
from tailpipe.unpack.streams import Reader
from tests.examples import examples

START = datetime(2024, 3, 10, 12, tzinfo=UTC)
SOURCES = {"files": True, "bucket": False}
EVER = Window(START - timedelta(days=400), START + timedelta(days=4000))


@dataclass(frozen=True)
class Line:
    """A line of a log: no two are alike."""

    number: int
    day: date

    @property
    def text(self) -> bytes:
        return f"{self.day} {self.number}\n".encode()


@dataclass
class Log:
    """A file or object as it lies in its source."""

    source: str
    day: date | None
    lines: list[Line]
    modified: datetime
    etag: int = 0

    @property
    def content(self) -> bytes:
        return b"".join(line.text for line in self.lines)

    def artifact(self, uri: str) -> Artifact:
        size = len(self.content) // (2 if uri.endswith(".gz") else 1)
        if self.source == "bucket":
            return Artifact(uri, size, self.modified, str(self.etag), self.day, "object")
        return Artifact(uri, size, self.modified, day=self.day)


@dataclass
class Catalog:
    """The least catalog that can carry out a plan; it refuses what must never happen."""

    coverage: dict[str, Coverage] = field(default_factory=lambda: {name: Coverage() for name in SOURCES})
    ledger: dict[tuple[str, int], LedgerEntry] = field(default_factory=dict)
    lost: dict[Unit, DaySet] = field(default_factory=dict)
    rows: dict[tuple[str, int], dict[int, Line]] = field(default_factory=dict)

    def drop(self, days: DaySet) -> None:
        for identity, rows in self.rows.items():
            gone = {ordinal: line for ordinal, line in rows.items() if line.day in days}
            unit = self.ledger[identity].unit
            if gone:
                dates = DaySet.of(line.day for line in gone.values())
                self.lost[unit] = self.lost.get(unit, NO_DAYS) | dates
            self.rows[identity] = {key: line for key, line in rows.items() if key not in gone}
        for name, known in self.coverage.items():
            self.coverage[name] = known.after(Drop(days))

    def request(self, plan: Plan) -> None:
        for name, day in plan.frontiers.items():
            self.coverage[name] = self.coverage[name].after(Advance(day))
        for name, days in plan.requests.items():
            self.coverage[name] = self.coverage[name].after(Request(days))

    def commit(self, unit: UnitPlan, logs: dict[str, Log], now: datetime) -> None:
        held = {entry.identity for entry in self.ledger.values() if entry.unit == unit.unit}
        drops = {entry.identity for entry in unit.drops}
        assert drops <= held
        assert (unit.kind == "append") == (not drops)
        assert (unit.kind == "replace") == (bool(drops) and drops == held)
        for identity in drops:
            del self.ledger[identity], self.rows[identity]
        for one in unit.artifacts:
            self._take(one, unit.unit, logs[one.artifact.uri], now)
        self.lost[unit.unit] = self.lost.get(unit.unit, NO_DAYS) - unit.restores
        self.cover(unit.covers)

    def _take(self, one: WorkItem, unit: Unit, log: Log, now: datetime) -> None:
        found, identity = one.artifact, one.identity
        before = self.ledger.get(identity)
        stands = (before.committed_bytes, before.committed_ordinals) if before else (0, 0)
        assert stands == (one.offset_bytes, one.offset_rows)
        assert before is None or before.unit == unit
        new = dict(enumerate(log.lines))
        new = {ordinal: line for ordinal, line in new.items() if ordinal >= one.offset_rows}
        kept = {key: line for key, line in new.items() if one.dates is None or line.day in one.dates}
        self.rows.setdefault(identity, {}).update(kept)
        left = DaySet.of(line.day for key, line in new.items() if key not in kept)
        size = len(log.content)
        head, fingerprint = printed(size, log.content[:HEAD_BYTES], log.content[-TAIL_BYTES:])
        entry = LedgerEntry(
            one.origin,
            one.source,
            unit,
            now,
            one.generation,
            found.uri,
            found.kind,
            found.size,
            found.modified,
            found.etag,
            committed_bytes=size,
            committed_ordinals=len(log.lines),
            fingerprint=fingerprint,
            head=head,
            left_out=left | (before.left_out if before else NO_DAYS),
        )
        if one.dates is not None:
            entry = replace(entry, taken=one.dates | (before.taken if before else NO_DAYS))
        self.note(entry)

    def note(self, entry: LedgerEntry) -> None:
        for identity, other in self.ledger.items():
            if other.uri == entry.uri:
                self.ledger[identity] = replace(other, uri=None)
        self.ledger[entry.identity] = entry

    def cover(self, covers: tuple[Covered, ...]) -> None:
        for one in covers:
            known = self.coverage[one.source]
            self.coverage[one.source] = known.after(Cover(one.days, one.settled_before))


@dataclass
class World:
    """Logs, a clock, and a catalog."""

    now: datetime = START
    logs: dict[str, Log] = field(default_factory=dict)
    catalog: Catalog = field(default_factory=Catalog)
    count: int = 0

    def lines(self, days: list[date]) -> list[Line]:
        self.count += len(days)
        return [Line(self.count - number, day) for number, day in enumerate(days)]

    def plan(self, request: Collect) -> Plan:
        catalog = self.catalog
        since = first_day(catalog.coverage.values())
        sources = [SourceState(name, catalog.coverage[name], all_, since=since) for name, all_ in SOURCES.items()]
        asked = listing(sources, request, catalog.lost)
        listed = [
            WorkItem(log.source, log.artifact(uri))
            for uri, log in self.logs.items()
            if log.day is None or log.day in asked[log.source]
        ]
        ledger = tuple(catalog.ledger.values())
        prints: dict[tuple[str, Span], str | None] = {}
        while requests := needs(listed, ledger, prints, now=request.now):
            for wanted in requests:
                content = Reader(io.BytesIO(self.logs[wanted.uri].content).read, file=wanted.uri)
                found = fingerprints(content, wanted.spans)
                prints |= {(wanted.uri, span): print_ for span, print_ in found.items()}
        decisions = decide(listed, ledger, prints, now=request.now)
        plan = plan_units(sources, decisions, request, ledger=ledger, lost=catalog.lost)
        self.check(plan, listed, request)
        return plan

    def check(self, plan: Plan, listed: list[WorkItem], request: Collect) -> None:
        planned = [one for unit in plan.units for one in unit.artifacts]
        assert max(Counter((one.origin, one.generation) for one in planned).values(), default=1) == 1
        assert max(Counter(unit.unit for unit in plan.units).values(), default=1) == 1
        uris = {one.artifact.uri for one in planned}
        earlier = ("no longer listed", "rewritten")  # of contents, not of what is listed now
        left = {skip.uri for skip in plan.skipped if not skip.reason.startswith(earlier)}
        assert uris | left == {one.artifact.uri for one in listed}
        assert not uris & left
        if request.window is None:
            for unit in plan.units:
                for one in unit.artifacts:
                    dropped = self.catalog.coverage[one.source].dropped
                    # A dated artifact is taken whole, but for dates of which its Day had rows and lost them.
                    gone = self.catalog.lost.get(unit.unit, NO_DAYS) if unit.unit.day else dropped
                    assert not (one.dates or NO_DAYS) & dropped & gone
                    assert unit.unit.day not in dropped or one.cause == "lost dates"

    def run(self, request: Collect, *, stop: int | None = None) -> Plan:
        """Carry out a plan, up to a number of units if it is interrupted."""
        plan = self.plan(request)
        self.catalog.request(plan)
        for unit in plan.units[:stop]:
            self.catalog.commit(unit, self.logs, request.now)
        if stop is None:
            for entry in plan.noted:
                self.catalog.note(entry)
            self.catalog.cover(plan.closing)
        return plan

    def taken(self) -> Counter[Line]:
        return Counter(line for rows in self.catalog.rows.values() for line in rows.values())


offsets = st.integers(-6, 1) | st.just(-40)
spans = st.tuples(offsets, st.integers(0, 4))


class Collecting(RuleBasedStateMachine):
    """Logs come, grow, move and go; runs are whole or stopped; days are dropped; time passes."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()

    def _day(self, offset: int) -> date:
        return self.world.now.date() + timedelta(days=offset)

    def _pick(self, data: st.DataObject, source: str | None = None) -> str | None:
        names = sorted(uri for uri, log in self.world.logs.items() if source in (None, log.source))
        return data.draw(st.sampled_from(names)) if names else None

    def _tick(self) -> datetime:
        self.world.now += timedelta(minutes=1)
        return self.world.now

    @initialize(offsets=st.lists(offsets, min_size=2, max_size=4), is_collected=st.booleans())
    def begin(self, offsets: list[int], *, is_collected: bool) -> None:
        for number, offset in enumerate(offsets):
            for source in SOURCES:
                self.log_comes(source, offset, 2, is_dated=number % 2 == 0)
        if is_collected:
            self.collect(None, None, overwrite=False, is_open=False)

    @rule(
        source=st.sampled_from(sorted(SOURCES)),
        offset=offsets,
        size=st.integers(0, 3),
        is_dated=st.booleans(),
    )
    def log_comes(self, source: str, offset: int, size: int, *, is_dated: bool) -> None:
        day = self._day(offset)
        lines = self.world.lines([day - timedelta(days=number % 2) for number in range(size)])
        log = Log(source, day if is_dated else None, lines, self._tick())
        self.world.logs[f"{source}/{self.world.count}-{len(self.world.logs)}-{log.modified:%d%H%M}"] = log

    @rule(data=st.data(), offsets=st.lists(offsets, min_size=1, max_size=2))
    def log_grows(self, data: st.DataObject, offsets: list[int]) -> None:
        if uri := self._pick(data, "files"):
            log = self.world.logs[uri]
            log.lines += self.world.lines([log.day or self._day(offset) for offset in offsets])
            log.modified = self._tick()

    @rule(data=st.data(), is_compressed=st.booleans(), has_heir=st.booleans())
    def log_is_rotated(self, data: st.DataObject, *, is_compressed: bool, has_heir: bool) -> None:
        uri = self._pick(data, "files")
        if uri is None or uri.endswith(".gz"):
            return
        log = self.world.logs.pop(uri)
        self.world.logs[f"{uri}.1" + (".gz" if is_compressed else "")] = log
        if has_heir:
            lines = self.world.lines([log.day or self._day(0)])
            self.world.logs[uri] = Log("files", log.day, lines, self._tick())

    @rule(data=st.data(), size=st.integers(0, 2))
    def log_is_cut(self, data: st.DataObject, size: int) -> None:
        if uri := self._pick(data, "files"):
            log = self.world.logs[uri]
            log.lines = self.world.lines([log.day or self._day(0)] * size)
            log.modified = self._tick()

    @rule(data=st.data())
    def object_is_replaced(self, data: st.DataObject) -> None:
        if uri := self._pick(data, "bucket"):
            log = self.world.logs[uri]
            log.lines = self.world.lines([log.day or self._day(0)] * 2)
            log.etag, log.modified = log.etag + 1, self._tick()

    @rule(data=st.data())
    def log_vanishes(self, data: st.DataObject) -> None:
        if uri := self._pick(data):
            del self.world.logs[uri]

    @rule(hours=st.integers(1, 60))
    def time_passes(self, hours: int) -> None:
        self.world.now += timedelta(hours=hours)

    @rule(span=spans)
    def days_are_dropped(self, span: tuple[int, int]) -> None:
        first = self._day(span[0])
        self.world.catalog.drop(DaySet.span(first, first + timedelta(days=span[1])))

    @rule(span=st.none() | spans, overwrite=st.booleans(), is_open=st.booleans(), stop=st.none() | st.integers(0, 6))
    def collect(self, span: tuple[int, int] | None, stop: int | None, *, overwrite: bool, is_open: bool) -> None:
        now, window = self._tick(), None
        if span is not None:
            start = datetime.combine(self._day(span[0]), datetime.min.time(), UTC)
            is_open = is_open and start <= now
            window = Window(start, now if is_open else start + timedelta(days=span[1] + 1), is_open=is_open)
        self._run(Collect(now, window, overwrite), stop)

    @rule(stop=st.none() | st.integers(0, 6))
    def fill(self, stop: int | None) -> None:
        self._run(Collect(self._tick(), fill=True), stop)

    def _run(self, request: Collect, stop: int | None) -> None:
        overwrite = request.overwrite
        self.world.run(request, stop=stop)
        if stop is None:
            again = self.world.plan(replace(request, overwrite=False))
            assert again.is_empty or overwrite
            assert not again.requests or overwrite

    @rule()
    def interrupted_run_is_completed(self) -> None:
        world = copy.deepcopy(self.world)
        request = Collect(self._tick())
        world.run(request)
        for name, known in world.catalog.coverage.items():
            assert not known.gaps(request.today), name
        assert world.plan(request).is_empty

    @invariant()
    def no_line_is_there_twice(self) -> None:
        assert max(self.world.taken().values(), default=1) == 1

    def teardown(self) -> None:
        world = self.world
        world.run(Collect(world.now, EVER))
        assert world.plan(Collect(world.now, EVER)).is_empty
        today = world.now.date()
        there = [log for log in world.logs.values() if log.day is None or log.day <= today]
        taken = world.taken()
        missing = [line for log in there for line in log.lines if taken[line] != 1]
        assert not missing
        objects = {line for log in there if log.source == "bucket" for line in log.lines}
        keys = {uri for uri, log in world.logs.items() if log.source == "bucket" and log in there}
        stale = {line for (origin, _), rows in world.catalog.rows.items() if origin in keys for line in rows.values()}
        assert stale <= objects


TestCollecting = Collecting.TestCase
TestCollecting.settings = settings(
    max_examples=examples(150), stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """A world with a few logs, in which perhaps something was collected and dropped before."""
    machine = Collecting()
    comes = st.tuples(st.sampled_from(sorted(SOURCES)), offsets, st.integers(0, 2), st.booleans())
    for has_passed in (True, False):
        for source, offset, size, is_dated in draw(st.lists(comes, max_size=8)):
            machine.log_comes(source, offset, size, is_dated=is_dated)
        if has_passed and draw(st.booleans()):
            span, stop = draw(st.none() | spans), draw(st.none() | st.integers(0, 4))
            machine.collect(span, stop, overwrite=False, is_open=draw(st.booleans()))
            machine.time_passes(draw(st.integers(1, 200)))
        if has_passed and draw(st.booleans()):
            machine.days_are_dropped(draw(spans))
    return machine.world


@given(world=worlds(), span=st.none() | spans, stop=st.integers(0, 8))
@settings(max_examples=examples(200), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_run_stopped_anywhere_and_a_plain_one_end_where_two_whole_ones_end(
    world: World, span: tuple[int, int] | None, stop: int
) -> None:
    window = None
    if span is not None:
        start = datetime.combine(world.now.date() + timedelta(days=span[0]), datetime.min.time(), UTC)
        window = Window(start, start + timedelta(days=span[1] + 1))
    whole, stopped = copy.deepcopy(world), copy.deepcopy(world)
    whole.run(Collect(world.now, window))
    whole.run(Collect(world.now))
    stopped.run(Collect(world.now, window), stop=stop)
    stopped.run(Collect(world.now))
    assert stopped.catalog.coverage == whole.catalog.coverage
    # It may look at more days, because the frontier lies further back, and find late artifacts there.
    assert not whole.taken() - stopped.taken()


@given(offsets=st.lists(offsets, max_size=12), count=st.integers(1, 5))
@settings(max_examples=examples(100), deadline=None)
def test_every_new_artifact_of_the_window_is_planned_once(offsets: list[int], count: int) -> None:
    machine = Collecting()
    for offset in offsets:
        machine.log_comes("files", offset, 1, is_dated=True)
    for _ in range(count):
        machine.log_comes("bucket", 0, 1, is_dated=False)
    world = machine.world
    plan = world.plan(Collect(world.now))
    planned = [one.artifact.uri for unit in plan.units for one in unit.artifacts]
    first = (world.now - timedelta(days=30)).date()
    wanted = [uri for uri, log in world.logs.items() if log.day is None or first <= log.day <= world.now.date()]
    assert sorted(planned) == sorted(wanted)
