"""Check the SQL of a table and a partition before anything runs: what is wrong, in which argument, and where in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.ocsf import CLASSES, OcsfEvents
from tailpipe.model.outputs import common_types, is_wanted, output_columns
from tailpipe.model.partition import Partition
from tailpipe.model.table import Table
from tailpipe.sql.connection import connect, expression_types
from tailpipe.sql.inet import load_for
from tailpipe.sql.numbers import read_as_numbers
from tailpipe.sql.quoting import quoted, text_type
from tailpipe.sql.references import Expression, read_expression, taken_fields, weakness, with_paths
from tailpipe.sql.wanted import wanted_fields

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

_WORDS = frozenset({"current_date", "current_time", "current_timestamp", "localtime", "localtimestamp"})
"""Functions that are written like columns."""


@frozen
class SqlProblem:
    """One problem in an SQL text of the config.

    `address` names the argument below its block, such as `filter` or `column.NAME.transform`. `position` counts the
    characters before the problem, and `length` those of the word there; None if DuckDB does not report it.
    """

    address: str
    message: str
    hint: str = ""
    position: int | None = None
    length: int = 1


def check_table(table: Table) -> tuple[SqlProblem, ...]:
    """What is wrong with the table's transforms."""
    with connect() as connection:
        problems: list[SqlProblem] = []
        fields = cache(partial(_fields, connection, table))
        for output in output_columns(table, {}):
            if (sql := output.transform) is None:
                continue
            load_for(connection, [sql])
            address = f"column.{output.name}.transform" if table.column(output.name) else f"common.{output.name}"
            if problem := _misread(address, sql, read_expression(connection, sql)):
                problems.append(problem)
                continue
            transforms, types = fields()
            written = transforms[output.name] or ""
            names = (word.name.lower() for word in read_expression(connection, written).columns)
            relation = {field: types.get(field, "VARCHAR") for field in names}
            select = f"SELECT TRY(struct_pack(v := ({written}\n))) FROM"
            found = list(_binding(connection, address, sql, relation, select))
            if found and (table.is_shipped or read_as_numbers(connection, written, relation) is None):
                problems += found
        for events in table.ocsf:
            problems += _ocsf_problems(connection, table, events)
    return tuple(problems)


def check_partition(partition: Partition, table: Table) -> tuple[SqlProblem, ...]:
    """What is wrong with the partition's `filter`, `tp_index` and `dedupe_key`.

    If the table takes fields that it does not declare, a name that it does not know may be one of them.
    """
    columns = {output.name: output.kind.stored for output in output_columns(table, {})}
    columns |= {name: kind.stored for name, kind in common_types(columns).items()}
    is_closed = not table.map_fields
    problems: list[SqlProblem] = []
    if partition.filter is not None:
        problems += check_condition("filter", partition.filter, columns, is_closed=is_closed)
    if partition.tp_index is not None and is_closed:
        problems += _index_problems(partition.tp_index, columns)
    for name in partition.dedupe_key:
        may_come = not is_closed and is_wanted(table, name) and not name.lower().startswith("tp_")
        problems += _key_problems(name, columns, may_come)
    return tuple(problems)


def check_condition(
    address: str, sql: str, columns: Mapping[str, str], *, is_closed: bool = True
) -> tuple[SqlProblem, ...]:
    """What is wrong with a condition on rows of these columns; unless they are all, a name may be of another."""
    with connect() as connection:
        load_for(connection, [sql])
        return tuple(_condition_problems(connection, address, sql, columns, is_closed))


def _fields(connection: duckdb.DuckDBPyConnection, table: Table) -> tuple[dict[str, str | None], dict[str, str]]:
    """The expression of each output, in which paths are fields, and the type of each field as it is read."""
    is_json = table.format is None or table.format.read_as().is_json
    outputs = with_paths(connection, output_columns(table, {})) if is_json else output_columns(table, {})
    kinds = {output.source: output.read for output in outputs if output.source is not None}
    if is_json:
        kinds = dict(wanted_fields(outputs, taken_fields(connection, outputs)))
    types = {field.lower(): text_type(kind) for field, kind in kinds.items()}
    return {output.name: output.transform for output in outputs}, types


