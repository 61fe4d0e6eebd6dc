"""Free text: a regular expression for lines that share a time and a few fields before their message."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tailpipe.formats.lines import Multiline, Regex
from tailpipe.infer.times import TIMES_IN_TEXT

_NEAR = 60
"""The time stands among the first characters of a line."""
_ALL = 0.98
_MOST = 0.9
"""The part of the lines that must have all fields of the layout; a broken line among them is rejected later."""
_SOME = 0.3
LEVELS = "TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|ERR|CRIT|CRITICAL|ALERT|FATAL|EMERG|PANIC|SEVERE|FINE|LOG"
_LONGEST_FIRST = sorted(LEVELS.split("|"), key=len, reverse=True)
_ANY_LEVEL = "|".join([*_LONGEST_FIRST, *(level.lower() for level in _LONGEST_FIRST)])
_LOGGER = r"[A-Za-z_][\w$]*(?:[./:][\w$-]+)+"
_MOST_FIELDS = 6

_TOKENS: tuple[tuple[str, str], ...] = (
    ("level", rf"\[(?P<level>{_ANY_LEVEL})\]:?"),
    ("level", rf"(?P<level>{_ANY_LEVEL}):?(?= |$)"),
    ("pid", r"\[(?P<pid>\d+)\]:?"),
    ("pid", r"(?P<pid>\d+)(?:#\d+)?:"),
    ("thread", r"\[(?P<thread>[^\]\[]*)\]:?"),
    ("logger", rf"(?P<logger>{_LOGGER}):?(?= |$)"),
    ("ip", r"(?P<ip>\d{1,3}(?:\.\d{1,3}){3})(?= |:|$)"),
    ("thread", r"\((?P<thread>[^()]*)\):?"),
    ("", r"[-:|*]"),
)
"""Fields that may stand before the message; the first that all lines have is taken, again and again."""


def free_text(lines: Sequence[str], encoding: str) -> tuple[Regex, bool] | None:
    """A format for lines that begin with a time, or that have none: whether they have one. None for no lines."""
    if not lines:
        return None
    whole = sum(1 for line in lines if not line[:1].isspace())  # others go on with an event
    for time in TIMES_IN_TEXT:
        pattern = re.compile(time)
        starts = [match for line in lines if (match := pattern.search(line[: _NEAR + 40])) and match.start() <= _NEAR]
        if len(starts) >= max(1, _SOME * whole) and _begins(lines[0], pattern):
            return _with_time(lines, time, [match.start() for match in starts], encoding), True
    layout = rf"^{_fields(list(lines))}(?P<message>.*)"
    return Regex(name="text", layout=layout, encoding=encoding), False  # type: ignore[arg-type]


def _begins(line: str, time: re.Pattern[str]) -> bool:
    match = time.search(line[: _NEAR + 40])
    return match is not None and match.start() <= _NEAR


def _with_time(lines: Sequence[str], time: str, starts: Sequence[int], encoding: str) -> Regex:
    prefix = _prefix(starts, lines, time)
    begin = re.compile(f"^{prefix}(?P<time>{time})")
    rests = [line[match.end() :] for line in lines if (match := begin.match(line))]
    is_multiline = len(rests) < len(lines)
    closing = r"\]?" if any(rest.startswith("]") for rest in rests) else ""
    rests = [rest.removeprefix("]") for rest in rests] if closing else rests
    zone = r"(?: (?P<zone>[A-Z]{3,4}))?" if _has_zone_name(rests) else ""
    if zone:
        rests = [re.sub(r"^ [A-Z]{3,4}(?= |,)", "", rest) for rest in rests]
    message = "(?P<message>(?s:.*))" if is_multiline else "(?P<message>.*)"
    layout = f"^{prefix}(?P<time>{time}){closing}{zone}{_fields(rests)}{message}"
    multiline = Multiline(start=f"^{_unnamed(prefix)}(?:{time})") if is_multiline else None
    return Regex(name="text", layout=layout, multiline=multiline, encoding=encoding)  # type: ignore[arg-type]


def _prefix(starts: Sequence[int], lines: Sequence[str], time: str) -> str:
    """The text before the time: nothing, a bracket, or words."""
    if not any(starts):
        return ""
    heads = {line[: match.start()] for line in lines if (match := re.search(time, line[: _NEAR + 40]))}
    if heads <= {"[", ""}:
        return r"\[?"
    return r"(?P<prefix>\S+(?: \S+)*?) \[?" if all(" " in head.rstrip("[") for head in heads if head) else r"\S*?"


def _unnamed(pattern: str) -> str:
    return re.sub(r"\?P<\w+>", "?:", pattern)


def _has_zone_name(rests: Sequence[str]) -> bool:
    """Whether a short name of a zone follows the time, such as CEST."""
    levels = set(LEVELS.split("|"))
    found = [match[1] for rest in rests if (match := re.match(r" ([A-Z]{3,4})(?= |,)", rest))]
    return len(found) >= _ALL * len(rests) and bool(rests) and not levels & set(found)


def _fields(rests: list[str]) -> str:
    """The fields before the message in most lines, as a pattern."""
    pattern, taken, least = "", set[str](), _MOST * len(rests)
    while len(taken) < _MOST_FIELDS and rests:
        blank = r"\s+" if pattern else r"\s*"
        found = next((s for name, s in _TOKENS if name not in taken and _count(blank + s, rests) >= least), None)
        if found is None:
            break
        name = next((name for name, step in _TOKENS if step == found), "")
        blank = r"\s+" if pattern or _count(r"\s", rests) >= least else r"\s*"
        pattern += blank + _open(found)
        compiled = re.compile(blank + found)
        rests = [rest[match.end() :] for rest in rests if (match := compiled.match(rest))]
        taken.add(name or f"mark {len(taken)}")
    return pattern + (r"\s*" if pattern or any(rest[:1].isspace() for rest in rests) else "")


def _open(step: str) -> str:
    """A field as the layout has it: a level or a logger that the sample does not have is one, too."""
    for seen, any_such in ((_ANY_LEVEL, r"[A-Za-z]+"), (rf"{_LOGGER}):?", r"\S*[^\s:]):?")):
        step = step.replace(seen, any_such)
    return step.replace("(?= |$)", "").replace("(?= |:|$)", "")  # RE2 looks neither ahead nor back


def _count(step: str, rests: Sequence[str]) -> int:
    compiled = re.compile(step)
    return sum(1 for rest in rests if compiled.match(rest))
