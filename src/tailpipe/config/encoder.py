"""Objects → config text and plain data: the inverse of the decoder, by the same declarations."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tailpipe.config.config import Config, config_field
from tailpipe.config.printer import literal, print_body
from tailpipe.config.scope import LABELS
from tailpipe.config.syntax import Attribute, Block, Body, Expression, Label, List, Literal, Map, Name
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.notifier import Notifier
from tailpipe.model.option import Option, Secret, Unresolved, Variant, options_of
from tailpipe.model.redaction import DOTS, REDACTOR, looks_secret, redacted, redacted_arguments
from tailpipe.model.source import Source
from tailpipe.model.store import Store
from tailpipe.model.table import Column, Table, spelt_column

_BARE_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_VALUES = ("true", "false", "null")


def config_text(config: Config) -> str:
    """The config as `.tpc` text: what is not at its default, secrets masked."""
    blocks = [encode(kind, value) for kind in LABELS for value in _own(config, kind)]
    return print_body(Body([], blocks))


def config_data(config: Config) -> dict[str, Any]:
    """The config as plain data: every option of every block, secrets masked."""
    return {config_field(kind): [*map(plain_data, _own(config, kind))] for kind in LABELS}


def _own(config: Config, kind: str) -> list[Any]:
    """The objects of the blocks of a kind, without those of other files."""
    return [one for one in getattr(config, config_field(kind)).values() if kind != "query" or not one.origin]


def encode(kind: str, value: Any) -> Block:
    """An object as the block that would make it."""
    labels = [Label(value.type)] if isinstance(value, Connection | Format | Notifier | Source | Variant) else []
    body = Body()
    for option in options_of(type(value)).values():
        given = getattr(value, option.field)
        if option.kind == "label":
            is_default_source = isinstance(value, Source) and given == value.type
            labels += [] if is_default_source else [Label(given)]
        elif given == option.default or given is None or _is_default_connection(option, given):
            continue
        elif option.kind == "block":
            made = [option.element(**given)] if option.element is not None else given
            many = made if isinstance(made, Sequence) else [made]
            body.blocks += [encode(option.block, inner) for inner in many]
        elif isinstance(value, Table) and isinstance(given, Format) and given.name == value.name:
            # A format inside its table needs no name of its own.
            inner = encode(option.block, given)
            body.blocks.append(Block(inner.type, inner.labels[:1], inner.body))
        else:
            expression = _paths(given) if option.takes_paths else _expression(given)
            body.attributes.append(Attribute(option.name, expression))
    return Block(kind, labels, body)


def _paths(value: str | Sequence[str]) -> Expression:
    """Paths without quotes in a list; SQL is text."""
    if isinstance(value, str):
        return literal(value)
    items = [
        Name(item.split(".")) if _BARE_PATH.fullmatch(item) and item not in _VALUES else literal(item) for item in value
    ]
    return items[0] if len(items) == 1 and isinstance(items[0], Name) else List(items)


def plain_data(value: Any) -> Any:
    """An object as plain data, with all its options; connections, formats, notifiers and stores by their address."""
    if not dataclasses.is_dataclass(value):
        return _plain_value(value)
    typed = isinstance(value, Connection | Format | Notifier | Source | Variant)
    data = {"type": getattr(value, "type", None)} if typed else {}
    for option in options_of(type(value)).values():
        data[option.name] = _plain_value(getattr(value, option.field))
    return data


def _plain_value(value: Any) -> Any:
    if isinstance(value, Secret | Unresolved):
        return repr(value)
    if isinstance(value, Connection | Format | Notifier | Store):
        return value.address
    if isinstance(value, Mapping):
        return {key: DOTS if _is_secret(key, item) else _plain_value(item) for key, item in value.items()}
    if isinstance(value, str):
        return redacted(REDACTOR.without_known(value), named=False)
    if isinstance(value, Sequence):
        return [_plain_value(item) for item in _shown(value)]
    return plain_data(value) if dataclasses.is_dataclass(value) else value


def _shown(value: Sequence[Any]) -> Sequence[Any]:
    """A list in which no argument that follows a flag such as `--password` is shown."""
    return redacted_arguments(value) if all(isinstance(item, str) for item in value) else value


def _is_secret(key: Any, value: Any) -> bool:
    """Whether the value of a map is one by its key, such as Spark's `spark.authenticate.secret`."""
    return isinstance(value, str) and value not in ("", "true", "false") and looks_secret(str(key))


def _expression(value: Any) -> Expression:
    if isinstance(value, Unresolved):
        return Name([value.call])
    if isinstance(value, Connection | Format | Notifier | Store):
        return Name(value.address.split("."))
    if isinstance(value, Mapping):
        shown = {key: DOTS if _is_secret(key, item) else item for key, item in value.items()}
        return Map([(Literal(str(key)), _expression(item)) for key, item in shown.items()])
    if isinstance(value, Sequence) and not isinstance(value, str):
        return List([_expression(item) for item in _shown(value)])
    return literal(_plain_value(value))


def _is_default_connection(option: Option, value: Any) -> bool:
    """Whether it is the connection that the decoder takes without the option."""
    is_filled_in = isinstance(option.annotation, type) and issubclass(option.annotation, Connection)
    return is_filled_in and value.name == "default" and value.type == option.annotation.type


def declared_table(table: Table, presets: Mapping[str, Format]) -> Table:
    """The table as a `table` block makes it: a format that is no preset has its name."""
    given = {field.name: getattr(table, field.name) for field in dataclasses.fields(Table)}
    format = table.format
    if format is not None and presets.get(f"{format.type}.{format.name}") != format:
        given["format"] = dataclasses.replace(format, name=table.name)
    return Table(**{**given, "is_shipped": False})


def table_text(table: Table, presets: Mapping[str, Format]) -> str:
    """The block of a table; it is read back as the same table."""
    declared = declared_table(table, presets)
    block = encode("table", declared)
    columns = {column.name: column for column in declared.columns}
    bare = Table(name=declared.name, additional=declared.additional).columns
    kept = []
    for inner in block.body.blocks:
        column = columns.get(inner.labels[0].text) if inner.type == "column" else None
        if column is None:
            kept.append(inner)
        elif column not in bare:
            kept.append(encode("column", _unspelt(column, declared)))
    order = ["format", "column", "common", "ocsf"]
    block.body.blocks[:] = sorted(kept, key=lambda inner: order.index(inner.type))
    return print_body(Body([], [block]))


def _unspelt(column: Column, table: Table) -> Column:
    """The column without what the `keys` of its table say."""
    if table.keys is None:
        return column
    implied: tuple[dict[str, Any], ...] = ({"source": None, "keys": None}, {"source": None}, {"keys": None})
    shorter = (dataclasses.replace(column, **fields) for fields in implied)
    return next((one for one in shorter if spelt_column(one, table.keys) == column), column)
