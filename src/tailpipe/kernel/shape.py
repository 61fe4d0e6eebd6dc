"""Shape: from the fields of a format to the rows of a table, as SQL text.

    parsed    one row for each line or record: its place, why it is bad, its text, its fields
    base      the same with the table's null_if, and a null for each field that is not there
    values    the value of each column, by field or by transform
    typed     cast, with a bit for each value that did not fit
    finished  the table's columns under their names, and all common columns
    disposed  kept, filtered, rejected or out of the window, and why

Nothing here runs a query: what DuckDB must tell, the types of the values, comes in as text. Names that
begin with `tp__` are ours; no column can have them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

from tailpipe.frozen import frozen
from tailpipe.kernel.gather import gathered
from tailpipe.kernel.undeclared import round_trip
from tailpipe.model.outputs import COMMON_TYPES, Output, common_types
from tailpipe.model.parsing import Parsed
from tailpipe.model.times import ISO, lacks_year, listed_formats
from tailpipe.model.types import ListType
from tailpipe.sql.addresses import ADDRESS, is_address, may_be_mapped, plain_address
from tailpipe.sql.casts import Cast, Clock, cast
from tailpipe.sql.quoting import index_value, json_shape, literal, quoted
from tailpipe.sql.times import cast_by_format, month_day_by

KEPT, FILTERED, REJECTED, OUT_OF_WINDOW = range(4)
PREFIX = "prefix"
"""The column of `tp__artifacts` with what the ids of an artifact's rows begin with."""
RAW_BYTES = 4096
_BITS = 60
_INTS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WITH_DIGITS = ("TIME", "DATE", "DECIMAL", "DOUBLE", "FLOAT", *_INTS, *(f"U{name}" for name in _INTS))
LOCATION = "tp_source_location"
"""The common column that expressions may take, too."""
ADDRESS_COLUMNS = ("tp_destination_ip", "tp_ips", "tp_source_ip")
"""Columns that hold addresses alone, so that every value of them can be cast to INET."""
_ENDLESS = ("inf", "infinity", "nan")
_TEXT = re.compile(r"'(?:[^']|'')*'")
_LOOKED_UP = "tp__artifacts."


