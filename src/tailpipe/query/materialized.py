"""Materialized schemas: a copy of each view's rows, named by all that it was made of, so that it is never out of date.

    .tailpipe/schemas/<schema>/<table>/<key>            the copy, in parquet
    .tailpipe/schemas/<schema>/<table>/<key>.retired    no longer the one; it goes after a grace period

The key is a hash of the block, of the columns, and of the files behind the view. Whoever finds a file of that name
may read it in place of the view; whoever does not reads the view itself. So a copy that is late, half written
or gone costs time, and never a wrong answer.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

from tailpipe.catalog.snapshot import EPOCH, LiveFile, Snapshot
from tailpipe.model.partition import Schema
from tailpipe.model.table import Table
from tailpipe.model.types import stored_type
from tailpipe.model.window import Window
from tailpipe.query.check import refuse_broken
from tailpipe.query.narrowing import Narrowing
from tailpipe.query.views import COPIES, View, narrowed, schema_views, table_views
from tailpipe.sql.duck import blank
from tailpipe.sql.inet import load_for
from tailpipe.sql.quoting import literal, quoted

GRACE = timedelta(hours=1)
"""How long a copy stays that a running query may still read."""

_FORM = 1
"""Counts changes of how copies are written."""
_OF_THE_MOMENT = re.compile(
    r"\b(now|today|ago|age|localtime\w*|random|uuid\w*|gen_random_uuid|\w*current\w*|transaction_timestamp|pg_\w+)\b",
    re.I,
)


def from_copies(views: Iterable[View], schemas: Iterable[Schema], *, now: datetime) -> list[View]:
    """The views of schemas, those of materialized ones over their copies where these are there."""
    whole, chosen = list(views), list(schemas)
    copied = {schema.name: schema for schema in chosen if _is_kept(schema)}
    found = []
    for view in schema_views(whole, chosen, now=now):
        if (schema := copied.get(view.schema)) is not None:
            path = _path(schema, _behind(whole, schema, view.name))
            if (size := _size(view.root / path)) is not None:
                found.append(_over_copy(view, path, size, Narrowing.of_schema(schema, now=now).window))
                continue
        found.append(view)
    return found


def refresh(
    snapshot: Snapshot,
    tables: Mapping[str, Table],
    schemas: Iterable[Schema],
    *,
    now: datetime,
    grace: timedelta = GRACE,
) -> int:
    """Make the missing copies and drop the unused ones; how many were made."""
    made = 0
    chosen = [schema for schema in schemas if _is_kept(schema)]
    if not chosen and not (snapshot.root / COPIES).is_dir():
        return made
    whole = table_views(snapshot, tables)
    wanted: set[Path] = set()
    for schema in chosen:
        # Without the end of the window: if it is relative, it moves on, and a copy must hold what it will show.
        block = schema_views(whole, [replace(schema, to=None)], now=now)
        for view in block:
            place = snapshot.root / _path(schema, _behind(whole, schema, view.name))
            wanted.add(place)
            if view.files and not place.exists():
                _write(view, schema, place, snapshot.local(view.files))
                made += 1
    _drop(snapshot.root / COPIES, wanted, grace)
    return made


def _behind(whole: Iterable[View], schema: Schema, table: str) -> View:
    """The view over all files that a schema's window could ever touch."""
    (view,) = (view for view in whole if view.name == table)
    return narrowed(view, Narrowing.of_schema(replace(schema, from_=None, to=None), now=EPOCH))


def _path(schema: Schema, behind: View) -> str:
    from hashlib import sha256  # late, because most workspaces have no copies

    facts = [
        _FORM,
        [list(schema.partitions), list(schema.indexes), schema.from_, schema.to, schema.where],
        behind.selected,
        list(behind.columns.items()),
        [file.path for file in behind.files],
    ]
    key = sha256(json.dumps(facts).encode()).hexdigest()[:32]
    return f"{COPIES}/{schema.name}/{behind.name}/{key}"


def _is_kept(schema: Schema) -> bool:
    """Whether it has copies: what it shows must not depend on the moment of the question."""
    return schema.materialized and not _OF_THE_MOMENT.search(schema.where or "")


def _over_copy(view: View, path: str, size: int, window: Window) -> View:
    """A view over its copy, cut to the current window; the copy meets the other conditions."""
    selected = ", ".join(
        f"{quoted(name)} AS {quoted(name)}"
        if stored_type(kind) == kind
        else f"CAST({quoted(name)} AS {kind}) AS {quoted(name)}"
        for name, kind in view.columns.items()
    )
    copy = LiveFile(path, f"{view.name}.", "", None, date.min, view.rows, size, None, None, 0)
    condition = Narrowing(window).condition([copy])
    conditions = (condition,) if condition else ()
    options = "hive_partitioning = false"
    return replace(view, files=(copy,), selected=selected, options=options, conditions=conditions, sets={})


def _write(view: View, schema: Schema, place: Path, paths: Sequence[str]) -> None:
    """Write the rows to a draft, sync it, and rename it in one step."""
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = place.with_name(f"{place.name}.{os.urandom(4).hex()}.writing")
    casts = (f"CAST({quoted(name)} AS {stored_type(kind)}) AS {quoted(name)}" for name, kind in view.columns.items())
    try:
        with blank() as connection:
            refuse_broken(connection, schema)
            load_for(connection, [schema.where])
            connection.execute(f"CREATE SCHEMA {quoted(view.schema)}")
            connection.execute(view.over_paths(paths, is_plain=not view.has_all_here(view.files)))
            rows = f"SELECT {', '.join(casts)} FROM {view.full_name}"
            connection.execute(f"COPY ({rows}) TO {literal(str(draft))} (FORMAT parquet, COMPRESSION zstd)")
        draft.chmod(0o400)
        for path in (draft, place.parent):
            handle = os.open(path, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        draft.rename(place)
    finally:
        draft.unlink(missing_ok=True)


def _drop(copies: Path, wanted: set[Path], grace: timedelta) -> None:
    """Retire what is not wanted, and remove what was retired long enough ago."""
    if not copies.is_dir():
        return
    oldest = time.time() - grace.total_seconds()
    for place in sorted(copies.glob("*/*/*")):
        if place in wanted:
            _mark(place).unlink(missing_ok=True)
        elif place.suffix == ".writing":
            if place.stat().st_mtime < time.time() - GRACE.total_seconds():  # of a process that was killed
                place.unlink(missing_ok=True)
        elif not place.suffix:
            mark = _mark(place)
            if not mark.exists():
                mark.touch(mode=0o600)
            if mark.stat().st_mtime <= oldest:
                place.unlink(missing_ok=True)
                mark.unlink(missing_ok=True)
    for directory in sorted(copies.glob("**/"), reverse=True):
        if not any(directory.iterdir()):
            directory.rmdir()


def _mark(place: Path) -> Path:
    return place.with_name(f"{place.name}.retired")


def _size(place: Path) -> int | None:
    try:
        return place.stat().st_size
    except OSError:
        return None
