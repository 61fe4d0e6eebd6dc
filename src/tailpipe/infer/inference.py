"""From a target to config: a partition for each kind of log that is found there, and what is to say of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from tailpipe.config.encoder import encode, table_text
from tailpipe.config.printer import print_body
from tailpipe.config.syntax import Body
from tailpipe.errors import TailpipeError, UsageError
from tailpipe.formats.grok import compile_layout
from tailpipe.formats.path_templates import Template
from tailpipe.frozen import frozen
from tailpipe.infer.choices import Choices
from tailpipe.infer.kind import Kind, earliest_in, kind_of
from tailpipe.infer.names import free_name, partition_name, table_name
from tailpipe.infer.places import Group, Target, groups_of, with_rotated
from tailpipe.infer.point import Point, sure
from tailpipe.infer.recognise import Recogniser
from tailpipe.infer.sample import UnusableError, read_sample
from tailpipe.model.artifact import Artifact
from tailpipe.model.format import Format
from tailpipe.model.partition import Partition
from tailpipe.model.source import Source
from tailpipe.model.table import Table

_GROUPS = 40
"""So many groups of files are looked at."""
_TRIES = 3
"""So many files of a group are tried before it is given up."""
_SOURCES = 6
_USUAL_DAYS = 30
"""How far a first collection goes back without --from."""


@frozen
class Known:
    """What there is already: tables by name, presets, and the partitions of the config."""

    tables: Mapping[str, Table]
    presets: Mapping[str, Format]
    partitions: Collection[str] = ()


@frozen
class Found:
    """One kind of log: its partition, and the table if it had to be made."""

    partition: Partition
    kind: Kind
    groups: tuple[Group, ...]
    points: tuple[Point, ...]
    start: date | None
    """The first day to collect, if that is longer ago than a first collection goes back."""

    @property
    def artifacts(self) -> list[Artifact]:
        """The files."""
        return [artifact for group in self.groups for artifact in group.artifacts]

    def text(self, presets: Mapping[str, Format]) -> str:
        """The config."""
        table = "" if self.kind.is_shipped else table_text(self.kind.table, presets) + "\n"
        return table + print_body(Body([], [encode("partition", self.partition)]))


@frozen
class Inference:
    """All that was found at a target, and what was skipped, with the reason."""

    target: str
    found: tuple[Found, ...]
    skipped: tuple[str, ...]


@frozen
class _Looked:
    """Groups of one kind."""

    kind: Kind
    groups: tuple[Group, ...]

    @property
    def artifacts(self) -> list[Artifact]:
        """The files of all groups."""
        return [artifact for group in self.groups for artifact in group.artifacts]


def infer(
    target: Target,
    known: Known,
    now: datetime,
    name: str | None = None,
    choices: Choices = Choices(),  # noqa: B008
) -> Inference:
    """Look at a target. `UnusableError` if no config can be made of anything there."""
    artifacts = target.artifacts()
    is_listed_whole = True
    if target.is_file and artifacts:
        target = with_rotated(target)
        is_listed_whole = target.is_file
        artifacts = artifacts if target.is_file else _with_rotated(target, artifacts[0])
    problems = [one.problem for one in artifacts if one.problem]
    artifacts = [one for one in artifacts if not one.problem]
    if not artifacts:
        if problems:
            raise UnusableError(problems[0])
        raise UsageError(f'there are no files in "{target.text}"')
    groups = groups_of(artifacts)
    looked, failed = _look(target, groups[:_GROUPS], known, now, name, choices)
    skipped = [*problems, *(one.message for one in failed)]
    if len(groups) > _GROUPS:
        skipped.append(
            f"{len(groups) - _GROUPS} more groups of files were not looked at; run init on a directory below"
        )
    if not looked:
        raise failed[0]
    is_all = (
        is_listed_whole and len(looked) == 1 and sum(len(one.artifacts) for one in looked[0].groups) == len(artifacts)
    )
    taken = set(known.partitions)
    found = []
    for one in looked:
        others = [artifact for other in looked if other is not one for artifact in other.artifacts]
        joined = replace(one, groups=_joined(target, one.groups, others))
        found.append(_found(target, joined, taken, now, name, is_all=is_all))
        taken.add(found[-1].partition.address)
    return Inference(target.text, tuple(found), tuple(skipped))


def _with_rotated(target: Target, artifact: Artifact) -> list[Artifact]:
    """The files of a target that are a file or rotated versions of it."""
    pattern = groups_of([artifact])[0].template.pattern
    return [
        one for group in groups_of(target.artifacts()) if group.template.pattern == pattern for one in group.artifacts
    ]


def _look(
    target: Target, groups: Sequence[Group], known: Known, now: datetime, name: str | None, choices: Choices
) -> tuple[list[_Looked], list[UnusableError]]:
    recogniser = Recogniser(known.tables, now)
    looked: list[_Looked] = []
    failed: list[UnusableError] = []
    taken = set(known.tables)
    for group in groups:
        try:
            kind = _kind(target, group, recogniser, known, now, _table_name(group, taken, name), choices)
        except UnusableError as error:
            failed.append(error)
            continue
        place = next((place for place, one in enumerate(looked) if one.kind.like(kind)), None)
        if place is None:
            looked.append(_Looked(kind, (group,)))
            taken.add(kind.table.name)
        else:
            earliest = min(filter(None, (looked[place].kind.earliest, kind.earliest)), default=None)
            looked[place] = _Looked(replace(looked[place].kind, earliest=earliest), (*looked[place].groups, group))
    return looked, failed


def _kind(
    target: Target, group: Group, recogniser: Recogniser, known: Known, now: datetime, name: str, choices: Choices
) -> Kind:
    """The kind of a group, by its newest file that can be read; the oldest shows when it begins."""
    problem: UnusableError | None = None
    for one in (group.newest or group.artifacts)[:_TRIES]:
        artifact = replace(one, day=one.day or _day(target, group.template.layout, one))
        try:
            sample = read_sample(target.source, artifact)
            kind = kind_of(sample, target.source, recogniser, known.presets, name, now, choices)
        except UnusableError as error:
            problem = problem or error
            continue
        oldest = group.newest[-1] if len(group.newest) > 1 else one
        return kind if oldest == one else replace(kind, earliest=_earlier(target, oldest, kind, now))
    assert problem is not None  # noqa: S101 - a group has files
    raise problem


def _earlier(target: Target, artifact: Artifact, kind: Kind, now: datetime) -> datetime | None:
    try:
        first = earliest_in(kind.table, read_sample(target.source, artifact), now)
    except TailpipeError:
        return kind.earliest
    return min(filter(None, (first, kind.earliest)), default=None)


def _table_name(group: Group, taken: Collection[str], name: str | None) -> str:
    if name is not None:
        return free_name(name, taken)
    first = group.artifacts[0]
    return table_name(first.uri.partition("://")[2] or first.uri, taken)


def _found(
    target: Target, looked: _Looked, taken: Collection[str], now: datetime, name: str | None, *, is_all: bool
) -> Found:
    kind = looked.kind
    artifacts = looked.artifacts
    sources, layout_points = _sources(target, looked, is_all=is_all)
    wanted = name if name is not None and kind.is_shipped else _partition_name(target)
    free = free_name(f"{kind.table.name}.{wanted}", taken).partition(".")[2]
    partition = Partition(table=kind.table.name, name=free, sources=tuple(sources))
    return Found(
        partition,
        kind,
        looked.groups,
        (*kind.points, *layout_points),
        _start(target, sources, artifacts, kind, now),
    )


def _joined(target: Target, groups: Sequence[Group], others: Sequence[Artifact]) -> tuple[Group, ...]:
    """The groups, those whose files differ in name alone as one, unless its layout would match other files too."""
    families: dict[tuple[str, str, bool], list[Group]] = {}
    for group in groups:
        families.setdefault(group.template.family, []).append(group)
    found: list[Group] = []
    for members in families.values():
        template = Template.merged(group.template for group in members).any_name
        is_one = len(members) > 1 and template.is_dated == any(group.template.is_dated for group in members)
        if is_one and not any(_match(target, template.layout, one) is not None for one in others):
            found.append(Group(template, tuple(one for group in members for one in group.artifacts)))
        else:
            found += members
    return tuple(found)


def _partition_name(target: Target) -> str:
    _, colon, place = target.text.partition("://")
    return partition_name(place.partition("/")[0].partition("@")[0]) if colon else "local"


def _sources(target: Target, looked: _Looked, *, is_all: bool) -> tuple[list[Source], list[Point]]:
    """The sources of a partition: one for each dated template, and one for all others."""
    dated = [group for group in looked.groups if group.template.is_dated]
    others = [group for group in looked.groups if not group.template.is_dated]
    points = [sure(f"layout with a date: {group.template.layout}") for group in dated[:1]]
    own = looked.kind.table.layout(target.source)
    if own is not None and all(
        _match(target, own, one) is not None for group in looked.groups for one in group.artifacts
    ):
        return [target.source], [sure("paths match the layout of the table")]
    if len(dated) > _SOURCES:
        dated, others, points = [], [*looked.groups], []
    layouts = [group.template.layout for group in dated]
    if others and (not is_all or dated or own is not None):
        layouts.append("|".join(sorted({group.template.layout for group in others})))
    if not layouts:
        return [target.source], points
    given: list[Any] = [replace(target.source, file_layout=layout) for layout in layouts]  # type: ignore[call-arg]
    if len(given) > 1:
        given = [replace(one, name=f"{one.type}_{number}") for number, one in enumerate(given, 1)]
    return given, points


def _match(target: Target, layout: str, artifact: Artifact) -> dict[str, str | None] | None:
    """The groups of a layout in the path of an artifact, or in its whole key; None if it matches neither."""
    compiled = compile_layout(layout)
    match = compiled.fullmatch(artifact.path) or compiled.fullmatch(target.base + artifact.path)
    return None if match is None else dict(match.groupdict())


def _day(target: Target, layout: str, artifact: Artifact) -> date | None:
    groups = _match(target, layout, artifact) or {}
    year, month, day = (groups.get(name) for name in ("year", "month", "day"))
    try:
        return date(int(year), int(month), int(day)) if year and month and day else None
    except ValueError:
        return None


def _start(
    target: Target, sources: Sequence[Source], artifacts: Sequence[Artifact], kind: Kind, now: datetime
) -> date | None:
    """The first day of the files, if a first collection does not go back as far."""
    days = [kind.earliest.astimezone(UTC).date()] if kind.earliest else []
    for source in sources:
        layout = getattr(source, "file_layout", None) or kind.table.layout(source)
        days += [day for one in artifacts if layout and (day := _day(target, layout, one)) is not None]
    first = min(days, default=None)
    is_usual = first is None or first > (now - timedelta(days=_USUAL_DAYS)).date()
    return None if is_usual else first
