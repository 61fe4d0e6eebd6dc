"""Free text: a regex layout for lines that share a time and a few fields before their message."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tailpipe.errors import UsageError
from tailpipe.formats.lines import Multiline, Regex
from tailpipe.formats.options import check_timezone
from tailpipe.frozen import frozen
from tailpipe.infer.choices import Choices
from tailpipe.infer.find_time import LineTime, find_time
from tailpipe.infer.time_layouts import LAYOUTS, NAMED_ZONES
from tailpipe.infer.times import Basis

LEVELS = (
    "trace|verbose|debug|fine(?:r|st)?|config|info(?:rmation(?:al)?)?|notice|log|warn(?:ing)?|err(?:or)?|severe|"
    "crit(?:ical)?|alert|fatal|emerg(?:ency)?|panic|note|(?:d|sub)debug"
)
"""The words for levels, as a pattern."""
_SHORT = "trce|dbug|trc|vrb|dbg|debu|inf|wrn|eror|crt|ftl|noti|fail|crse"
_LEVEL = rf"(?P<level>(?i:{LEVELS}|{_SHORT})[0-9]?)"
_WRITTEN_LEVEL = rf"(?P<level>(?i:{LEVELS}))"
_LETTER = r"(?P<level>[VDIWEFTSCNAOR])"
_IN_BRACKETS = rf"(?P<level>(?i:{LEVELS}|{_SHORT}|system|default)[0-9]?)"
_NAME = r"[A-Za-z_$][\w$./@#-]*(?:::[\w$./@#-]+)*"
_UUID = re.compile(r"(?:\w+-)?[0-9a-f]{8}-[0-9a-f]{4}-.*|-|[0-9a-f]{16,}.*", re.DOTALL)
_SOME, _MOST, _NEARLY_ALL = 0.3, 0.9, 0.98
_MOST_FIELDS = 12
_FAR = 8
"""How many words may be before a level."""
_FEW_WORDS = 24
_OPENING = '[(<"'
_SAMPLE = 400


@frozen
class FreeText:
    """A format for lines of text, and the time that it found."""

    format: Regex
    time: LineTime | None


@dataclass
class _Reader:
    """What is left of each line, and the pattern of what was read."""

    rests: list[str]
    pattern: str = ""
    names: list[str] = field(default_factory=list)
    open: str = ""
    """What closes the bracket before the time, if that is not right after it."""

    def share(self, step: str) -> float:
        """The part of the rests that begin with a step."""
        compiled = re.compile(step)
        return sum(1 for rest in self.rests if compiled.match(rest)) / max(1, len(self.rests))

    def values(self, step: str) -> list[str]:
        """What the last group of a step takes."""
        compiled = re.compile(step)
        found = [match for rest in self.rests if (match := compiled.match(rest))]
        return [match[match.lastindex] if match.lastindex else match[0] for match in found]

    def take(self, step: str, written: str | None = None, *, is_required: bool = False) -> None:
        """Read a step; lines without it continue with what they have, and so do lines that the sample does not have."""
        compiled = re.compile(step)
        text = (written or step).replace(_LEVEL, self.level(step))
        self.pattern += text if is_required else f"(?:{text})?"
        self.rests = [rest[match.end() :] if (match := compiled.match(rest)) else rest for rest in self.rests]
        self.names += re.findall(r"\?P<(\w+)>", step)

    def level(self, step: str) -> str:
        """The pattern of a level, with the short words if a step finds any."""
        found = filter(None, (re.match(step, rest) for rest in self.rests))
        words = {match["level"] for match in found if "level" in match.groupdict()}
        return _WRITTEN_LEVEL if all(re.fullmatch(f"(?i:{LEVELS})", word) for word in words if word) else _LEVEL

    def name(self, wanted: str) -> str:
        """A name that no field has yet."""
        number, name = 2, wanted
        while name in self.names:
            name, number = f"{wanted}_{number}", number + 1
        return name


def free_text(
    lines: Sequence[str],
    encoding: str,
    basis: Basis,
    choices: Choices = Choices(),  # noqa: B008
) -> FreeText | None:
    """A format for lines that have a time, or none of them; None for no lines."""
    if not lines:
        return None
    time = find_time(lines, basis, LAYOUTS if choices.layout is None else (choices.layout,))
    if time is None:
        return _without_time(lines, encoding, choices.multiline)
    return _with_time(lines, time, encoding, choices.multiline)


def _without_time(lines: Sequence[str], encoding: str, begin: str | None) -> FreeText:
    """A format for lines that have no time; those that begin with a blank belong to the event before them."""
    events = [line for line in lines[:_SAMPLE] if not line[:1].isspace()]
    leveled = [line for line in events if re.match(_unnamed(rf"\[{_LEVEL}\]|{_LEVEL}:"), line)]
    if len(leveled) >= _SOME * len(events) and leveled[:1] == events[:1]:
        events = leveled
    is_multiline = begin is not None or (bool(events) and len(events) < len(lines[:_SAMPLE]))
    reader = _Reader(events or list(lines[:_SAMPLE]))
    _fields(reader)
    message = r"(?P<message>(?s:.*))" if is_multiline else "(?P<message>.*)"
    layout = f"^{reader.pattern}{_blanks(reader)}{message}"
    words = LEVELS if all(re.match(rf"\W?(?i:{LEVELS})\b", line) for line in leveled) else f"{LEVELS}|{_SHORT}"
    start = begin or (rf"^\[?(?i:{words})[0-9]?[\]:]" if events is leveled else r"^\S")
    multiline = Multiline(start=start) if is_multiline else None
    format = Regex(name="text", layout=layout, multiline=multiline, encoding=encoding)  # type: ignore[arg-type]
    return FreeText(format, None)


def _with_time(lines: Sequence[str], time: LineTime, encoding: str, begin: str | None) -> FreeText:
    pairs = [(line, span) for line, span in zip(lines, time.spans, strict=True) if span is not None][:_SAMPLE]
    before, prefix_names = _before([line[: span[0]] for line, span in pairs])
    seen = [line[slice(*span)] for line, span in pairs]
    text = "|".join(
        dict.fromkeys(layout.loose([one for one in seen if layout.strict.fullmatch(one)]) for layout in time.layouts)
    )
    text = f"(?P<time>{text})"
    follows = _second_lines(lines, time)
    rests = [f"{line[span[1] :]}\n{second}" for (line, span), second in zip(pairs, follows, strict=False)]
    reader = _Reader(rests or [line[span[1] :] for line, span in pairs], names=[*prefix_names, "time"])
    _after_time(reader, before)
    _fields(reader)
    is_multiline = begin is not None or any(span is None for span in time.spans)
    message = r"(?P<message>(?s:.*))" if is_multiline else "(?P<message>.*)"
    layout = f"^{before}{text}{reader.pattern}{_blanks(reader)}{message}"
    start = begin or f"^{_unnamed(before)}(?:{_unnamed(text)})"
    multiline = Multiline(start=start) if is_multiline else None
    zone = time.spelling.timezone or _zone(lines, time)
    format = Regex(name="text", layout=layout, multiline=multiline, encoding=encoding, timezone=zone)  # type: ignore[arg-type]
    return FreeText(format, time)


def _second_lines(lines: Sequence[str], time: LineTime) -> list[str]:
    """For each line with a time the line after it, if these begin with a level; nothing otherwise."""
    seconds = [
        "" if after is not None else second
        for second, span, after in zip(lines[1:], time.spans, time.spans[1:], strict=False)
        if span is not None
    ]
    levels = sum(1 for second in seconds if re.match(rf"{_LEVEL}:\s", second))
    return seconds[:_SAMPLE] if levels >= _MOST * max(1, len(seconds)) else []


def _zone(lines: Sequence[str], time: LineTime) -> str | None:
    """The zone whose short name follows the time of each line."""
    names = {
        match[1]
        for line, span in zip(lines, time.spans, strict=True)
        if span is not None and (match := re.match(r" ([A-Z]{3,5}|[A-Z][a-z]+/[A-Z][A-Za-z_/]+)\b", line[span[1] :]))
    }
    zones = set(map(_zone_of, names))
    return next(iter(zones)) if len(zones) == 1 and zones != {"UTC"} else None


def _zone_of(name: str) -> str | None:
    """The zone that a short name or a region means; None if it is none, or a name of several zones."""
    if "/" not in name:
        return NAMED_ZONES.get(name)
    try:
        check_timezone(name)
    except UsageError:
        return None
    return name


def _before(heads: Sequence[str]) -> tuple[str, list[str]]:
    """The pattern of what is before the time, and the fields in it."""
    if not any(heads):
        return "", []
    marks = sorted({head[-1:] for head in heads} & set(_OPENING))
    bare = [head[:-1] if head[-1:] in marks else head for head in heads]
    opening = "" if not marks else re.escape(marks[0]) if len(marks) == 1 else rf"[{''.join(map(re.escape, marks))}]"
    if opening and not all(head[-1:] in marks for head in heads):
        opening += "?"
    if not any(bare):
        return opening, []
    reader = _Reader(list(bare))
    while any(rest.strip() for rest in reader.rests) and len(reader.names) < _MOST_FIELDS:
        if not (_take_mark(reader) or _take_field(reader, is_prefix=True) or _take_word(reader)):
            break
    if any(rest.strip() for rest in reader.rests):
        return rf"(?P<prefix>.*?)\s*{opening}", ["prefix"]
    blanks = r"\s*" if any(reader.rests) else ""
    return reader.pattern + blanks + opening, reader.names


def _after_time(reader: _Reader, before: str) -> None:
    """Read what closes the time, and the name of a zone."""
    reader.open = {"[": r"\]", "(": r"\)", "<": ">"}.get(before[-1:], "")
    _take_closing(reader)
    names = rf"(?:{'|'.join([*NAMED_ZONES, 'CST', 'IST', 'BST'])}|[A-Z][a-z]+/[A-Z][A-Za-z_/]+)"
    found = set(reader.values(rf" ({names})\b"))
    if all("/" not in name or _zone_of(name) for name in found) and reader.share(rf" {names}\b") >= _MOST:
        reader.take(rf" (?P<zone>{names})\b", rf" (?P<zone>{'|'.join(sorted(set(reader.values(rf' ({names})'))))})")
        _take_closing(reader)
    if reader.share(r":\S") >= _MOST:
        reader.take(":")


def _take_closing(reader: _Reader) -> bool:
    """Read what closes the bracket in which the time is."""
    marks = (reader.open,) if reader.names[-1:] not in (["time"], ["zone"]) else (r"\]", r"\)", ">", '"')
    closing = next((mark for mark in marks if mark and reader.share(rf"\s*{mark}") >= _MOST), None)
    if closing is None:
        return False
    reader.take(rf"\s*{closing}:?")
    reader.open = ""
    return True


def _fields(reader: _Reader) -> None:
    """Read the fields before the message."""
    while len(reader.names) < _MOST_FIELDS and any(reader.rests):
        if reader.share(r"\s*\|") >= _NEARLY_ALL and "|" not in reader.names:
            _take_piped(reader)
        elif not (
            _take_closing(reader) or _take_mark(reader) or _take_field(reader) or _take_words_before_level(reader)
        ):
            break


def _take_mark(reader: _Reader) -> bool:
    step = r"\s*(?:-{1,9}(?=\s|\[|\()|[:|*,;](?=\s|\[|$)|={2,}(?=\s|$))"
    if reader.share(step) < _MOST:
        return False
    reader.take(step, r"\s*[-:|*,;=]*", is_required=True)
    return True


def _take_field(reader: _Reader, *, is_prefix: bool = False) -> bool:
    """Read one field that most lines have, by what it looks like."""
    for body, ahead, *written in _steps(reader, is_prefix=is_prefix):
        if reader.share(rf"\s*{body}{ahead}") >= _MOST:
            reader.take(rf"\s*{body}{ahead}", rf"\s*{written[0] if written else body}")
            return True
    return False


def _steps(reader: _Reader, *, is_prefix: bool) -> Iterator[tuple[str, ...]]:
    """What a field may look like, what must follow it, which RE2 cannot say, and how to write it if that differs."""
    end = r"(?=[\s:|,;\])]|$)"
    blank = r"(?=\s|$)"
    if "level" not in reader.names:
        logger, method = reader.name("logger"), reader.name("method")
        yield rf"(?P<{logger}>[\w.$-]+) +(?P<{method}>[^\s]+) *\n{_LEVEL}:", r"(?=\s|$)"
        for opening, closing in ((r"\[", r"\]"), (r"\(", r"\)"), ("<", ">")):
            yield rf"{opening}\s*{_IN_BRACKETS if closing != '>' else _LEVEL}\s*{closing}:?", ""
        thread, logger = reader.name("thread"), reader.name("logger")
        yield rf"\[(?P<{thread}>[^\[\]]*)/{_LEVEL}\]:?", ""
        yield rf"{_LEVEL}/(?P<{thread}>[^\s\]]+)", r"(?=[\s\]])"
        is_joined = reader.share(rf"\s*{_LEVEL}:{_NAME}:") >= _MOST
        yield rf"{_LEVEL}" if is_joined else rf"{_LEVEL}(?:\s*:)?", end
        yield rf"={_LEVEL} REPORT=+", ""
        yield rf"(?P<{logger}>[\w-]+(?:\.[\w-]+)*)\.{_LEVEL}:", blank
        yield rf"(?P<{logger}>[\w./-]+)\[{_LEVEL}\]:", blank
        yield rf"(?P<{logger}>[^\s:]\S*):\s+{_LEVEL}:", blank
        letters = set(reader.values(rf"\s*\[?{_LETTER}(?=[\s/\]:]|$)"))
        if letters & set("IWED") and len(letters) <= 8:
            if is_prefix:
                yield rf"{_LETTER}", "$"
            yield rf"\[{_LETTER}\]", ""
            yield rf"{_LETTER}/(?P<{reader.name('logger')}>[^\s(:]+)\s*\(\s*(?P<{reader.name('pid')}>\d+)\):", ""
            yield rf"{_LETTER}[/:]", ""
            yield rf"{_LETTER}\s", ""
    elif reader.names[-1:] == ["level"]:
        yield rf":(?P<{reader.name('logger')}>[\w.$-]+):", ""
    yield rf"(?P<{reader.name('thread')}>\d+)\[(?P<{reader.name('logger')}>[A-Z]+)\]", blank
    yield from _brackets(reader)
    pid, logger = reader.name("pid"), reader.name("logger")
    yield rf"(?P<{pid}>\d+)\s+(?P<{reader.name('tid')}>\d+)\s", r"(?=\s*[A-Z]\s)"
    yield rf"(?P<{pid}>\d+)(?:#\d+)?:", blank
    if not is_prefix:
        number = "pid" if reader.share(rf"\s*\d+\s+\[?{_LEVEL}\b") >= _MOST else "number"
        yield rf"(?P<{reader.name(number)}>\d+)\s", ""
    yield rf"(?P<{reader.name('ip')}>\d{{1,3}}(?:\.\d{{1,3}}){{3}})", r"(?=[\s:]|$)"
    yield rf"(?P<{logger}>[\w.$-]+(?::[\w<>$-]+)?:\d+)\s+-", blank
    yield rf"(?P<{logger}>[\w./-]+:\d+)\]", blank
    yield rf"(?P<{reader.name('topics')}>[a-z0-9-]+(?:,!?[a-z0-9-]+)+)", blank
    source = r"[^\s\[\]{}\"=:-][^\[\]{}\"=:|]{0,40}?"
    if not is_prefix and reader.share(rf"\s*{source} - ") >= _NEARLY_ALL:
        is_name = all(re.fullmatch(_NAME, value.strip()) for value in reader.values(rf"\s*({source}) - "))
        yield rf"(?P<{logger if is_name else reader.name('source')}>{source})\s+- ", ""
    if reader.share(r"\s*[^\s:\[\]]+\[\d+\]:(?=\s|$)") >= _SOME:
        yield rf"(?P<{logger}>[^\s:\[\]]+)(?:\[(?P<{pid}>\d+)\])?:", blank
    yield (
        rf"(?P<{logger}>[A-Za-z_][\w$-]*(?:(?:[./$#]|::)[\w$-]+)+(?::\d+)?)\s*:",
        blank,
        rf"(?P<{logger}>[^\s:]+(?::\d+)?)\s*:",
    )
    if reader.names[-1:] == ["level"]:
        yield rf"(?P<{logger}>[\w.]+\[\d+\])", blank
    if reader.open:
        yield rf"(?P<{logger}>[\w:.$-]+)", rf"(?=\s*{reader.open})"
    if "level" in reader.names and "source" not in reader.names:
        yield rf"(?P<{logger}>[A-Za-z_][\w$-]*(?:(?:[./$#]|::)[\w$-]+)+(?::\d+)?)", rf"(?=\s|$|{reader.open or '$'})"
    yield rf"(?P<{logger}>{_NAME}(?: \([^()]*\))?)\s*:", blank
    if not is_prefix:
        words = reader.values(r"\s*([A-Za-z][\w.-]*)(?=\s{2,})")
        if len(words) >= _NEARLY_ALL * len(reader.rests) and len(set(words)) <= _FEW_WORDS:
            yield rf"(?P<{reader.name('component')}>[A-Za-z][\w.-]*)\s\s+", ""


def _brackets(reader: _Reader) -> Iterator[tuple[str, str]]:
    """What is in brackets, which may contain brackets."""
    for begin, end in ((r"\[", r"\]"), (r"\(", r"\)"), ("<", ">"), (r"\{", r"\}")):
        if reader.share(rf"\s*{begin}") < _MOST:
            continue
        flat = rf"{begin}[^{begin}{end}]*{end}"
        is_nested = reader.share(rf"\s*{flat}") < 1
        inside = rf"[^{begin}{end}]*(?:{flat}[^{begin}{end}]*)*" if is_nested else rf"[^{begin}{end}]*"
        name = reader.name(_bracket_name(reader.values(rf"\s*{begin}({inside}){end}")))
        if is_nested and reader.share(rf"\s*{begin}.*?{end} - ") >= _NEARLY_ALL:
            yield rf"{begin}(?P<{name}>.*?){end} - ", ""
        yield rf"{begin}(?P<{name}>{inside}){end}:?", ""


def _bracket_name(values: Sequence[str]) -> str:
    """A name for what brackets hold."""
    given = [value.strip() for value in values if value.strip()]
    if given and all(value.isdecimal() for value in given):
        return "pid"
    if given and all(map(_UUID.fullmatch, given)):
        return "request_id"
    if given and all(re.fullmatch(r"[A-Za-z_][\w$]*(?:\.[\w$]+)+", value) for value in given):
        return "logger"
    if given and all(re.fullmatch(r"[^\s=:]+:\d+", value) for value in given):
        return "location"
    return "thread"


def _take_words_before_level(reader: _Reader) -> bool:
    """Read the words before a level or a program that all lines have at the same place."""
    level = re.compile(rf"(?:[\[(<]?{_LEVEL}[\])>:,|]?|\[?[A-Z]\]?)$" if "level" not in reader.names else r"$.")
    program = re.compile(r"[^\s:\[\]]+\[\d+\]:$")
    rows = [rest.split(maxsplit=_FAR + 1)[: _FAR + 1] for rest in reader.rests]
    for place in range(1, _FAR + 1):
        words = [row[place] for row in rows if len(row) > place]
        programs = sum(map(bool, map(program.match, words))) >= _SOME * len(rows)
        is_mark = len(words) >= _NEARLY_ALL * len(rows) and len(set(words)) == 1 and set(words[0]) in ({"|"}, {"-"})
        likely = [word for word in words if level.match(word) or is_mark or (programs and word.endswith(":"))]
        if len(likely) >= _NEARLY_ALL * len(rows):
            for _ in range(place):
                _take_word(reader)
            return True
    return False


def _take_word(reader: _Reader) -> bool:
    """Read a word, whatever it is."""
    step = r"\s*(\S+)(?=\s|$)"
    if reader.share(step) < _NEARLY_ALL:
        return False
    name = reader.name(_word_name(reader.values(step)))
    reader.take(rf"\s*(?P<{name}>\S+)(?=\s|$)", rf"\s*(?P<{name}>\S+)")
    return True


def _word_name(values: Sequence[str]) -> str:
    if all(re.fullmatch(r"\d{4}[.-]\d\d[.-]\d\d", value) for value in values):
        return "date"
    if all(re.fullmatch(r"\d+", value) for value in values):
        return "number"
    if all(re.fullmatch(r"\d\d:\d\d(?::\d\d)?", value) for value in values):
        return "clock"
    if len(Counter(values)) <= _FEW_WORDS and all(re.fullmatch(r"[A-Z][A-Z_]+", value) for value in values):
        return "component"
    if all(re.fullmatch(r"[A-Za-z0-9][\w.:-]*\d[\w.:-]*", value) for value in values):
        return "node"
    return "word"


def _take_piped(reader: _Reader) -> None:
    """Read the fields between bars; the last is the message."""
    counts = Counter(rest.count("|") for rest in reader.rests)
    fields = min(count for count, lines in counts.items() if lines >= 0.02 * len(reader.rests))
    for place in range(fields - 1):
        values = reader.values(r"\s*\|\s*([^|]*?)\s*(?=\|)")
        is_level = "level" not in reader.names and all(re.fullmatch(_LEVEL, value) for value in values)
        wanted = "level" if is_level else "pid" if all(v.isdecimal() for v in values) else f"field_{place + 1}"
        name = reader.name(wanted)
        step = rf"\s*\|\s*(?P<{name}>[^|]*?)\s*"
        reader.take(step + r"(?=\|)", step, is_required=True)
    reader.take(r"\s*\|", is_required=True)
    reader.names.append("|")


def _blanks(reader: _Reader) -> str:
    return r"\s*" if reader.pattern or any(rest[:1].isspace() for rest in reader.rests) else ""


def _unnamed(pattern: str) -> str:
    return re.sub(r"\?P<\w+>", "?:", pattern)
