"""Guess a format: what a sample looks like says which formats to try, and how much they read says which it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from tailpipe.formats.records import Json
from tailpipe.frozen import frozen
from tailpipe.infer.choices import Choices
from tailpipe.infer.delimited import separated
from tailpipe.infer.free_text import LEVELS, free_text
from tailpipe.infer.point import Point, guessed, sure
from tailpipe.infer.records import documents_in, record_path, records_in_lines
from tailpipe.infer.sample import Sample
from tailpipe.infer.time_layouts import DATED
from tailpipe.infer.times import Basis
from tailpipe.infer.trial import Fit, fit
from tailpipe.model.format import Format
from tailpipe.model.nearest import named

_ENOUGH = 0.95
_MOST = 0.7
_HALF = 0.5
_PAIRS = re.compile(r'(?:\S+ ){0,3}(?:[A-Za-z_][\w./@-]*=(?:"(?:[^"\\]|\\.)*"|[^\s"]*)(?:\s+|$)){2,}')
SYSLOG = r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S*[^\s:] [^\s:\[]+(?:\[\d+\])?(?: \(.*?\))?:"
SYSLOG_ISO = rf"\d{{4}}-\d\d-\d\dT\S*[^\s:] (?!(?i:{LEVELS})\b)[\w.-]+ [\w./-]+(?:\[\d+\])?:"
"""How lines of syslog begin that have no priority."""
_SIGNS: tuple[tuple[str, str], ...] = (
    (r"type=\w+ msg=audit\(|node=\S+ type=\w+ msg=audit\(", "auditd.default"),
    (r".*\bCEF:\d+\|", "cef.default"),
    (r".*\bLEEF:[12]\.0\|", "leef.default"),
    (r"\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP]\b", "cri.default"),
    (r'\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:[^\]]+\] "[^"]*" \d+ \S+ "[^"]*" "[^"]*"$', "apache_access_log.combined"),
    (r'\S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:[^\]]+\] "[^"]*" \d+ \S+$', "apache_access_log.common"),
    (r'\S+:\d+ \S+ \S+ \S+ \[\d\d/\w{3}/\d{4}:[^\]]+\] "[^"]*" \d+ \S+ "', "apache_access_log.vhost_combined"),
    (r"<\d{1,3}>", "syslog.default"),
    (SYSLOG, "syslog.default"),
    (SYSLOG_ISO, "syslog.default"),
)
"""How lines begin that a format of their own reads, with the preset."""


def _begins_with_time(line: str) -> bool:
    """Whether a line begins with a time that is no value of a pair."""
    head = line[:60].partition("=")[0]
    return any(one.strict.match(head) for one in DATED)


@frozen
class Guess:
    """A format that reads a sample, how much of it, and what is to say of it. `has_time` is whether rows have one."""

    format: Format
    fit: Fit
    points: tuple[Point, ...]
    has_time: bool = True


def guess_format(
    sample: Sample,
    presets: Mapping[str, Format],
    now: datetime,
    choices: Choices = Choices(),  # noqa: B008
) -> Guess | None:
    """The format that reads a sample; None if nothing reads half of it.

    A format that the lines show signs of needs to read less than one that could read many logs.
    """
    if choices.format is not None:
        chosen = _spoken(named("format", choices.format, presets), sample)
        return Guess(chosen, fit(chosen, sample, now), (sure(f"format {choices.format}, as requested"),))
    signed = [Guess(format, fit(format, sample, now), points) for format, points in _signed(sample, presets, choices)]
    best = max(signed, key=lambda one: one.fit.share, default=None)
    if best is not None and best.fit.share >= _MOST:
        return best
    for format, points, has_time in _unsigned(sample, presets, now, choices):
        made = Guess(format, fit(format, sample, now), points, has_time)
        if made.fit.share >= _ENOUGH:
            return made
        if made.fit.share >= _HALF and (best is None or made.fit.share > best.fit.share + 0.1):
            best = made
    return best if best is not None and best.fit.share >= _HALF else None


def _signed(
    sample: Sample, presets: Mapping[str, Format], choices: Choices
) -> Iterator[tuple[Format, tuple[Point, ...]]]:
    if sample.encoding is None:
        for name in ("parquet.default", "evtx.default"):
            yield presets[name], (sure(f"a {name.partition('.')[0]} file"),)
        return
    yield from _json(sample, presets)
    if choices.layout is None and choices.multiline is None:
        yield from _signs(sample, presets)


def _unsigned(
    sample: Sample, presets: Mapping[str, Format], now: datetime, choices: Choices
) -> Iterator[tuple[Format, tuple[Point, ...], bool]]:
    if sample.encoding is None:
        return
    lines = sample.lines
    if choices.multiline is None:
        if sum(1 for line in lines[:50] if _PAIRS.fullmatch(line + " ")) > _HALF * min(50, len(lines)) and not any(
            map(_begins_with_time, lines[:1])
        ):
            yield _spoken(presets["logfmt.default"], sample), (sure("lines of key=value pairs"),), True
        found = separated(lines, sample.encoding)
        layout = choices.layout
        if found is not None and (layout is None or any(map(layout.strict.fullmatch, found.cells))):
            yield found.format, found.points, True
    text = free_text(lines, sample.encoding, Basis(now, sample.artifact.modified), choices)
    if text is not None:
        shared = "free text: the layout takes the fields that all lines share, the rest is message"
        points = (guessed(shared if text.time else "lines of text without a time, or of several kinds"),)
        yield text.format, points, text.time is not None


def _json(sample: Sample, presets: Mapping[str, Format]) -> Iterator[tuple[Format, tuple[Point, ...]]]:
    if sample.text.lstrip()[:1] not in ("{", "["):
        return
    records, looked_at = records_in_lines(sample)
    if records and len(records) >= _HALF * looked_at and (looked_at > 1 or record_path(records) is None):
        keys = set(records[0])
        if {"log", "stream", "time"} <= keys <= {"log", "stream", "time", "attrs"}:
            yield _spoken(presets["docker.default"], sample), (sure("container logs of Docker"),)
        yield _spoken(presets["jsonl.default"], sample), (sure("one JSON object in each line"),)
        return
    documents = documents_in(sample)
    path = record_path(documents)
    if path is None and documents and all(isinstance(one, dict | list) for one in documents):
        yield _spoken(presets["json.default"], sample), (sure("JSON documents"),)
    if path is not None:
        format = Json(name="json", records=path, encoding=sample.encoding)  # type: ignore[arg-type]
        yield format, (sure(f'JSON documents with records in "{path}"'),)
    elif not documents:  # one that was cut
        for match in re.finditer(r'"([A-Za-z]\w*)"\s*:\s*\[\s*\{', sample.text[:4096]):
            format = Json(name="json", records=match[1], encoding=sample.encoding)  # type: ignore[arg-type]
            yield format, (guessed(f'JSON documents with records in "{match[1]}"'),)
        yield _spoken(presets["json.default"], sample), (guessed("one long JSON document"),)


def _signs(sample: Sample, presets: Mapping[str, Format]) -> Iterator[tuple[Format, tuple[Point, ...]]]:
    lines = sample.lines[:100]
    if any(line.startswith("#Fields:") for line in lines):
        yield _spoken(presets["w3c.default"], sample), (sure("the W3C extended format: #Fields names the columns"),)
    if any(line.startswith(("#separator", "#fields\t")) for line in lines):
        yield _spoken(presets["zeek.default"], sample), (sure("a log of Zeek with its own header"),)
    for sign, name in _SIGNS:
        pattern = re.compile(sign)
        if sum(1 for line in lines if pattern.match(line)) > _HALF * len(lines):
            preset = presets[name]
            yield _spoken(preset, sample), (sure((preset.description or name).rstrip(".")),)


def _spoken(format: Format, sample: Sample) -> Format:
    """The format for the encoding of the sample."""
    if sample.encoding in (None, "utf-8"):
        return format
    return replace(format, name=format.type, encoding=sample.encoding)  # type: ignore[call-arg]
