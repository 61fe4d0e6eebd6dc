"""Event formats of security appliances: CEF of ArcSight, and LEEF of QRadar, with a syslog header or without.

Fields of the header have names of their own. Each pair of the extension is a field by its own key, and `extension` has
all of them as JSON. A text before the format's name is the syslog header, as `syslog_header`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_CEF_HEADER = (*("device_vendor", "device_product", "device_version", "device_event_class_id", "name", "severity"),)
_LEEF_HEADER = ("device_vendor", "device_product", "device_version", "event_id")
_CEF = re.compile(r"(?:(.*?)\s)?CEF:\s?(\d+(?:\.\d+)?)\|", re.DOTALL)
_LEEF = re.compile(r"(?:(.*?)\s)?LEEF:\s?(1\.0|2\.0)\|", re.DOTALL)
_PART = re.compile(r"((?:[^|\\]|\\.)*)\|", re.DOTALL)
_KEY = re.compile(r"(?:^|\s)([A-Za-z0-9_.\[\]-]+)=")
_ESCAPE = re.compile(r"\\([\\|=nr])")
_HEX_DELIMITER = re.compile(r"(?:0x|x)([0-9A-Fa-f]{1,4})")
_PLAIN = {"n": "\n", "r": "\r"}
_RESERVED = frozenset({"extension", "syslog_header", "cef_version", "leef_version", *_CEF_HEADER, *_LEEF_HEADER})
_LABELLED = {
    *("cn1", "cn2", "cn3", "cs1", "cs2", "cs3", "cs4", "cs5", "cs6", "cfp1", "cfp2", "cfp3", "cfp4"),
    *("deviceCustomDate1", "deviceCustomDate2", "flexString1", "flexString2", "flexNumber1", "flexNumber2"),
    *("flexDate1", "c6a1", "c6a2", "c6a3", "c6a4"),
}
"""Keys whose meaning another key, with `Label` behind it, says."""


def cef_event(line: str) -> Mapping[str, Any]:
    """The fields of a CEF event; a `ValueError` says why there are none."""
    found = _CEF.match(line)
    if found is None:
        raise ValueError("has no header CEF:0|…")
    values, rest = _header(line, found.end(), len(_CEF_HEADER), "CEF")
    pairs = _cef_pairs(rest)
    labels = {key: pairs[f"{key}Label"] for key in pairs if key in _LABELLED and pairs.get(f"{key}Label")}
    named = {label: pairs[key] for key, label in labels.items() if label not in pairs}
    return {
        "syslog_header": found[1] or None,
        "cef_version": found[2],
        **dict(zip(_CEF_HEADER, values, strict=True)),
        **_fields(pairs),
        "extension": {**pairs, **named},
    }


def leef_event(line: str) -> Mapping[str, Any]:
    """The fields of a LEEF event; a `ValueError` says why there are none."""
    found = _LEEF.match(line)
    if found is None:
        raise ValueError("has no header LEEF:1.0|… or LEEF:2.0|…")
    values, rest = _header(line, found.end(), len(_LEEF_HEADER), "LEEF")
    delimiter = "\t"
    if found[2] == "2.0":
        delimiter, rest = _delimiter(rest)
    pairs: dict[str, str] = {}
    for pair in rest.split(delimiter):
        key, sign, value = pair.partition("=")
        if sign and key.strip():
            pairs.setdefault(key.strip(), value)
    return {
        "syslog_header": found[1] or None,
        "leef_version": found[2],
        **dict(zip(_LEEF_HEADER, values, strict=True)),
        **_fields(pairs),
        "extension": pairs,
    }


def _header(line: str, place: int, count: int, what: str) -> tuple[list[str], str]:
    """The parts of the header, and what follows it."""
    values: list[str] = []
    for _ in range(count):
        part = _PART.match(line, place)
        if part is None:
            if len(values) == count - 1:  # without an extension, the last bar may be missing
                return [*values, _unescaped(line[place:])], ""
            raise ValueError(f"the header of {what} is cut off")
        values.append(_unescaped(part[1]))
        place = part.end()
    return values, line[place:]


def _cef_pairs(text: str) -> dict[str, str]:
    """A value goes on to the next key, whatever blanks it holds; `=` in it is escaped."""
    keys = list(_KEY.finditer(text))
    ends = [*(key.start() for key in keys[1:]), len(text)]
    pairs: dict[str, str] = {}
    for key, end in zip(keys, ends, strict=False):
        pairs.setdefault(key[1], _unescaped(text[key.end() : end].rstrip(" ")))
    return pairs


def _delimiter(rest: str) -> tuple[str, str]:
    """The character between pairs of LEEF 2.0: itself, as hex digits, or a tab if the header does not say."""
    given, bar, after = rest.partition("|")
    if found := _HEX_DELIMITER.fullmatch(given):
        return chr(int(found[1], 16)), after
    if bar and len(given) <= 1:
        return given or "\t", after
    return "\t", rest


def _fields(pairs: Mapping[str, str]) -> dict[str, str]:
    """The pairs as fields; one with the name of another field has `_` behind it."""
    return {f"{key}_" if key.lower() in _RESERVED else key: value for key, value in pairs.items()}


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda escape: _PLAIN.get(escape[1], escape[1]), text) if "\\" in text else text
