"""Mistakes: what DuckDB says of a statement that failed, in one line, with the place in it and the name meant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailpipe.errors import Place, QueryError, TailpipeError
from tailpipe.model.nearest import did_you_mean, listed
from tailpipe.model.parameter import names_in
from tailpipe.model.visible import width
from tailpipe.query.views import View
from tailpipe.sql.duck import blank, duckdb
from tailpipe.sql.memory import too_much_memory
from tailpipe.sql.quoting import quoted

_KIND = re.compile(r"^[A-Z][A-Za-z ]* Error: ")
_PLACE = re.compile(r"^(LINE (\d+): )(.*)\n( *)\^", re.MULTILINE)
_TABLE = re.compile(r"Table with name (.+?) does not exist")
_FIELD = re.compile(r"Cannot extract field '([^']+)' from expression \"([^\"]+)\"")
_COLUMN = re.compile(r'(?:Referenced column|does not have a column named|Error: Column) "([^"]+)"')
_ALIAS = re.compile(r'Referenced table "([^"]+)" not found')
_KEY = re.compile(r'Could not find key "([^"]+)" in struct')
_TYPES = re.compile(r"(?:argument types|function call) ['\"](.+?)['\"]\.")
_FUNCTION = re.compile(r"Function with name (\S+) does not exist")
_OF_ADDRESSES = re.compile(r'Function with name "?(\S+?)"? is not in the catalog, but it exists in the inet extension')
_FILE = re.compile(r'annot access (?:file|directory) "([^"]+)"')
_OTHER = re.compile(r'Did you mean "([^"]+)"')
_NEAR = re.compile(r'at or near "(.*?)"?$', re.MULTILINE)
_UNREADABLE = re.compile(r"Failed to read (?:Parquet )?file|No magic bytes found")
_DAMAGED = "a stored file may be missing or damaged; find it with: tailpipe doctor --checksums"
_DOTTED = re.compile(r'[\w."]+')
_CANDIDATES = re.compile(r"Candidate (?:bindings|tables|Entries): (.+)")
_CAST = re.compile(r"to (\S+) when casting from source column (\S+)")
_HINTS = {
    "end of input": "the brackets or quotes may not be closed",
    "unterminated": "the brackets or quotes may not be closed",
    "Arrow type VARIANT": "cast it to VARCHAR",
    "cast value to numerical: {": "an arrow of JSON binds weaker than AND and =, so write (column ->> 'key')",
    "to inet: Expected an IP address": "TRY_CAST(x AS INET) gives null for what is no address",
    "Malformed JSON at": "JSON is compared with JSON; x->>'name' takes the value as text, x.name does not",
    "structs and NULL, not JSON": "a list of JSON becomes one by a cast, such as: unnest(x::JSON[])",
}
"""What to do about other mistakes, by words of DuckDB's."""