def _ocsf_problems(connection: duckdb.DuckDBPyConnection, table: Table, events: OcsfEvents) -> Iterator[SqlProblem]:
    """What is wrong with the SQL that makes events of an OCSF class of a table's rows."""
    columns = {output.name: output.kind.duckdb for output in output_columns(table, {})}
    columns |= {name: kind.duckdb for name, kind in common_types(columns).items()}
    if events.when is not None:
        load_for(connection, [events.when])
        address = f"ocsf.{events.name}.when"
        yield from _condition_problems(connection, address, events.when, columns, not table.map_fields)
    kinds = CLASSES[events.name].columns
    for name, sql in events.given.items():
        address = f"ocsf.{events.name}.{name}"
        if name not in kinds:
            hint = "it has: " + ", ".join(CLASSES[events.name].own)
            yield SqlProblem(address, f'the class "{events.name}" has no column "{name}"', hint)
            continue
        expression = read_expression(connection, sql)
        if problem := _misread(address, sql, expression):
            yield problem
        elif unknown := list(_unknown(address, expression, columns)):
            yield from unknown if not table.map_fields else ()
        else:
            yield from _binding(connection, address, sql, columns, f"SELECT CAST(({sql}\n) AS {kinds[name]}) FROM")


def _condition_problems(
    connection: duckdb.DuckDBPyConnection, address: str, sql: str, columns: Mapping[str, str], is_closed: bool
) -> Iterator[SqlProblem]:
    expression = read_expression(connection, sql)
    if problem := _misread(address, sql, expression):
        yield problem
        return
    unknown = list(_unknown(address, expression, columns))
    if unknown and is_closed:
        yield from unknown
    elif not unknown:  # of a field that nobody has seen yet nothing can be said
        yield from _binding(connection, address, sql, columns, f"SELECT ({sql}\n) FROM", wanted="BOOLEAN")


def _index_problems(name: str, columns: Mapping[str, str]) -> Iterator[SqlProblem]:
    kind = {column.lower(): kind for column, kind in columns.items()}.get(name.lower())
    message, hint = "", ""
    if kind is None:
        message, hint = f'there is no column "{name}"', _nearest(name, columns)
    elif name.lower() in ("tp_id", "tp_index", "tp_date"):
        message, hint = f'"{name}" cannot be the index', "name a column with few values"
    elif kind.endswith("]") or kind.startswith("STRUCT("):
        message, hint = f'"{name}" is {kind.lower()}', "an index is a single value"
    if message:
        yield SqlProblem("tp_index", message, hint, 0, len(name))


def _key_problems(name: str, columns: Mapping[str, str], may_come: bool) -> Iterator[SqlProblem]:
    """What is wrong with a column of the key; it `may_come` if it can be an undeclared field."""
    if name.lower() not in (column.lower() for column in columns) and not may_come:
        yield SqlProblem("dedupe_key", f'there is no column "{name}"', _nearest(name, columns))
    elif name.lower() in ("tp_id", "tp_ingest_timestamp"):
        hint = "name columns that identify an event, such as its own id"
        yield SqlProblem("dedupe_key", f'"{name}" tells the row, not the event', hint)


def _misread(address: str, sql: str, expression: Expression) -> SqlProblem | None:
    """What is wrong with a text whatever its names mean: it is no expression, or none over a single row."""
    position = expression.error_position
    if not sql.strip():
        return SqlProblem(address, "the expression is empty")
    if "end of input" in expression.error or (position is not None and position >= len(sql.rstrip())):
        return SqlProblem(address, "the SQL ends too early", "a bracket may be open", len(sql))
    if expression.error:
        match = re.search(r'at or near "(\S+)"', expression.error)
        if match is None:
            what = expression.error.partition(" at or near")[0]
            return SqlProblem(address, f"the SQL cannot be read: {what}", "", position)
        return SqlProblem(address, f'the SQL cannot be read at "{match[1]}"', "", position, len(match[1]))
    words = [("a subquery", word) for word in expression.subqueries]
    words += [("a window function", word) for word in expression.windows]
    words += [("an aggregate", word) for word in expression.functions if word.name.lower() in _aggregates()]
    for what, word in words:
        written = re.match(r"\w*", sql[word.position or 0 :])
        length = max(1, len(written[0])) if written and word.position is not None else 1
        return SqlProblem(address, f"{what} is not allowed here", "", word.position, length)
    for word in expression.weak_arrows:
        return SqlProblem(address, *weakness(word), word.position, len(word.name))
    return None


