"""From the body of an answer to records: JSON or lines of JSON, paths into it, keys and times of records."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.message import Message
from typing import Any, Literal, NamedTuple

from tailpipe.plugin import TailpipeError, UsageError
from tailpipe.plugins.http.messages import Answer, CutError, excerpt, shown

Body = Literal["auto", "json", "ndjson"]

_CHARSETS = ("iso-8859-1", "latin1", "windows-1252", "utf-16", "utf-16le", "utf-16be", "utf-32")
"""What a text is decoded by if the answer names it; JSON is UTF-8 otherwise."""
_LINES = ("ndjson", "jsonl", "json-seq", "jsonlines")
_EPOCHS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""From these numbers on, a time is in billionths, millionths or thousandths of a second."""


class Page(NamedTuple):
    """One answer, read: its records, and what leads to the next one."""

    records: Sequence[Any]
    body: Any
    headers: Message


def page_of(answer: Answer, url: str, paths: Sequence[str], kind: Body) -> Page:
    """The page of an answer; `paths` are where its records may be, the first that is there counts."""
    try:
        body = _parsed(answer, url, kind)
    except RecursionError:
        raise TailpipeError(f"{shown(url)}: the response is nested too deeply") from None
    return Page(records_of(body, paths, url), body, answer.headers)


def _parsed(answer: Answer, url: str, kind: Body) -> Any:
    if not answer.body.strip():
        return []
    charset = (answer.headers.get_content_charset() or "").replace("_", "-")
    text = answer.body.decode(charset if charset in _CHARSETS else "utf-8-sig", "replace").removeprefix("\ufeff")
    content_type = answer.headers.get("Content-Type", "").lower()
    is_lines = kind == "ndjson" or (kind == "auto" and any(one in content_type for one in _LINES))
    try:
        if not is_lines:
            return json.loads(text)
    except ValueError as error:
        if kind == "json" or not _may_be_lines(text):
            raise _wrong(answer, url, str(error)) from None
    try:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise _wrong(answer, url, str(error)) from None


def _may_be_lines(text: str) -> bool:
    first, _, rest = text.strip().partition("\n")
    return bool(rest) and first.startswith("{") and first.rstrip().endswith("}")


def _wrong(answer: Answer, url: str, why: str) -> Exception:
    if not answer.is_delimited:  # only the end of the connection has ended it: perhaps too early
        return CutError("the response is not JSON; perhaps it was cut")
    kind = answer.headers.get_content_type()
    return TailpipeError(
        f"{shown(url)}: the response is not JSON ({kind}, {why.split(':')[0]}): {excerpt(answer.body)}"
    )


def records_of(body: Any, paths: Sequence[str], url: str) -> Sequence[Any]:
    """The list of records in a body; one that has none of them, but other lists, is an error and not an empty page."""
    for path in paths or ("",):
        found = body if path == "" else lookup(body, path)
        if isinstance(found, list):
            return found
        if isinstance(found, Mapping) and path:
            return [found]
        if isinstance(found, Mapping) and not _says_error(found):
            return [found] if found else []
    if isinstance(body, Mapping):
        if (reported := _says_error(body)) is not None:
            raise TailpipeError(f"{shown(url)} returned an error: {excerpt(json.dumps(reported).encode())}")
        lists = [str(name) for name, value in body.items() if isinstance(value, list) and value]
        if lists:
            wanted = " or ".join(f'"{path}"' for path in paths)
            raise TailpipeError(
                f"{shown(url)}: the response has no list {wanted}; it has: {', '.join(lists[:10])}",
                hint='correct "records" of the source',
            )
        return []
    if body is None or body == []:
        return []
    raise TailpipeError(f"{shown(url)}: the response is not a list of records", hint='set "records" of the source')


def _says_error(body: Mapping[str, Any]) -> Any:
    """What an answer calls its error, if it is one: some services send errors as successes."""
    return next((body[name] for name in ("error", "errors") if body.get(name)), None)


def lookup(value: Any, path: str) -> Any:
    """The value at a path such as `data.items`, or None; a key may have dots itself, and a number is a place."""
    if isinstance(value, Mapping):
        if path in value:
            return value[path]
        for key, rest in _splits(path):
            if key in value and (found := lookup(value[key], rest)) is not None:
                return found
        return None
    if isinstance(value, list):
        number, _, rest = path.partition(".")
        if not number.lstrip("-").isdigit() or not -len(value) <= int(number) < len(value):
            return None
        return lookup(value[int(number)], rest) if rest else value[int(number)]
    return None


def _splits(path: str) -> list[tuple[str, str]]:
    """The path cut at each dot that has something on both sides."""
    return [(path[: dot.start()], path[dot.end() :]) for dot in re.finditer(r"(?<=.)\.(?=.)", path)]


def placed(value: Any, path: str, item: Any) -> Any:
    """The value with an item at a path, where `lookup` finds it: instead of the value there, otherwise nested.

    A dot is literal where the value has a key with it. A path through a text or a number is an error.
    """
    if not path:
        return item
    if isinstance(value, Mapping):
        return {**value, **_placed_in_map(value, path, item)}
    if isinstance(value, list | tuple):
        number, _, rest = path.partition(".")
        if number.removeprefix("-").isdecimal() and -len(value) <= int(number) < len(value):
            place = int(number) % len(value)
            return [*value[:place], placed(value[place], rest, item), *value[place + 1 :]]
    elif value is None:
        return placed({}, path, item)
    what = "a list" if isinstance(value, list | tuple) else json.dumps(value)
    raise UsageError(f'"{path}" has no place in {what}', hint="correct body of the pagination, or body of the source")


def _placed_in_map(value: Mapping[str, Any], path: str, item: Any) -> dict[str, Any]:
    """The one entry of a map that changes."""
    if path in value:
        return {path: item}
    if not (splits := _splits(path)):
        return {path: item}
    known = [(key, rest) for key, rest in splits if key in value]
    holding = [pair for pair in known if isinstance(value[pair[0]], Mapping | list | tuple)]
    finding = [pair for pair in holding if lookup(value[pair[0]], pair[1]) is not None]
    key, rest = (*finding, *holding, *known, *splits)[0]
    return {key: placed(value.get(key), rest, item)}


def key_of(record: Any, paths: Sequence[str]) -> str:
    """What identifies a record: the values at the paths, or all of it; empty if it has none of them."""
    if not paths:
        text = json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    parts = [_plain(lookup(record, path)) for path in paths]
    if not any(parts):
        return ""
    # Escaped, so that no two lists of parts are the same text.
    return parts[0] if len(parts) == 1 else "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


def _plain(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def moment_of(value: Any) -> datetime | None:
    """A time: RFC 3339, or a number since 1970 in seconds or parts of them; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return _written(value) if isinstance(value, str) else None
    divisor = next((divisor for least, divisor in _EPOCHS if abs(number) >= least), 1.0)
    try:
        return datetime.fromtimestamp(number / divisor, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _written(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