def explain_failure(
    error: Exception, sql: str, views: Sequence[View], schema: str, *, is_interrupted: bool
) -> TailpipeError | KeyboardInterrupt:
    """The failure of a statement as people read it; `schema` is the one of names without one."""
    text = str(error)
    if isinstance(error, RuntimeError) and "interrupted" in text:
        return KeyboardInterrupt()  # a signal was received
    if isinstance(error, duckdb.InterruptException) or text.endswith("INTERRUPT Error: Interrupted!"):
        if is_interrupted:
            return KeyboardInterrupt()  # so DuckDB reports it, or pyarrow while it reads batches of DuckDB's
        # After an error in one thread, DuckDB interrupts the others, and sometimes reports that instead of the error.
        return QueryError("the statement failed while its rows were read", hint="run it again to see the error")
    if isinstance(error, RecursionError):
        return QueryError("the statement is nested too deeply", hint="write it with fewer levels")
    if isinstance(error, OverflowError):  # an interval of more days than Python counts
        return QueryError("a value is too large", hint="show it as text: CAST(… AS VARCHAR)")
    if isinstance(error, duckdb.OutOfMemoryException) and "temp_directory" not in text:
        return too_much_memory()
    if type(error) is duckdb.Error:  # how DuckDB reports bytes that make no sense, without the name of their file
        return TailpipeError(f"cannot read a stored file: {_first(text)}", hint=_DAMAGED)
    if isinstance(error, duckdb.IOException) or _UNREADABLE.search(text):
        return TailpipeError(_first(text), hint=_DAMAGED)
    place = _place(text, sql)
    if isinstance(error, duckdb.PermissionException) and (match := _FILE.search(text)):
        message = f'a query reads what was collected, and "{match[1]}" was not'
        return QueryError(message, hint="--unsafe lets it read other files", place=place)
    if match := _TABLE.search(text):
        name = _written(match[1].strip('"'), place)
        first, _, rest = name.partition(".")
        if rest and any(view.name == first and view.schema == schema for view in views):
            hint = f"a partition is chosen by its column: FROM {first} WHERE tp_partition = '{rest}'"
            return QueryError(f'there is no schema "{first}"', hint=hint, place=place)
        return _mistake("table", name, _tables(views, schema), place)
    if match := _FIELD.search(text):
        name = quoted(match[2]) if quoted(match[2]) in sql else match[2]
        hint = f"if it is text of JSON, write {name}->>'{match[1]}'"
        return QueryError(f'"{match[2]}" is not a struct, so it has no field "{match[1]}"', hint=hint)
    if match := _COLUMN.search(text):
        known = _columns(views, text, sql)
        if match[1].lower() not in map(str.lower, known):
            return _mistake("column", match[1], known, place)
        if candidates := _candidates(text):  # a table has it, and what stands here does not
            return _mistake("column", match[1], candidates, place)
    if match := _ALIAS.search(text):
        return _mistake("table or alias", match[1], _candidates(text), place)
    if match := _KEY.search(text):
        hint = did_you_mean(match[1], _candidates(text), "DESCRIBE shows the fields of a struct")
        return QueryError(f'there is no field "{match[1]}"', hint=hint, place=place)
    if match := _OF_ADDRESSES.search(text):
        hint = "cast it to one, such as: tp_source_ip::INET"
        return QueryError(f'"{match[1]}" expects an IP address, not text', hint=hint, place=place)
    if match := _FUNCTION.search(text):
        if match[1].startswith("`"):
            return QueryError('a name is quoted with ", not with `', place=place)
        hint = f'did you mean "{near[1]}"?' if (near := _OTHER.search(text)) else ""
        return QueryError(f'there is no function "{match[1]}"', hint=hint, place=place)
    if match := _TYPES.search(text):
        hint = "cast a value to the type that is meant, such as x::BIGINT or '1 day'::INTERVAL"
        if "STRING_LITERAL" in match[1] and names_in(sql):
            hint = "cast the parameter, such as $days::INTEGER, or say its type: --param days:integer=7"
        return QueryError(f"there is no function for {match[1]}", hint=hint, place=place)
    if match := _CAST.search(text):
        hint = f"try_cast({match[2]} AS {match[1]}) is null where a value does not fit"
        return QueryError(_first(text), hint=hint, place=place)
    hint = next((hint for words, hint in _HINTS.items() if words in text), "")
    return QueryError(_first(text), hint=hint or _about_alias(text, sql, place), place=place)


def _about_alias(text: str, sql: str, place: Place | None) -> str:
    """The hint for a keyword used as an alias without AS: `min(x) AS first` works, `min(x) first` does not."""
    near = _NEAR.search(text)
    if near is None or place is None or not re.fullmatch(r"[A-Za-z_]+", near[1]):
        return ""
    lines = sql.split("\n")
    before, after = lines[place.line - 1][: place.column - 1], lines[place.line - 1][place.column - 1 :]
    corrected = "\n".join([*lines[: place.line - 1], f"{before}AS {after}", *lines[place.line :]])
    with blank() as connection:
        try:
            connection.extract_statements(corrected)
        except duckdb.Error:
            return ""
    return f'"{near[1]}" is a keyword; as an alias it needs AS: AS {near[1]}'


