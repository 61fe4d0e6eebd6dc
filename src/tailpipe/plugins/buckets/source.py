"""What the sources of all clouds have in common: options, the listing of a window, and opening objects."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from tailpipe.formats.grok import check_patterns, compile_layout
from tailpipe.plugin import Artifact, Connection, Source, UsageError, Window, option
from tailpipe.plugin.linear import compile_linear

if TYPE_CHECKING:  # what works is loaded when it works, so that a query does not wait for it
    from tailpipe.plugins.buckets.bucket import Bucket

_WILDCARD = re.compile(r"[*?]")
_PATH = r"{scheme}://([^/]+)(?:/(.*))?"

Place = tuple[str, str, str]
"""Bucket, folder, and the glob below it."""


def check_bucket_name(name: str) -> None:
    """Refuse what is not the name of a bucket or container."""
    if not re.fullmatch(r"[A-Za-z0-9$][A-Za-z0-9._-]{1,254}", name):
        hint = 'write the name alone; a path goes into "prefix", or all of it into "paths"'
        raise UsageError(f'"{name}" is not the name of a bucket', hint=hint)


def paths_check(scheme: str) -> Callable[[Sequence[str]], None]:
    """The check of an option `paths`, whose items begin with a scheme."""

    def check(paths: Sequence[str]) -> None:
        if not paths:
            raise UsageError("expected at least one path")
        for path in paths:
            match = re.fullmatch(_PATH.format(scheme=scheme), path, re.DOTALL)
            if match is None:
                raise UsageError(f'"{path}" is not a path in a bucket', hint=f"write it as {scheme}://bucket/folder/*")
            check_bucket_name(match[1])

    return check


def _check_overlap(days: int) -> None:
    if not 0 <= days <= 366:
        raise UsageError("overlap_days must be between 0 and 366")


class BucketSource(Source):
    """Reads objects from a bucket; a subclass says which, by `bucket_option` and `paths`."""

    is_bucket = True
    remembered_days = 1
    scheme: ClassVar[str] = ""
    """What `paths` begin with."""
    bucket_option: ClassVar[str] = "bucket"
    """The option that names the bucket."""
    if TYPE_CHECKING:
        paths: Sequence[str] | None
        """Declared by subclasses, with an example of their cloud."""
    prefix: str = option("Folder of the logs in the bucket.", default="")
    file_layout: str | None = option(
        "Grok pattern of the keys below the prefix; its groups `year`, `month`, `day` date the object.", default=None
    )
    patterns: Mapping[str, str] = option("Your own grok patterns for the layout.", default={}, check=check_patterns)
    overlap_days: int = option(
        "Days before the last one that are listed again, for objects that come late.", default=2, check=_check_overlap
    )

    def __post_init__(self) -> None:
        """Refuse a source that names no bucket, or names it twice."""
        word = self.bucket_option
        if (getattr(self, word) is None) == (self.paths is None):
            raise UsageError(
                f"name a {word}, or paths", hint=f'set {word} = "logs", or paths = ["{self.scheme}://logs/*"]'
            )
        if self.paths is not None and self.prefix:
            raise UsageError(f'"prefix" belongs to a {word}', hint="write it into the paths")

    @classmethod
    def options_at(cls, location: str, connection: Connection | None) -> dict[str, Any]:  # noqa: ARG003 - Azure's counts
        """The options for what an address such as `s3://bucket/folder/` names: a folder, an object or a glob."""
        bucket, _, below = location.partition("://")[2].partition("/")
        check_bucket_name(bucket)
        if below and not below.endswith("/"):
            return {"paths": (f"{cls.scheme}://{bucket}/{below}",)}
        return {cls.bucket_option: bucket, "prefix": below.removesuffix("/")}

    @abstractmethod
    def bucket_named(self, name: str) -> Bucket:
        """A bucket; the same one each time, in a process, so that its connections are used again."""

    def bucket_of(self, artifact: Artifact) -> Bucket:
        """The bucket that holds an artifact."""
        return self.bucket_named(artifact.uri.removeprefix(f"{self.scheme}://").partition("/")[0])

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """The objects of the window, each once; folders of other days are not even listed."""
        from tailpipe.plugins.buckets.listing import list_keys
        from tailpipe.plugins.buckets.walk import Dates, Walk, below, glob_parts, segments

        layout = compile_layout(self.file_layout, self.patterns) if self.file_layout else None
        seen: set[str] = set()
        variants = segments(self.file_layout, self.patterns)
        places = self.places()
        for name, base, glob in places:
            bucket = self.bucket_named(name)
            walk = Walk(below(variants, base), Dates(window), glob_parts(glob), bucket.can_seek)
            wanted = compile_linear(f"(?s:{glob_pattern(glob)})")
            for key in list_keys(bucket, base, walk):
                path = key.name[len(base) :]
                if (key.name.endswith("/") and not key.size) or not wanted.fullmatch(path):
                    continue
                if len(places) > 1:
                    if (uri := bucket.uri(key.name)) in seen:
                        continue
                    seen.add(uri)
                if layout is not None and base and not layout.fullmatch(path) and layout.fullmatch(key.name):
                    path = key.name  # a layout may also tell the whole key
                yield bucket.artifact(key, path)

    def open(self, artifact: Artifact) -> BinaryIO:
        """The object's bytes, of the version that was listed."""
        from tailpipe.plugins.buckets.fetch import open_object

        return open_object(self.bucket_of(artifact), artifact)

    def opener(self, artifacts: Sequence[Artifact]) -> AbstractContextManager[Callable[[Artifact], BinaryIO]]:
        """Fetches the next objects while one is read."""
        return self._ahead(artifacts)

    @contextmanager
    def _ahead(self, artifacts: Sequence[Artifact]) -> Iterator[Callable[[Artifact], BinaryIO]]:
        from tailpipe.plugins.buckets.fetch import Ahead

        ahead = Ahead(artifacts, self.bucket_of)
        try:
            yield ahead.open
        finally:
            ahead.close()

    def places(self) -> list[Place]:
        """Where to look: in the bucket below the prefix, or else at paths that were checked when they were declared."""
        if (bucket := getattr(self, self.bucket_option)) is not None:
            return [(bucket, _folder(self.prefix), "**")]
        return [_place(path.removeprefix(f"{self.scheme}://")) for path in self.paths or ()]


def _place(path: str) -> Place:
    name, _, below = path.partition("/")
    wildcard = _WILDCARD.search(below)
    if wildcard is None:
        folder, _, last = below.rpartition("/")
        return (name, _folder(below), "**") if not last else (name, _folder(folder), last)
    base = below[: below.rfind("/", 0, wildcard.start()) + 1]
    return name, base, below[len(base) :].removesuffix("/")


def _folder(prefix: str) -> str:
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


def glob_pattern(glob: str) -> str:
    """A glob as a regular expression: what it names, and everything below a folder that it names."""
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    return "".join(pieces.get(part, re.escape(part)) for part in parts) + "(?:/.*)?"
