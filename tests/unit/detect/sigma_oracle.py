"""An evaluator of Sigma rules over raw events, written from the specification: it shares nothing with ours."""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import yaml

Event = Mapping[str, Any]
_TOKEN = re.compile(r"\(|\)|[^\s()]+")


def found(rule: str, events: Sequence[Event], values: Mapping[str, Sequence[str]], text: str) -> list[int]:
    """The numbers of the events that a rule finds; `text` is the field for keywords."""
    detection = yaml.safe_load(rule)["detection"]
    condition = detection.pop("condition")
    conditions = condition if isinstance(condition, list) else [condition]

    def is_found(event: Event) -> bool:
        truth = {name: _selection(body, event, values, text) for name, body in detection.items()}
        return any(_Reader(one, truth).whole() for one in conditions)

    return [number for number, event in enumerate(events) if is_found(event)]


def _selection(body: Any, event: Event, values: Mapping[str, Sequence[str]], text: str) -> bool:
    if isinstance(body, dict):
        return all(_item(key, wanted, event, values) for key, wanted in body.items())
    if isinstance(body, list) and any(isinstance(one, dict) for one in body):
        return any(_selection(one, event, values, text) for one in body)
    words = body if isinstance(body, list) else [body]
    return any(_glob(f"*{word}*", str(value), is_cased=False) for word in words for value in _values(event, text))


def _item(key: str, wanted: Any, event: Event, values: Mapping[str, Sequence[str]]) -> bool:
    name, *modifiers = key.split("|")
    there = [value for value in _values(event, name) if value is not None]
    if "exists" in modifiers:
        return bool(there) == bool(wanted)
    options = wanted if isinstance(wanted, list) else [wanted]
    combine: Callable[[Iterator[bool]], bool] = all if "all" in modifiers else any
    return combine(_one(option, there, modifiers, event, values) for option in options)


def _one(
    wanted: Any, there: Sequence[Any], modifiers: Sequence[str], event: Event, values: Mapping[str, Sequence[str]]
) -> bool:
    if wanted is None:
        return not there
    if "expand" in modifiers:
        return any(_match(value, one, modifiers) for one in values[wanted.strip("%")] for value in there)
    if "fieldref" in modifiers:
        others = [value for value in _values(event, wanted) if value is not None]
        return any(_text(value).lower() == _text(other).lower() for value in there for other in others)
    return any(_match(value, wanted, modifiers) for value in there)


def _match(value: Any, wanted: Any, modifiers: Sequence[str]) -> bool:
    if "re" in modifiers:
        return re.search(wanted, _text(value), re.IGNORECASE if "i" in modifiers else 0) is not None
    if "cidr" in modifiers:
        try:
            return ipaddress.ip_address(_text(value)) in ipaddress.ip_network(wanted)
        except ValueError:
            return False
    if compare := set(modifiers) & {"lt", "lte", "gt", "gte"}:
        try:
            number = float(value)
        except (TypeError, ValueError):
            return False
        outcomes = {"lt": number < wanted, "lte": number <= wanted, "gt": number > wanted, "gte": number >= wanted}
        return bool(outcomes[compare.pop()])
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        try:
            return float(_text(value)) == wanted
        except ValueError:
            return False
    pattern = _text(wanted)
    if "contains" in modifiers:
        pattern = f"*{pattern}*"
    pattern = f"{pattern}*" if "startswith" in modifiers else f"*{pattern}" if "endswith" in modifiers else pattern
    return _glob(pattern, _text(value), is_cased="cased" in modifiers)


def _glob(pattern: str, value: str, *, is_cased: bool) -> bool:
    """A pattern of Sigma: * and ? are wildcards unless a backslash stands before them."""
    regex, place = "", 0
    while place < len(pattern):
        sign = pattern[place]
        if sign == "\\" and pattern[place + 1 : place + 2] in ("*", "?", "\\"):
            regex += re.escape(pattern[place + 1])
            place += 1
        else:
            regex += {"*": ".*", "?": "."}.get(sign, re.escape(sign))
        place += 1
    return re.fullmatch(regex, value, re.DOTALL | (0 if is_cased else re.IGNORECASE)) is not None


def _values(value: Any, path: str) -> list[Any]:
    """The values at a path, looking into every object of a list."""
    first, _, rest = path.partition(".")
    if isinstance(value, list):
        return [inner for one in value for inner in _values(one, path)]
    if not isinstance(value, dict) or first not in value:
        return []
    inner = value[first]
    if rest:
        return _values(inner, rest)
    return list(inner) if isinstance(inner, list) else [inner]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class _Reader:
    """The condition of a rule, read by recursive descent."""

    def __init__(self, text: str, truth: Mapping[str, bool]) -> None:
        self.tokens, self.truth = _TOKEN.findall(text), truth

    def whole(self) -> bool:
        result = self._either()
        assert not self.tokens
        return result

    def _either(self) -> bool:
        result = self._both()
        while self.tokens[:1] == ["or"]:
            self.tokens.pop(0)
            result = self._both() or result
        return result

    def _both(self) -> bool:
        result = self._single()
        while self.tokens[:1] == ["and"]:
            self.tokens.pop(0)
            result = self._single() and result
        return result

    def _single(self) -> bool:
        word = self.tokens.pop(0)
        if word == "not":
            return not self._single()
        if word == "(":
            result = self._either()
            assert self.tokens.pop(0) == ")"
            return result
        if self.tokens[:1] == ["of"]:
            self.tokens.pop(0)
            pattern = self.tokens.pop(0)
            names = [one for one in self.truth if pattern == "them" or fnmatch.fnmatchcase(one, pattern)]
            return (all if word == "all" else any)(self.truth[name] for name in names)
        return self.truth[word]
