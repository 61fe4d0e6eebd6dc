"""A value of the language → the Python type that an option declares."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from tailpipe.config import syntax
from tailpipe.config.functions import a_kind, shown
from tailpipe.config.text import Problem
from tailpipe.frozen import frozen
from tailpipe.model.connection import Connection
from tailpipe.model.format import Format
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.notifier import Notifier
from tailpipe.model.option import Secret, type_name
from tailpipe.model.store import Store

_REFERRED = {"connection": Connection, "format": Format, "notifier": Notifier, "store": Store}
"""The blocks that an argument may refer to as a whole."""
Resolve = Callable[["Reference"], Any]
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_LARGEST = 1e308
"""What a float can hold; a whole number of the language can be larger."""


@frozen
class Reference:
    """A reference to a whole block: `connection.aws.prod`."""

    kind: str
    labels: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join((self.kind, *self.labels))


def convert(annotation: Any, value: Any, expression: syntax.Expression, resolve: Resolve) -> Any:
    """The value as the annotation wants it, or a `Problem` at the part that does not fit."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is Any:
        return _anything(value, expression)
    if origin in (Union, types.UnionType):
        return _union(arguments, value, expression, resolve)
    if origin is Literal:
        if value not in arguments or isinstance(value, bool):
            allowed = ", ".join(f'"{argument}"' for argument in arguments)
            hint = did_you_mean(value, arguments) if isinstance(value, str) else ""
            if isinstance(value, int) and str(value) in arguments:
                hint = f'write "{value}"'
            found = f'"{value}"' if isinstance(value, str) else a_kind(value)
            raise Problem(f"expected one of {allowed}, got {found}", expression.span, hint)
        return value
    if origin in (Sequence, list, tuple):
        return _sequence(arguments[0], value, expression, resolve)
    if origin in (Mapping, dict):
        return _mapping(arguments[1], value, expression, resolve)
    if isinstance(annotation, type) and issubclass(annotation, Connection | Format | Notifier | Store):
        return _referred(annotation, value, expression, resolve)
    return _scalar(annotation, value, expression)


def _union(choices: tuple[Any, ...], value: Any, expression: syntax.Expression, resolve: Resolve) -> Any:
    if value is None and type(None) in choices:
        return None
    others = [choice for choice in choices if choice is not type(None)]
    if len(others) == 1:
        return convert(others[0], value, expression, resolve)
    for choice in others:
        try:
            return convert(choice, value, expression, resolve)
        except Problem:
            continue
    wanted = " or ".join(type_name(choice) for choice in others)
    raise Problem(f"expected {wanted}, got {a_kind(value)}", expression.span)


def _sequence(element: Any, value: Any, expression: syntax.Expression, resolve: Resolve) -> Any:
    if not isinstance(value, list):
        hint = "write it in brackets: […]" if isinstance(value, str) else ""
        raise Problem(f"expected a list, got {a_kind(value)}", expression.span, hint)
    parts = expression.items if isinstance(expression, syntax.List) else [expression] * len(value)
    return tuple(convert(element, item, part, resolve) for item, part in zip(value, parts, strict=True))


def _mapping(element: Any, value: Any, expression: syntax.Expression, resolve: Resolve) -> Any:
    if not isinstance(value, dict):
        raise Problem(f"expected a map, got {a_kind(value)}", expression.span, "write { name = value }")
    literal = expression if isinstance(expression, syntax.Map) else None
    parts = [item for _, item in literal.items] if literal else [expression] * len(value)
    return {key: convert(element, item, part, resolve) for (key, item), part in zip(value.items(), parts, strict=True)}


def _anything(value: Any, expression: syntax.Expression) -> Any:
    """A value of any type, for a service that knows what it means; a reference means nothing to it."""
    if isinstance(value, Reference):
        hint = f"name an argument of it: {value}.ARGUMENT"
        raise Problem(f"expected a value, got {value}", expression.span, hint)
    if isinstance(value, list):
        return tuple(_anything(item, expression) for item in value)
    return {key: _anything(item, expression) for key, item in value.items()} if isinstance(value, dict) else value


def _default_of(wanted: type, kind: str, value: Any, resolve: Resolve) -> str:
    """What someone meant who wrote the type alone as text; empty if there is no default of it."""
    reference = Reference(kind, (value, "default")) if isinstance(value, str) else None
    try:
        return str(reference) if reference is not None and isinstance(resolve(reference), wanted) else ""
    except (KeyError, ValueError):
        return ""


def _referred(wanted: type, value: Any, expression: syntax.Expression, resolve: Resolve) -> Any:
    kind = next(name for name, base in _REFERRED.items() if issubclass(wanted, base))
    of_type = getattr(wanted, "type", "")
    example = "store.NAME" if kind == "store" else f"{kind}.{of_type or 'TYPE'}.NAME"
    if not isinstance(value, Reference) or value.kind != kind:
        found = str(value) if isinstance(value, Reference) else a_kind(value)
        is_quoted = isinstance(value, str) and value.startswith(f"{kind}.")
        hint = f"write {_default_of(wanted, kind, value, resolve) or example}"
        hint = "write it without quotes" if is_quoted else hint
        if isinstance(value, dict) and value and all(isinstance(one, Reference) for one in value.values()):
            hint = f'choose one of for_each by its key: ["{next(iter(value))}"]'
        raise Problem(f"expected a {kind}, got {found}", expression.span, hint)
    if of_type and value.labels[0] != of_type:
        message = f'expected a {kind} of type "{of_type}", got {value}'
        raise Problem(message, expression.span, f"write {example}")
    try:
        return resolve(value)
    except ValueError as error:
        raise Problem(str(error), expression.span) from None


def _scalar(annotation: Any, value: Any, expression: syntax.Expression) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if annotation is str and isinstance(value, str):
        return value
    if annotation is Secret and isinstance(value, str):
        return Secret(value)
    if annotation is bool and isinstance(value, bool):
        return value
    if annotation is int and is_number and value % 1 == 0:
        return int(value)
    if annotation is float and is_number and abs(value) < _LARGEST:
        return float(value)
    wanted = {bool: "true or false", int: "an integer", float: "a number"}.get(annotation, "text")
    hint = ""
    if wanted == "text" and (is_number or isinstance(value, bool)):
        hint = 'write it in quotes: "…"'
    elif annotation is bool and value in ("true", "false"):
        hint = f"write {value} without quotes"
    elif annotation in (int, float) and isinstance(value, str) and _NUMBER.fullmatch(value):
        hint = "write it without quotes"
    found = shown(value) if is_number and annotation is int else a_kind(value)
    if is_number and annotation is float:
        raise Problem("the number is too large", expression.span)
    raise Problem(f"expected {wanted}, got {found}", expression.span, hint)