def _mistake(noun: str, name: str, known: Sequence[str], place: Place | None) -> QueryError:
    none = "nothing was collected yet" if noun == "table" else "text is written in single quotes"
    there = f"there are: {listed(known, 8)}" if known else none
    if noun == "column" and place is not None and place.text.startswith('"', place.column - 1):
        there = f"text is written in single quotes: '{name}'"
    hint = did_you_mean(name, known, there)
    return QueryError(f'there is no {noun} "{name}"', hint=hint, place=place)


def _written(name: str, place: Place | None) -> str:
    """The name of a table as the statement has it: DuckDB leaves out the schema."""
    match = None if place is None else _DOTTED.match(place.text, place.column - 1)
    dotted = match[0].replace('"', "") if match else ""
    return dotted if dotted.lower().endswith(f".{name.lower()}") else name


def _tables(views: Sequence[View], schema: str) -> list[str]:
    """Their names as they are written, those that hold something before the others."""
    names = [(view.name if view.schema == schema else f"{view.schema}.{view.name}", view.files) for view in views]
    return [name for name, files in sorted(names, key=lambda one: not one[1])]


def _columns(views: Sequence[View], text: str, sql: str) -> list[str]:
    """The columns of the tables that are named, or what DuckDB says there is."""
    used = [view for view in views if re.search(rf"\b{re.escape(view.name)}\b", sql, re.IGNORECASE)]
    columns = list(dict.fromkeys(column for view in used for column in view.columns))
    return columns or _candidates(text)


def _candidates(text: str) -> list[str]:
    """The names that DuckDB would have understood."""
    candidates = _CANDIDATES.search(text)
    return re.findall(r'"([^"]+)"', candidates[1]) if candidates else []


def _first(text: str) -> str:
    """The first line, without the kind of error before it."""
    line = _KIND.sub("", text.partition("\n")[0], count=1).rstrip("!. ")
    return line[:1].lower() + line[1:] if line[1:2].islower() else line


def _place(text: str, sql: str) -> Place | None:
    """The place of DuckDB's caret in the statement as it was written; None if it is in the SQL of a view."""
    match = _PLACE.search(text)
    lines = [line.rstrip("\r") for line in sql.split("\n")]
    if match is None:
        # The end of the input has no caret.
        return Place("statement", len(lines), len(lines[-1]) + 1, 1, lines[-1]) if "end of input" in text else None
    number, shown = int(match[2]), match[3].rstrip("\r")
    if not 1 <= number <= len(lines):
        return None
    line = lines[number - 1]
    head = 3 if shown.startswith("...") and not line.startswith("...") else 0
    begin = line.find(shown[head:].removesuffix("..."))
    column = begin + _reached(line[begin:], len(match[4]) - len(match[1]) - head)
    if begin < 0 or not 0 <= column < len(line):
        return None
    number, column = _corrected(text, lines, number, column)
    line = lines[number - 1]
    word = re.match(r'\w+|"[^"]+"', line[column:])
    return Place("statement", number, column + 1, len(word[0]) if word else 1, line)


def _corrected(text: str, lines: Sequence[str], number: int, column: int) -> tuple[int, int]:
    """The place of the word that a syntax error is near: DuckDB sets that caret too early behind letters like é."""
    near = _NEAR.search(text)
    if near is None:
        return number, column
    for later, line in enumerate(lines[number - 1 :]):
        found = line.find(near[1], 0 if later else column)
        if found >= 0:
            return number + later, found
    return number, column


def _reached(line: str, columns: int) -> int:
    """The characters before a caret that DuckDB places by width: a tab counts as none, joined emoji as one."""
    is_joined = False
    for count, character in enumerate(line):
        taken = 0 if is_joined or not character.isprintable() else width(character)
        if taken and columns <= 0:
            return count
        is_joined = character == "\N{ZERO WIDTH JOINER}"
        columns -= taken
    return len(line)
