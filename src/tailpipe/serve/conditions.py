"""A tree of search terms → a SQL condition over the columns of one table.

Values become literals here and nowhere else; names are those that the table has. A text compares without regard to
case unless it is quoted. Nothing uses ILIKE, which costs twice as much as `contains(lower())`.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta

from tailpipe.errors import QueryError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean, listed
from tailpipe.query.needle import Needle
from tailpipe.serve.fields import Field, find_field, is_list
from tailpipe.serve.terms import And, Match, Not, Or, Term, Text, Value, mistake
from tailpipe.sql.quoting import literal, moment, quoted

_WHOLE = re.compile(r"U?(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT)")
_NUMBER = re.compile(rf"{_WHOLE.pattern}|FLOAT|DOUBLE|DECIMAL\(.*\)")
_WRITTEN = re.compile(r"[+-]?(?:\d{1,38}(?:\.\d{0,38})?|\.\d{1,38})(?:[eE][+-]?\d{1,3})?")
_TIME = re.compile(r"TIMESTAMP.*")
_TEXTS = re.compile(r"VARCHAR|JSON|UUID|STRUCT|MAP|.*\[\d*\]$", re.DOTALL)
_SIGNS = str.maketrans({sign: f"\\{sign}" for sign in "\\%_"})
_SHOWN = 8
_DAY = timedelta(days=1)


@frozen
class Condition:
    """A condition on the rows of a table; `sql` is empty if every row meets it."""

    sql: str
    has_fields: bool
    """Whether the table has any of the fields that the search names; without any it is not searched."""


def condition_of(term: Term, columns: Mapping[str, str], text: str) -> Condition:
    """The condition of a search on a table with these columns; a field that it lacks is met by no row."""
    wanted = list(_matches(term))
    has_fields = not wanted or any(find_field(one.path, columns) for one in wanted)
    if term == And(()):
        return Condition("", has_fields)
    return Condition(_Conditions(columns, text).of(term), has_fields)


def unknown_field(term: Term, tables: Iterable[Mapping[str, str]], text: str) -> QueryError | None:
    """The first field that no table has."""
    known = list(tables)
    for one in _matches(term):
        if not any(find_field(one.path, columns) for columns in known):
            name = ".".join(one.path)
            names = dict.fromkeys(name for columns in known for name in columns)
            hint = did_you_mean(name, names, f"fields are: {listed(names, _SHOWN)}" if names else "")
            quote = f'; to search for the text, write "{name}:…"' if "tp_" not in name else ""
            return mistake(text, one.start, one.start + len(name), f'unknown field "{name}"', hint + quote)
    return None


def _matches(term: Term) -> Iterator[Match]:
    if isinstance(term, Match):
        yield term
    elif isinstance(term, Not):
        yield from _matches(term.term)
    elif isinstance(term, And | Or):
        for one in term.terms:
            yield from _matches(one)


@frozen
class _Conditions:
    columns: Mapping[str, str]
    text: str

    def of(self, term: Term) -> str:
        if isinstance(term, And):
            return _joined([self.of(one) for one in term.terms], " AND ") if term.terms else "true"
        if isinstance(term, Or):
            return _joined([self.of(one) for one in term.terms], " OR ")
        if isinstance(term, Not):  # a row without a value is not one that has it
            return f"({self.of(term.term)}) IS NOT TRUE"
        return self.free(term.value) if isinstance(term, Text) else self.match(term)

    def free(self, value: Value) -> str:
        """Whether any text column holds it."""
        if not value.text.strip():
            raise self.wrong(value, "expected a word in the quotes")
        if value.is_pattern:
            own = [(name, kind) for name, kind in self.columns.items() if not name.startswith("tp_")]
            texts = [_as_text(quoted(name), kind) for name, kind in own if _TEXTS.match(kind)]
            pattern = _pattern(("", *value.parts, ""))
            tests = [f"lower({one}) LIKE {pattern} ESCAPE '\\'" for one in texts]
        else:
            tests = list(Needle.parse(value.text).conditions(self.columns).values())
        return _joined(tests, " OR ") if tests else "false"

    def match(self, match: Match) -> str:
        field = find_field(match.path, self.columns)
        if field is None:
            return "false"
        if match.operator == "exists":
            return f"{field.sql} IS NOT NULL"
        if is_list(field.type) and not field.element.startswith(("STRUCT", "MAP", "JSON")):
            return self.any_of(field, match)
        return self.test(field.sql, field.type, match)

    def any_of(self, field: Field, match: Match) -> str:
        """Whether a value of a list meets it."""
        value = match.values[0]
        if match.operator == "=" and field.element == "VARCHAR" and value.is_quoted:
            return f"list_contains({field.sql}, {literal(value.text)})"
        return f"len(list_filter({field.sql}, lambda _one: {self.test('_one', field.element, match)})) > 0"

    def test(self, sql: str, kind: str, match: Match) -> str:
        value = match.values[0]
        if match.operator == "=" and value.is_pattern:
            return f"lower({_as_text(sql, kind)}) LIKE {_pattern(value.parts)} ESCAPE '\\'"
        if kind == "BOOLEAN":
            return self.boolean(sql, match)
        if _NUMBER.fullmatch(kind):
            return self.compared(sql, match, lambda one: self.number(one, kind))
        if _TIME.fullmatch(kind) or kind == "DATE":
            return self.time(sql, match)
        if kind.startswith(("JSON", "STRUCT", "MAP")) or is_list(kind):
            if match.operator != "=":
                raise self.wrong(value, "it has no order", "name a field inside it with a dot")
            return f"contains(lower(CAST({sql} AS VARCHAR)), {literal(value.text.lower())})"
        return self.texts(_as_text(sql, kind), match)

    def texts(self, sql: str, match: Match) -> str:
        """Text ignores case unless it is quoted; numbers compare with it as numbers, networks as addresses."""
        value = match.values[0]
        if match.operator == "=":
            if not value.is_quoted and (network := _network(value.text)):
                return f"TRY_CAST({sql} AS INET) <<= {literal(network)}::INET"
            if value.is_quoted:
                return f"{sql} = {literal(value.text)}"
            return f"lower({sql}) = {literal(value.text.lower())}"
        given = [one for one in match.values if one.text]
        if all(_WRITTEN.fullmatch(one.text) and not one.is_quoted for one in given):
            return self.compared(f"TRY_CAST({sql} AS DOUBLE)", match, lambda one: one.text)
        return self.compared(sql, match, lambda one: literal(one.text))

    def compared(self, sql: str, match: Match, as_value: Callable[[Value], str]) -> str:
        if match.operator != "range":
            return f"{sql} {match.operator} {as_value(match.values[0])}"
        ends = zip((">=", "<="), match.values, strict=True)
        return _joined([f"{sql} {sign} {as_value(one)}" for sign, one in ends if one.text or one.is_quoted], " AND ")

    def number(self, value: Value, kind: str) -> str:
        if not _WRITTEN.fullmatch(value.text):
            raise self.wrong(value, f'"{value.text[:60]}" is not a number')
        if _WHOLE.fullmatch(kind) and not value.text.lstrip("+-").isdigit():
            return f"{value.text}::DOUBLE"
        return value.text.lstrip("+")

    def boolean(self, sql: str, match: Match) -> str:
        value = match.values[0]
        if match.operator != "=" or value.text.lower() not in ("true", "false"):
            raise self.wrong(value, "expected true or false")
        return f"{sql} = {value.text.lower()}"

    def time(self, sql: str, match: Match) -> str:
        """A time; a date alone is the whole day."""
        begins = [self.moment(one) if one.text else None for one in match.values]
        spans = [_DAY if _is_date(one) else timedelta(0) for one in match.values]
        ends = [begin and begin + span for begin, span in zip(begins, spans, strict=True)]
        first, last = begins[0], ends[-1]
        is_day = _is_date(match.values[-1])
        upper = f"{sql} {'<' if is_day else '<='} {moment(last)}" if last else ""
        lower = f"{sql} >= {moment(first)}" if first else ""
        if match.operator in ("=", "range"):
            return _joined([one for one in (lower, upper) if one], " AND ")
        if match.operator in (">=", "<="):
            return lower if match.operator == ">=" else upper
        if match.operator == "<":
            return f"{sql} < {moment(first)}"
        return f"{sql} {'>=' if is_day else '>'} {moment(last)}"

    def moment(self, value: Value) -> datetime:
        try:
            read = datetime.fromisoformat(value.text)
            return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            hint = "write 2026-01-31 or 2026-01-31T10:00"
            raise self.wrong(value, f'"{value.text[:60]}" is not a time', hint) from None

    def wrong(self, value: Value, message: str, hint: str = "") -> QueryError:
        return mistake(self.text, value.start, value.end, message, hint)


def _joined(tests: list[str], word: str) -> str:
    return tests[0] if len(tests) == 1 else word.join(f"({one})" for one in tests)


def _pattern(parts: Iterable[str]) -> str:
    """A pattern for LIKE with `\\` as the escape, in lower case."""
    return literal("%".join(part.lower().translate(_SIGNS) for part in parts))


def _as_text(sql: str, kind: str) -> str:
    return sql if kind == "VARCHAR" else f"CAST({sql} AS VARCHAR)"


def _network(text: str) -> str:
    """A network in CIDR notation; empty if the text is none."""
    if "/" not in text:
        return ""
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        return ""


def _is_date(value: Value) -> bool:
    try:
        date.fromisoformat(value.text)
    except ValueError:
        return False
    return True
