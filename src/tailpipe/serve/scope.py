"""The scope of a search: its tables with their conditions, and the window; as SQL that people can read and run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

from tailpipe.catalog.snapshot import EPOCH
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.window import Window
from tailpipe.query.session import Session
from tailpipe.query.shown import Piece
from tailpipe.query.views import SCHEMA, View
from tailpipe.serve.body import Search
from tailpipe.serve.conditions import condition_of, unknown_field
from tailpipe.serve.fields import field_named, is_list, spelt
from tailpipe.serve.terms import And, parse_terms
from tailpipe.sql.quoting import moment

ALL = "*"
"""The name for all tables with data."""
TABLE = "table"
"""The column of all tables that names the table of a row."""
TEXT = "text"
"""The column of all tables that says in a line what a row is about."""
_SUMMED_UP = 6
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)


@frozen
class Part:
    """A table of a scope, and the condition of the search on it; empty if there is none."""

    view: View
    condition: str
    pieces: tuple[Piece, ...]
    """What the catalog knows of its files in the window."""

    @property
    def name(self) -> str:
        """The table."""
        return self.view.name


@frozen
class Scope:
    """Tables, conditions and a window."""

    parts: tuple[Part, ...]
    window: Window
    is_all: bool
    is_filtered: bool

    def select(self, part: Part, columns: Iterable[str], window: Window | None = None) -> str:
        """The rows of a table with these columns or fields; one that it lacks is null."""
        shown = []
        for name in columns:
            expression = self.expression(part, name)
            shown.append(expression if expression == spelt(name) else f"{expression} AS {spelt(name)}")
        return f"SELECT {', '.join(shown)} FROM {spelt(part.name)} WHERE {self.where(part, window)}"

    def source(self, columns: Sequence[str], window: Window | None = None) -> str:
        """The rows of all tables with these columns, as SQL to write after FROM."""
        if len(self.parts) == 1 and all(name in self.parts[0].view.columns for name in columns):
            return f"{spelt(self.parts[0].name)} WHERE {self.where(self.parts[0], window)}"
        return f"({' UNION ALL '.join(self.select(part, columns, window) for part in self.parts)})"

    def where(self, part: Part, window: Window | None = None) -> str:
        """The condition on the rows of a table."""
        chosen = window or self.window
        tests = [f"tp_timestamp >= {moment(chosen.start)}", f"tp_timestamp < {moment(chosen.end)}"]
        return " AND ".join([*tests, *([f"({part.condition})"] if part.condition else [])])

    def expression(self, part: Part, field: str) -> str:
        """A field of a table as SQL: text if all tables are looked at, because their types differ."""
        if self.is_all and field in (TABLE, TEXT):
            return "tp_table" if field == TABLE else _summary(part.view.columns)
        found = field_named(field, part.view.columns)
        if found is None:
            return "NULL"
        if not self.is_all or found.type == "VARCHAR" or field.startswith("tp_"):
            return found.sql
        return f"array_to_string({found.sql}, ', ')" if is_list(found.type) else f"CAST({found.sql} AS VARCHAR)"

    def files(self, window: Window | None = None) -> dict[str, int]:
        """How many files may hold rows of a window, and how many the tables have in the whole."""
        chosen = window or self.window
        low, high = microseconds(chosen.start), microseconds(chosen.end)
        pieces = [piece for part in self.parts for piece in part.pieces]
        read = sum(one.files for one in pieces if touches(one, low, high))
        return {"read": read, "total": sum(one.files for one in pieces)}


def _summary(columns: Mapping[str, str]) -> str:
    """A row in a line: its message, or its first columns."""
    if "tp_message" in columns:
        return "tp_message"
    own = [name for name, kind in columns.items() if not name.startswith(("tp_", "time")) and kind != "TIMESTAMP"]
    texts = ", ".join(f"CAST({spelt(name)} AS VARCHAR)" for name in own[:_SUMMED_UP])
    return f"left(concat_ws(' ', {texts}), 1000)" if texts else "NULL"


def touches(piece: Piece, low: int, high: int) -> bool:
    """Whether files may hold rows of a span of microseconds."""
    return (piece.high is None or piece.high >= low) and (piece.low is None or piece.low < high)


def microseconds(at: datetime) -> int:
    """A time as the catalog keeps it."""
    return (at - EPOCH) // _MICROSECOND


def tables_of(session: Session) -> list[View]:
    """The views over whole tables."""
    return [view for view in session.views if view.schema == SCHEMA]


def tables_with_rows(session: Session) -> list[View]:
    """The views over whole tables that have rows."""
    held = {name.partition(".")[0] for name in session.shown.snapshot.partitions}
    return [view for view in tables_of(session) if view.name in held]


def table_of(session: Session, name: str) -> View:
    """The view of a table that is named by a client."""
    known = {view.name: view for view in tables_of(session)}
    if name not in known:
        raise UsageError(f'unknown table "{name[:100]}"', hint=did_you_mean(name, known))
    return known[name]


def scope_of(session: Session, search: Search) -> Scope:
    """What a search looks at; without a window, the newest day that has rows."""
    is_all = search.table == ALL
    views = tables_with_rows(session) if is_all else [table_of(session, search.table)]
    window = window_of(session, [view.name for view in views], search)
    term = parse_terms(search.q)
    if wrong := unknown_field(term, [view.columns for view in views], search.q) if views else None:
        raise wrong
    parts = []
    for view in views:
        condition = condition_of(term, view.columns, search.q)
        if condition.has_fields or not is_all:
            parts.append(Part(view, condition.sql, tuple(session.shown.pieces(view.name))))
    return Scope(tuple(parts), window, is_all, term != And(()))


def window_of(session: Session, tables: Sequence[str], search: Search) -> Window:
    """The window of a search: as given, or from or to an end of the data, or the newest day of it."""
    if search.start is not None and search.end is not None:
        return Window(search.start, search.end)
    newest = max((day for name in tables if (day := session.shown.newest_date(name))), default=None)
    if newest is None:
        newest = datetime.now(UTC).date()
    if search.start is not None:
        return Window(search.start, max(midnight(newest) + _DAY, search.start + _DAY))
    if search.end is not None:
        return Window(search.end - _DAY, search.end)
    return Window(midnight(newest), midnight(newest) + _DAY)


def midnight(day: date) -> datetime:
    """The beginning of a day in UTC."""
    return datetime.combine(day, time(), UTC)
