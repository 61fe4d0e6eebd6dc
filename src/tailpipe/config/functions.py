"""The functions of the config language: pure, but for what the `Surroundings` let in."""

from __future__ import annotations

import json
import math
import re
import stat
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

from tailpipe.config.dates import format_date, parse_timestamp
from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.duration import parse_duration
from tailpipe.plugin.linear import substitute

Value = Any
"""A value of the language: text, number, boolean, null, list, map, or a reference to a block."""

_SIZE_LIMIT = 1_000_000
_VARIABLE = re.compile(r"[^\W\d]\w*")
_VERB = re.compile(r"%([-+ 0#]*)(\d*)(?:\.(\d+))?([a-zA-Z%])")


@frozen
class Surroundings:
    """What an evaluation sees of the world: the time, the environment, and files of one directory."""

    now: datetime
    env: Mapping[str, str]
    home: str
    directory: Path | None = None
    """Directory that `file()` may read from; that of the config."""


class MissingError(UsageError):
    """The config is right, but this machine lacks what it names: a variable or a file."""


_KINDS = {bool: "boolean", str: "text", int: "number", float: "number", list: "list", dict: "map", type(None): "null"}


def kind_of(value: Value) -> str:
    """What a person calls the value's type."""
    return _KINDS.get(type(value), "reference")


def a_kind(value: Value) -> str:
    """The value's type with its article: `a number`, but `text`."""
    kind = kind_of(value)
    return kind if kind in ("null", "text") else f"a {kind}"


def _text(value: Value, what: str = "text") -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected {what}, got {a_kind(value)}")
    return value


def _list(value: Value) -> list[Value]:
    if not isinstance(value, list):
        raise ValueError(f"expected a list, got {a_kind(value)}")
    return value


