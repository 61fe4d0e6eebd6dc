"""Places: what a target names, the files there, and their groups by name; also where logs are as a rule."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from glob import has_magic
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, cast

from tailpipe.errors import UsageError
from tailpipe.formats.path_templates import Template, template_of
from tailpipe.frozen import frozen
from tailpipe.model.artifact import Artifact
from tailpipe.model.connection import Connection
from tailpipe.model.source import Source
from tailpipe.model.window import Window

if TYPE_CHECKING:
    from tailpipe.plugins.buckets.source import BucketSource

_LISTED = 5000
_USUAL = (
    "/var/log/nginx",
    "/var/log/apache2",
    "/var/log/httpd",
    "/var/log/audit",
    "/var/log/syslog",
    "/var/log/auth.log",
    "/var/log/messages",
    "/var/log/secure",
    "/var/log/pods",
    "/var/log/postgresql",
    "/var/lib/docker/containers",
    "/var/log",
    "logs",
    "log",
)
"""Where logs are as a rule; those that are not absolute are below the current directory."""
_BUCKETS = {
    "s3": ("aws_s3_bucket", "aws"),
    "gs": ("gcp_storage_bucket", "gcp"),
    "az": ("azure_blob_storage", "azure"),
    "abfs": ("azure_blob_storage", "azure"),
    "abfss": ("azure_blob_storage", "azure"),
}
"""By the scheme of an address: the source that reads it, and the type of its connection, which is an extra too."""
_ANY_DAY = Window.of_day(date(2000, 1, 1))
"""Without a layout no artifact has a day, and all of them are listed."""
_LONG_AGO = datetime(1, 1, 1, tzinfo=UTC)


@frozen
class Target:
    """What to look at: a source that lists it, and whether it is a single file."""

    text: str
    source: Source
    is_file: bool = False
    base: str = ""
    """The folder of a bucket that all paths are below."""

    def artifacts(self) -> list[Artifact]:
        """The files of the target; of a very large one the first few thousand."""
        return list(islice(self.source.artifacts(_ANY_DAY), _LISTED))


@frozen
class Group:
    """Files whose paths have one template."""

    template: Template
    artifacts: tuple[Artifact, ...]

    @property
    def newest(self) -> list[Artifact]:
        """The files that hold something, the newest first."""
        full = [one for one in self.artifacts if one.size != 0]
        return sorted(full, key=lambda one: (one.modified or _LONG_AGO, one.path), reverse=True)


@frozen
class Place:
    """A place with logs on this machine."""

    path: str
    files: int
    is_readable: bool


def connection_type(text: str) -> str | None:
    """The type of the connection that a target needs; None for a path."""
    scheme, colon, _ = text.partition("://")
    return _BUCKETS[scheme][1] if colon and scheme in _BUCKETS else None


def open_target(text: str, sources: Mapping[str, type[Source]], connection: Connection | None) -> Target:
    """The target that a path, a glob or the address of a bucket names."""
    if "://" in text:
        return _bucket(text, sources, connection)
    path = os.path.expanduser(text)  # noqa: PTH111 - keeps a "~" that is no one's home
    if has_magic(path) and not os.path.lexists(path):
        return Target(text, sources["file"](name="file", paths=(os.path.abspath(path),)))  # type: ignore[call-arg]  # noqa: PTH100
    try:
        real = Path(path).resolve(strict=True)
        is_file, is_directory = real.is_file(), real.is_dir()
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise UsageError(
                f'there is no "{text}"', hint="name a file, a directory, or a bucket such as s3://bucket/folder/"
            ) from None
        raise UsageError(f'cannot read "{text}": {(error.strerror or str(error)).lower()}') from None
    if not is_file and not is_directory:
        raise UsageError(f'"{text}" is neither a file nor a directory')
    return Target(str(real), sources["file"](name="file", paths=(str(real),)), is_file)  # type: ignore[call-arg]


def _bucket(text: str, sources: Mapping[str, type[Source]], connection: Connection | None) -> Target:
    scheme = text.partition("://")[0]
    if scheme not in _BUCKETS:
        raise UsageError(
            f'"{text}" is not a file, directory or bucket',
            hint="name a file, a directory, or a bucket such as s3://bucket/folder/, gs://… or az://…",
        )
    type_, extra = _BUCKETS[scheme]
    if type_ not in sources:
        raise UsageError(f'there is no source "{type_}"', hint=f"install tailpipe with [{extra}]")
    made = cast("type[BucketSource]", sources[type_])
    given = made.options_at(text, connection)
    if connection is not None:
        given["connection"] = connection
    source = made(name=type_, **given)
    return Target(text, source, base=source.places()[0][1])


def groups_of(artifacts: Sequence[Artifact]) -> list[Group]:
    """The files by template, those with the most files first."""
    found: dict[tuple[str, bool], list[tuple[Template, Artifact]]] = defaultdict(list)
    for artifact in artifacts:
        template = template_of(artifact.path)
        found[template.pattern, template.is_dated].append((template, artifact))
    groups = [
        Group(Template.merged(template for template, _ in pairs), tuple(artifact for _, artifact in pairs))
        for pairs in found.values()
    ]
    return sorted(groups, key=lambda group: (-len(group.artifacts), group.template.pattern))


def with_rotated(target: Target) -> Target:
    """The target with the rotated and compressed versions of a single file, if the directory has any."""
    path = Path(target.text)
    mine = template_of(path.name)
    if mine.is_dated or mine.is_rotated or has_magic(str(path)):
        return target
    others = [template_of(one.name) for one in path.parent.iterdir() if one.name != path.name and one.is_file()]
    if not any(one.pattern == mine.pattern and not one.is_dated for one in others):
        return target
    return replace(target, source=replace(target.source, paths=(f"{path}*",)), is_file=False)  # type: ignore[call-arg]


def usual_places(here: Path) -> Iterator[Place]:
    """The usual places of logs that exist on this machine, with how many files each holds."""
    for name in _USUAL:
        path = here / name
        try:
            if path.is_dir():
                files = sum(1 for one in islice(path.rglob("*"), _LISTED) if one.is_file())
                if files:
                    yield Place(str(path), files, os.access(path, os.R_OK | os.X_OK))
            elif path.is_file():
                yield Place(str(path), 1, os.access(path, os.R_OK))
        except OSError:
            yield Place(str(path), 0, is_readable=False)
