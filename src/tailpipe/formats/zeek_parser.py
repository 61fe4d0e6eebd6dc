"""Zeek's logs: tab-separated values with a header of their own, or JSON, and the same rows from both.

Names have `_` for dots (`id_orig_h`). Numbers are written in the shortest form, sets and vectors are JSON arrays, `T`
and `F` are true and false. A value that is not set is null; `(empty)` is an empty text or an empty array. `\\xHH` is
undone unless the bytes are no text, which Zeek's JSON has as `\\xHH`, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from tailpipe.plugin import LineParser, Lines
from tailpipe.plugin.functions import run_parser

_ESCAPE = re.compile(r"(?:\\x[0-9A-Fa-f]{2})+|\\\\")
_LIST = re.compile(r"(?:set|vector|table|list)\[(\w+)\]")
_NUMBERS = frozenset({"time", "interval", "double", "count", "int", "port"})


class _Number(str):
    """The text of a number, which JSON has without quotes."""

    __slots__ = ()


@dataclass
class _Header:
    """What the lines with `#` have said so far."""

    separator: str = "\t"
    set_separator: str = ","
    empty: str = "(empty)"
    unset: str = "-"
    fields: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    def learn(self, line: str) -> None:
        """Take a line that begins with `#`."""
        if line.startswith("#separator "):
            self.separator = _unescaped(line.removeprefix("#separator ").strip()) or "\t"
            return
        name, *values = line.split(self.separator)
        match name:
            case "#set_separator" if values:
                self.set_separator = _unescaped(values[0])
            case "#empty_field" if values:
                self.empty = values[0]
            case "#unset_field" if values:
                self.unset = values[0]
            case "#fields":
                self.fields = tuple(value.replace(".", "_") for value in values)
            case "#types":
                self.types = tuple(values)

    def row(self, line: str) -> Mapping[str, Any]:
        """The values of a line; a `ValueError` says why there are none."""
        values = line.split(self.separator)
        if not self.fields:
            raise ValueError("no line before it names the fields")
        if len(values) != len(self.fields):
            plural = "value" if len(values) == 1 else "values"
            raise ValueError(f"has {len(values)} {plural} for {len(self.fields)} fields")
        types = self.types if len(self.types) == len(self.fields) else ("string",) * len(self.fields)
        return {
            name: self._value(text, kind) for name, text, kind in zip(self.fields, values, types, strict=True) if name
        }

    def _value(self, text: str, kind: str) -> str | bool | None:
        if text == self.unset:
            return None
        if found := _LIST.fullmatch(kind):
            parts = [] if text == self.empty else text.split(self.set_separator)
            return _array([None if part == self.unset else self._scalar(part, found[1]) for part in parts])
        return self._scalar(text, kind)

    def _scalar(self, text: str, kind: str) -> str | bool:
        if kind == "bool":
            return {"T": True, "F": False}.get(text, text)
        if kind in _NUMBERS:
            return _number(text)
        return "" if text == self.empty else _unescaped(text)


@dataclass
class _Headers:
    """The header of each artifact of a task."""

    known: dict[int, _Header] = field(default_factory=dict)

    def function(self, run: Lines) -> Callable[[str], Mapping[str, Any] | None]:
        """What reads the lines of a run."""
        if run.artifact not in self.known or not run.head:  # without a head, it begins here
            self.known[run.artifact] = _Header()
            for line in run.head:
                if line.startswith("#"):
                    self.known[run.artifact].learn(line)
        header = self.known[run.artifact]

        def row(line: str) -> Mapping[str, Any] | None:
            if line.startswith("#"):
                header.learn(line)
                return None
            return _object(line) if line.startswith("{") else header.row(line)

        return row


def zeek_parser() -> LineParser:
    """A parser that detects the form of each line."""
    return run_parser(_Headers().function)


def _object(line: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line, parse_float=_number)
        return {
            name.replace(".", "_"): _array(value) if isinstance(value, list | dict) else value
            for name, value in found.items()
            if name
        }
    except (ValueError, RecursionError):
        raise ValueError("the line is not JSON") from None


def _array(value: Any) -> str:
    """JSON with numbers as they are written."""
    match value:
        case list():
            return "[" + ",".join(map(_array, value)) + "]"
        case dict():
            return "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_array(value[key])}" for key in value) + "}"
        case _Number():
            return value
    return json.dumps(value, ensure_ascii=False)


def _number(text: str) -> _Number | str:
    """A number in its shortest form; any other text as it is."""
    try:
        plain = Decimal(text)
    except InvalidOperation:
        return text
    if not plain.is_finite() or plain.adjusted() > 40 or plain.adjusted() < -40:
        return text
    shown = format(plain, "f")
    return _Number(shown.rstrip("0").rstrip(".") if "." in shown else shown)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(escapes: re.Match[str]) -> str:
    if escapes[0] == "\\\\":
        return "\\"
    try:
        return bytes.fromhex(escapes[0].replace("\\x", "")).decode()
    except UnicodeDecodeError:
        return escapes[0]