@cache
def _aggregates() -> frozenset[str]:
    """The functions of DuckDB that are aggregates and nothing else; asking costs more than all the rest."""
    kinds = "SELECT function_name FROM duckdb_functions() GROUP BY 1 HAVING bool_and(function_type = 'aggregate')"
    with connect() as connection:
        return frozenset(name for (name,) in connection.execute(kinds).fetchall())


def _unknown(address: str, expression: Expression, columns: Iterable[str]) -> Iterator[SqlProblem]:
    lower = {name.lower() for name in columns}
    for word in expression.columns:
        if word.name.lower() not in lower | _WORDS:
            hint = _nearest(word.name, columns)
            yield SqlProblem(address, f'there is no column "{word.name}"', hint, word.position, len(word.name))


def _binding(
    connection: duckdb.DuckDBPyConnection,
    address: str,
    sql: str,
    relation: Mapping[str, str],
    select: str,
    wanted: str = "",
) -> Iterator[SqlProblem]:
    """Have DuckDB prepare the expression over an empty relation: unknown functions, types that do not fit."""
    from tailpipe.sql.duck import duckdb

    items = ", ".join(f"NULL::{kind} AS {quoted(name)}" for name, kind in relation.items()) or "1"
    try:
        (kind,) = expression_types(connection, f"{select} (SELECT {items} WHERE false)")
        if wanted and kind != wanted:
            yield SqlProblem(address, f"it gives {kind.lower()}, not true or false", "compare it with something", 0)
    except duckdb.Error as error:
        message, hint, word = _explained(str(error))
        match = re.search(rf"(?<!\w){re.escape(word)}", sql, re.IGNORECASE) if word else None
        yield SqlProblem(address, message, hint, match.start() if match else None, len(word) if match else 1)


def _explained(error: str) -> tuple[str, str, str]:
    """An error of DuckDB in our words: the message, the hint, and the word that it is about."""
    detail = error.partition(": ")[2] or error
    near = re.search(r'Did you mean "(\w+)"', error)
    hint = f'did you mean "{near[1]}"?' if near else ""
    if match := re.search(r"Function with name (\S+) does not exist", detail):
        return f'there is no function "{match[1]}"', hint, match[1]
    if match := re.search(r"Type with name (\S+) does not exist", detail):
        return f'there is no type "{match[1]}"', hint, match[1]
    if match := re.search(r"argument types '(.*?)\((.*?)\)'", detail):
        kinds = match[2].replace("_LITERAL", "").lower()
        hint = "fields are text until they are cast, such as x::BIGINT" if "varchar" in kinds else ""
        return f'"{match[1]}" cannot be applied to {kinds or "nothing"}', hint, match[1]
    if match := re.search(r"annot compare values of type (\w+) and type (\w+)", detail):
        one, other = (kind.replace("_LITERAL", "").lower() for kind in match.groups())
        hint = "fields are text until they are cast, such as x::BIGINT" if "varchar" in (one, other) else ""
        return f"{one} cannot be compared with {other}", hint, ""
    if match := re.search(r"annot mix values of type (\w+) and (\w+) in (\w+)", detail):
        one, other, where = (kind.replace("_LITERAL", "").lower() for kind in match.groups())
        hint = "cast one of them, such as x::BIGINT"
        if "timestamp" in (one, other):
            hint = 'give the column its formats instead: source and time_format = ["%d/%b/%Y", "iso"]'
        return f"{one} and {other} do not mix in {where}", hint, ""
    if "volatile" in detail:
        return "it would give another value each time", "leave out functions such as random()", ""
    first = detail.partition("\n")[0].strip().rstrip("!.")
    return first[:1].lower() + first[1:], hint, ""


def _nearest(name: str, known: Iterable[str]) -> str:
    names = list(known)
    return did_you_mean(name, names, "there are: " + ", ".join(names[:20]))