@frozen
class Shape:
    """How rows of one task are made; `stamps` are the common columns that come from us, as SQL.

    What differs by artifact is looked up in a table, `tp__artifacts`: a task may have thousands, too many to
    stand in the text of a query.
    """

    outputs: tuple[Output, ...]
    stamps: Mapping[str, str] = field(default_factory=dict)
    filter: str | None = None
    tp_index: str | None = None
    outside: str | None = None
    """Condition over `tp__artifact` and `tp_date` under which a row lies out of the window."""
    null_if: str | None = None
    zone: str | None = None
    """Of times that name none; UTC if not given."""
    event_fields: frozenset[str] = frozenset()
    """Fields that are not the format's: `*` does not include them."""
    location: str | None = None
    """The location of the artifact as SQL over `_artifact`, if an expression takes it."""

    # The steps

    def base(self, parsed: Parsed, references: Iterable[str]) -> str:
        """The parsed rows with every field that is referenced."""
        have = {name.lower() for name in parsed.fields}
        wanted = [*references, *(output.source for output in self.outputs if output.source is not None)]
        missing = {name.lower(): name for name in wanted if name.lower() not in have}
        own = [name for name in parsed.fields if name not in self.event_fields]
        texts = [name for name, kind in parsed.fields.items() if kind == "VARCHAR" and self.null_if is not None]
        values = {name: f"nullif({quoted(name)}, {literal(self.null_if)})" for name in texts}
        items = [
            "_artifact AS tp__artifact",
            "_ordinal AS tp__ordinal",
            "_raw AS tp__raw",
            "_bad AS tp__bad",
            *(f"{column} AS {quoted(f'tp__misfit_{name}')}" for name, column in parsed.misfits.items()),
            *(f"{values.get(name) or quoted(name)} AS {_alias(name)}" for name in parsed.fields),
            *(f"{self._missing(name, own, wanted)} AS {_alias(name)}" for name in missing.values()),
        ]
        for number, output in enumerate(self.outputs):
            if output.null_if is not None and output.source is not None:
                known = output.source.lower() in have
                items.append(f"{quoted(output.source) if known else 'NULL::VARCHAR'} AS tp__own{number}")
        return f"SELECT {', '.join(items)} FROM ({parsed.sql})"

    def probe(self, base: str) -> str:
        """A query whose columns have the types of the values, in the order of the outputs."""
        items = [f"{self._value(n, output)} AS tp__v{n}" for n, output in enumerate(self.outputs)]
        return f"SELECT {', '.join(items) or '1'} FROM ({base})"

    def values(self, base: str) -> str:
        """The value of each column; a transform is wrapped, to distinguish its failure from a null."""
        items = []
        for number, output in enumerate(self.outputs):
            if self._first(number) != number:
                continue
            value = self._value(number, output)
            wrapped = _tried(value) if output.transform is not None else value
            items.append(f"{wrapped} AS tp__v{number}")
        return f"SELECT *, {', '.join(items)} FROM ({base})" if items else base

    def month_day(self, given: Sequence[str]) -> str | None:
        """100 · month + day of a value that may lack its year, over `values`: the row's own time if it may."""
        texts = [
            (output.name != "tp_timestamp", number)
            for number, output in enumerate(self.outputs)
            if output.kind.name == "timestamp" and given[number] == "VARCHAR" and _may_lack_year(output.time_format)
        ]
        if not texts:
            return None
        number = min(texts)[1]
        return month_day_by(self._input(number, "VARCHAR"), self.outputs[number].time_format)

    def typed(self, values: str, given: Sequence[str], misfits: Mapping[str, str], near: str | None = None) -> str:
        """The columns in their stored types under temporary names, and the bits of misfits.

        `near` is the column with the date near which the row was written, for times without a year. Whether a value was
        lost is checked one level above its cast, so that no cast is written twice.
        """
        clock = Clock(self.zone, near)
        casts = [self._cast(number, one, given[number], misfits, clock) for number, one in enumerate(self.outputs)]
        # The text that should have been a time, for the reason.
        time = next((n for n, one in enumerate(self.outputs) if one.name == "tp_timestamp" and one.source), None)
        shown = "NULL::VARCHAR" if time is None else f"left(tp__v{self._first(time)}::VARCHAR, 100)"
        items = ["tp__artifact", "tp__ordinal", "tp__raw", "tp__bad", f"{shown} AS tp__time"]
        items += [f"{made.value} AS tp__c{number}" for number, made in enumerate(casts)]
        lost = {}
        for number, made in enumerate(casts):
            if made.is_lost:
                is_failed = f" OR tp__v{number} IS NULL" if self.outputs[number].transform is not None else ""
                items.append(f"({self._input(number, given[number])} IS NOT NULL{is_failed}) AS tp__had{number}")
                lost[number] = f"(tp__had{number} AND tp__c{number} IS NULL)"
            elif made.misfit is not None:
                items.append(f"{made.misfit} AS tp__had{number}")
                lost[number] = f"tp__had{number}"
        kept = ["tp__artifact", "tp__ordinal", "tp__raw", "tp__bad", "tp__time"]
        for number, output in enumerate(self.outputs):  # a list of addresses that has none is null
            name, is_list = f"tp__c{number}", output.name in ADDRESS_COLUMNS and isinstance(output.kind, ListType)
            kept.append(f"CASE WHEN len({name}) > 0 THEN {name} END AS {name}" if is_list else name)
        # The fields of a row that could not be parsed mean nothing.
        kept += [
            f"CASE WHEN tp__bad IS NULL THEN {word} ELSE 0 END AS tp__coerced{n}"
            for n, word in enumerate(self._words(lost))
        ]
        return f"SELECT {', '.join(kept)} FROM (SELECT {', '.join(items)} FROM ({values}))"

    def finished(self, inner: str, columns: Iterable[str], carried: Iterable[str], *, is_final: bool) -> str:
        """All columns of the table over `columns`, the names under which `inner` has the outputs.

        What must be looked up is added at the end only, unless the row's disposition may depend on it.
        """
        # Qualified, because the table of artifacts may have a column of the same name.
        mapped = {output.name: f"tp__inner.{name}" for output, name in zip(self.outputs, columns, strict=True)}
        items = [f"{mapped[name]} AS {quoted(name)}" for name in mapped if name not in COMMON_TYPES]
        time = mapped.get("tp_timestamp", "NULL::TIMESTAMP")
        judged = {"tp_timestamp", *(output.name for output in self.outputs if output.required)}
        for name, kind in common_types(mapped).items():
            parts = [mapped[name]] if name in mapped else []
            stamp = self.stamps.get(name)
            is_early = self.filter is not None or name in judged
            if stamp is not None and (is_final or is_early or _LOOKED_UP not in stamp):
                parts.append(stamp)
            value = f"coalesce({', '.join(parts)})" if len(parts) > 1 else (parts or [f"NULL::{kind.stored}"])[0]
            if name == "tp_date":
                value = f"{time}::DATE"
            elif name == "tp_index":
                continue
            items.append(f"{value} AS {name}")
        rows = f"({inner}) AS tp__inner"
        if any(_LOOKED_UP in item for item in items):
            rows += " LEFT JOIN tp__artifacts ON tp__artifacts.artifact = tp__inner.tp__artifact"
        inside = f"SELECT {', '.join([*carried, *items])} FROM {rows}"
        return f"SELECT *, {index_value(self.tp_index)} AS tp_index FROM ({inside})"

    def disposed(self, typed: str) -> str:
        """What is kept in memory: the outputs under their names, and the row's disposition."""
        words = [f"tp__coerced{n}" for n in range(self.words)]
        columns = [f"tp__c{n}" for n in range(len(self.outputs))]
        carried = ["tp__artifact", "tp__ordinal", "tp__raw", "tp__bad", "tp__time", *words]
        finished = self.finished(typed, columns, carried, is_final=False)
        test = _tried(f"({self.filter}\n)") if self.filter else "{'v': true}"
        judged = f"SELECT *, {test} AS tp__test, {self._reason()} AS tp__reason FROM ({finished})"
        reason = "coalesce(tp__reason, CASE WHEN tp__test IS NULL THEN 'the filter cannot be computed' END)"
        branches = [f"WHEN {reason} IS NOT NULL THEN {REJECTED}"]
        branches += [f"WHEN struct_extract(tp__test, 'v') IS NOT TRUE THEN {FILTERED}"] if self.filter else []
        branches += [f"WHEN {self.outside} THEN {OUT_OF_WINDOW}"] if self.outside else []
        disposition = f"(CASE {' '.join(branches)} ELSE {KEPT} END)::UTINYINT"
        # A text of no more than RAW_BYTES bytes: a character has four at most.
        head = f"left(tp__raw, {RAW_BYTES})"
        raw = f"CASE WHEN strlen({head}) <= {RAW_BYTES} THEN {head} ELSE left(tp__raw, {RAW_BYTES // 4}) END"
        return (
            f"SELECT tp__artifact, tp__ordinal, {disposition} AS tp__disposition,"
            f" {reason} AS tp__reason, CASE WHEN {reason} IS NOT NULL THEN {raw} END AS tp__raw"
            + "".join(f", {name}" for name in [*words, *(quoted(output.name) for output in self.outputs)])
            + f" FROM ({judged})"
        )

    # What the files hold

    @property
    def columns(self) -> dict[str, str]:
        """Name and type of each column of a file, in order, as the catalog notes them."""
        own = {o.name: o.catalog_type for o in self.outputs if o.name not in COMMON_TYPES}
        common = common_types(output.name for output in self.outputs)
        return own | {name: kind.stored for name, kind in common.items()}

    def stored(self, table: str, more: Sequence[str] = ()) -> str:
        """A query over disposed rows that returns the columns of a file, and our own."""
        names = [quoted(output.name) for output in self.outputs]
        carried = ["tp__artifact", "tp__ordinal", "tp__disposition", *more]
        return self.finished(f"SELECT * FROM {table}", names, carried, is_final=True)

    @property
    def words(self) -> int:
        """The number of columns whose bits mark the misfits."""
        return -(-len(self.outputs) // _BITS)

    def misfit_count(self, number: int) -> str:
        """SQL that counts the rows in which this output's value did not fit."""
        word, bit = divmod(number, _BITS)
        return f"count(*) FILTER ((tp__coerced{word} >> {bit}) & 1 = 1)"

    @property
    def constants(self) -> dict[str, str]:
        """The columns that have the same text in all rows, as SQL."""
        mapped = {output.name for output in self.outputs}
        return {name: sql for name, sql in self.stamps.items() if name not in mapped and _TEXT.fullmatch(sql)}

    # Parts

    def _missing(self, name: str, own: Sequence[str], wanted: Sequence[str]) -> str:
        is_location = self.location is not None and name.lower() == LOCATION
        return self.location or "" if is_location else gathered(name, own, wanted)

    def _value(self, number: int, output: Output) -> str:
        if output.transform is not None:
            value = f"({output.transform}\n)"  # a comment at its end must not swallow the rest
            if output.keys is None:
                return value
            return f"from_json({value}::VARCHAR, {literal(json.dumps(json_shape(output.read)))})"
        return f"tp__own{number}" if output.null_if is not None else _alias(output.source or output.name)

    def _first(self, number: int) -> int:
        """The first output that takes the same field: DuckDB sees that two casts are one if their input is one."""
        output = self.outputs[number]
        if output.source is None or output.null_if is not None:
            return number
        taking = (n for n, other in enumerate(self.outputs) if other.source == output.source and other.null_if is None)
        return next(taking)

    def _input(self, number: int, given: str) -> str:
        """What is cast: the value, without what means null."""
        output, value = self.outputs[number], f"tp__v{self._first(number)}"
        if output.transform is not None:
            value = f"struct_extract({value}, 'v')"
        null_if = output.null_if if output.null_if is not None else self.null_if
        if null_if is not None and (output.null_if is not None or output.transform is not None):
            return _null_if(value, given, null_if)
        return value

    def _cast(self, number: int, output: Output, given: str, misfits: Mapping[str, str], clock: Clock) -> Cast:
        value = self._input(number, given)
        made = cast(value, given, output.kind, clock)
        if output.time_format is not None:
            made = cast_by_format(value, given, output.kind, clock, output.time_format)
        if output.is_open and given == "VARCHAR":
            made = Cast(made.value, round_trip(value, output.kind.name))
        if output.name == "tp_timestamp":
            # Python has no dates beyond these; DuckDB has, and `infinity` too.
            known = "BETWEEN TIMESTAMP '0001-01-01' AND TIMESTAMP '9999-12-31 23:59:59.999999'"
            made = Cast(f"CASE WHEN {made.value} {known} THEN {made.value} END", made.misfit)
        if output.name in ADDRESS_COLUMNS:
            is_list = isinstance(output.kind, ListType)
            made = _addresses(made) if is_list else _address(made, is_counted=not output.takes)
        if output.transform is not None:
            if made.is_lost:
                return made
            failed = f"tp__v{number} IS NULL"
            return Cast(made.value, f"({failed} OR {made.misfit})" if made.misfit else f"({failed})")
        if output.source in misfits:
            wrong = quoted(f"tp__misfit_{output.source}")
            misfit = f"({wrong} OR {made.misfit})" if made.misfit else wrong
            return Cast(f"CASE WHEN NOT {wrong} THEN {made.value} END", misfit)
        return made

    def _words(self, lost: Mapping[int, str]) -> list[str]:
        words = []
        for word in range(self.words):
            bits = [
                f"CASE WHEN {condition} THEN {1 << number % _BITS}::BIGINT ELSE 0 END"
                for number, condition in lost.items()
                if number // _BITS == word
            ]
            words.append(" + ".join(bits) if bits else "0::BIGINT")
        return words

    def _reason(self) -> str:
        time = next((output for output in self.outputs if output.name == "tp_timestamp"), None)
        what = f'"{time.source}"' if time is not None and time.source is not None else "tp_timestamp"
        branches = [
            "WHEN tp__bad IS NOT NULL THEN tp__bad",
            f"WHEN tp_timestamp IS NULL AND regexp_full_match(tp__time, '-?[0-9]+([.][0-9]+)?')"
            f" THEN {literal(f'{what} is not a time from 1980 to 2099: ')} || tp__time",
            f"WHEN tp_timestamp IS NULL AND tp__time IS NOT NULL THEN {literal(f'{what} is not a time: ')} || tp__time",
            f"WHEN tp_timestamp IS NULL THEN {literal(f'{what} has no time')}",
        ]
        for output in self.outputs:
            if output.required and output.name != "tp_timestamp":
                reason = f'the required column "{output.name}" has no value'
                branches.append(f"WHEN {quoted(output.name)} IS NULL THEN {literal(reason)}")
        return "CASE " + " ".join(branches) + " END"


def _tried(value: str) -> str:
    """A user's expression in a struct, to distinguish its failure, a null, from its value being null."""
    # What stands in several expressions, DuckDB computes beforehand, and then TRY does not see it fail. It
    # leaves alone what stands in a CASE, if it cannot tell what comes of that.
    return f"CASE WHEN tp__ordinal >= 0 THEN TRY(struct_pack(v := {value})) END"


def _alias(field: str) -> str:
    """The name of a field among our own columns."""
    return quoted(f"_{field}" if field.lower().startswith("tp__") else field)


def _null_if(value: str, given: str, text: str) -> str:
    if given == "VARCHAR":
        return f"nullif({value}, {literal(text)})"
    if given.endswith("]") or given.startswith("STRUCT("):
        return value
    if given.startswith(_WITH_DIGITS) and not any(map(str.isdigit, text)) and text.strip("-").lower() not in _ENDLESS:
        return value  # no number or time is spelt like that, and to spell all of them out takes its time
    return f"CASE WHEN {value}::VARCHAR IS DISTINCT FROM {literal(text)} THEN {value} END"


def _address(made: Cast, *, is_counted: bool) -> Cast:
    """A text that is no address is a misfit, unless it came by a path: then it may be anything."""
    value = f"CASE WHEN {is_address(made.value)} THEN {plain_address(made.value)} END"
    return Cast(value, made.misfit, is_lost=is_counted)


def _addresses(made: Cast) -> Cast:
    """The addresses among texts: a table may hand in whatever may hold one.

    Mostly all of them are addresses. Asked of all at once, the pattern is made ready once; inside a lambda, DuckDB does
    that again for every two thousand rows, which takes longer than all the matching.
    """
    texts = made.value
    are_all = f"regexp_full_match(array_to_string({texts}, ',') || ',', '({ADDRESS},)+|,')"
    # Two addresses in one text, and an empty one that is alone, look like all addresses there.
    found = (
        f"CASE WHEN {are_all} THEN list_filter({texts}, lambda tp__x: tp__x <> '' AND NOT contains(tp__x, ','))"
        f" ELSE list_filter({texts}, lambda tp__x: {is_address('tp__x')}) END"
    )
    plain = f"list_transform({found}, lambda tp__x: {plain_address('tp__x')})"
    first = "list_filter(tp__all, lambda tp__x, tp__n: list_position(tp__all, tp__x) = tp__n)"
    once = f"list_transform([{plain}], lambda tp__all: {first})[1]"
    is_mapped = may_be_mapped(f"array_to_string({texts}, ',')")
    return Cast(f"CASE WHEN {is_mapped} THEN {once} ELSE {found} END", made.misfit)


def _may_lack_year(formats: str | Sequence[str] | None) -> bool:
    return any(form == ISO or lacks_year(form) for form in listed_formats(formats))