def shown(value: Value) -> str:
    """A value as it appears inside text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return repr(int(value)) if isinstance(value, float) and value.is_integer() else repr(value)
    raise ValueError(f"{a_kind(value)} cannot be part of a text")


def _env(around: Surroundings, name: Value, default: Value = None) -> Value:
    value = around.env.get(_text(name, "the name of a variable"))
    if value is None and not _VARIABLE.fullmatch(name):  # perhaps a secret: it is not quoted
        raise ValueError("the name of a variable is made of letters, digits and _")
    if value is None and default is None:
        hint = f'set it, or give a value for that case: env("{name}", "…")'
        raise MissingError(f'the environment variable "{name}" is not set', hint=hint)
    return value if value is not None else default


def _rfc3339(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"


def _timeadd(_: Surroundings, time: Value, duration: Value) -> Value:
    try:
        return _rfc3339(parse_timestamp(_text(time)) + parse_duration(_text(duration)))
    except OverflowError:
        raise ValueError("the time is out of range") from None


def _pathexpand(around: Surroundings, path: Value) -> Value:
    text = _text(path)
    return around.home + text[1:] if text == "~" or text.startswith("~/") else text


def _file(around: Surroundings, path: Value) -> Value:
    if around.directory is None:
        raise ValueError("there is no directory to read files from")
    try:
        base = around.directory.resolve()
        target = (base / _pathexpand(around, path)).resolve()
        if not target.is_relative_to(base):
            raise UsageError(f'"{path}" is outside the config directory', hint="only files inside it can be read")
        facts = target.stat()
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError(f'"{path}" is not a file')
        if facts.st_size > _SIZE_LIMIT:
            raise ValueError(f'"{path}" is larger than {_SIZE_LIMIT:,} bytes')
        return target.read_text(encoding="utf-8")
    except OSError as error:
        raise MissingError(f'cannot read "{path}": {error.strerror}') from None
    except RuntimeError:
        raise ValueError(f'cannot read "{path}": too many symbolic links') from None
    except UnicodeDecodeError:
        raise ValueError(f'"{path}" is not UTF-8 text') from None


def _replace(_: Surroundings, text: Value, old: Value, new: Value) -> Value:
    pattern, by = _text(old), _text(new)
    if len(pattern) > 1 and pattern[0] == pattern[-1] == "/":
        try:
            return substitute(pattern[1:-1], by, _text(text))
        except UsageError as error:
            raise ValueError(error.message) from None
    return _text(text).replace(pattern, by)


def _format(_: Surroundings, layout: Value, *values: Value) -> Value:
    rest = list(values)

    def one(match: re.Match[str]) -> str:
        flags, width, precision, verb = match.groups()
        if verb == "%":
            return "%"
        if len(width) > 4 or len(precision or "") > 3:
            raise ValueError(f'"{match[0]}" is too wide')
        if not rest:
            raise ValueError(f'there is no value for "{match[0]}"')
        return _verb(rest.pop(0), flags, width, precision, verb)

    text = _VERB.sub(one, _text(layout))
    if rest:
        many = "there is 1 value" if len(rest) == 1 else f"there are {len(rest)} values"
        raise ValueError(f"{many} too many for the layout")
    return text


def _verb(value: Value, flags: str, width: str, precision: str | None, verb: str) -> str:
    points = f".{precision}" if precision else ""
    if verb not in "svqtdxXofeEgG":
        raise ValueError(f'there is no "%{verb}"; use %s, %d, %f, %t, %x, %q or %%')
    if verb in "sv":
        return f"%{flags}{width}{points}s" % (_json(value) if isinstance(value, list | dict) else shown(value))
    if verb == "q":
        return f"%{flags}{width}s" % _json(value)
    is_boolean = isinstance(value, bool)
    if verb == "t" and is_boolean:
        return shown(value)
    if verb == "t" or is_boolean or not isinstance(value, int | float):
        wanted = "true or false" if verb == "t" else "a number"
        raise ValueError(f'"%{verb}" takes {wanted}, not {a_kind(value)}')
    try:
        return f"%{flags}{width}{verb}" % int(value) if verb in "dxXo" else f"%{flags}{width}{points}{verb}" % value
    except OverflowError:
        raise ValueError(f'the number is too large for "%{verb}"') from None


def _json(value: Value) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except TypeError:
        raise ValueError("a reference cannot be part of a text") from None


def _jsondecode(_: Surroundings, text: Value) -> Value:
    try:
        return json.loads(_text(text), parse_constant=_refuse_constant, parse_float=_float)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    except json.JSONDecodeError as error:
        why = error.msg[:1].lower() + error.msg[1:]
        raise ValueError(f"not JSON: {why} at line {error.lineno}, column {error.colno} of it") from None


def _refuse_constant(word: str) -> Value:
    raise ValueError(f"not JSON: {word} is no number there")


def _float(digits: str) -> float:
    if math.isfinite(value := float(digits)):
        return value
    raise ValueError(f"the number {digits[:40]} is too large")


Function = Callable[..., Value]

# The first parameter is always the surroundings.
FUNCTIONS: Mapping[str, Function] = {
    "coalesce": lambda _, *values: next((value for value in values if value is not None and value != ""), None),
    "concat": lambda _, *lists: [item for items in lists for item in _list(items)],
    "env": _env,
    "file": _file,
    "format": _format,
    "formatdate": lambda _, layout, time: format_date(_text(layout), parse_timestamp(_text(time))),
    "join": lambda _, separator, items: _text(separator).join(shown(item) for item in _list(items)),
    "jsondecode": _jsondecode,
    "lower": lambda _, text: _text(text).lower(),
    "pathexpand": _pathexpand,
    "replace": _replace,
    "split": lambda _, separator, text: _text(text).split(separator) if _text(separator) else list(_text(text)),
    "timeadd": _timeadd,
    "timestamp": lambda around: _rfc3339(around.now),
    "trimspace": lambda _, text: _text(text).strip(),
    "upper": lambda _, text: _text(text).upper(),
}


@cache
def arity(function: Function) -> tuple[int, int | None]:
    """How few and how many arguments a function takes; None for any number."""
    parameters = list(signature(function).parameters.values())[1:]
    if any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters):
        return len(parameters) - 1, None
    return sum(parameter.default is Parameter.empty for parameter in parameters), len(parameters)
