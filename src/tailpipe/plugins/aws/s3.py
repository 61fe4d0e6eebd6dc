"""Logs in buckets of S3, or of any server that speaks it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, BinaryIO

from tailpipe.formats.grok import check_patterns, compile_layout
from tailpipe.plugin import Artifact, Source, UsageError, Window, option
from tailpipe.plugin.linear import compile_linear
from tailpipe.plugins.aws.connection import Aws

if TYPE_CHECKING:  # what works is loaded when it works, so that a query does not wait for it
    from tailpipe.plugins.aws.s3_fetch import Bucket
    from tailpipe.plugins.aws.s3_list import Key

__all__ = ["S3Bucket"]

_PATH = re.compile(r"s3://([^/]+)(?:/(.*))?", re.DOTALL)
_WILDCARD = re.compile(r"[*?]")


def _check_bucket(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}", name):
        hint = 'write the name alone; a path goes into "prefix", or all of it into "paths"'
        raise UsageError(f'"{name}" is not the name of a bucket', hint=hint)


def _check_paths(paths: Sequence[str]) -> None:
    if not paths:
        raise UsageError("name at least one path")
    for path in paths:
        match = _PATH.fullmatch(path)
        if match is None:
            raise UsageError(f'"{path}" is not a path in a bucket', hint="write it as s3://bucket/folder/*")
        _check_bucket(match[1])


def _check_overlap(days: int) -> None:
    if not 0 <= days <= 366:
        raise UsageError("overlap_days lies between 0 and 366")


class S3Bucket(Source):
    """Reads objects from a bucket of Amazon S3, or of another server that speaks its protocol."""

    type = "aws_s3_bucket"
    is_bucket = True
    bucket: str | None = option("Name of the bucket.", default=None, check=_check_bucket)
    prefix: str = option("Folder of the bucket that holds the logs.", default="")
    paths: Sequence[str] | None = option(
        "Instead of a bucket: folders, objects or globs, such as `s3://logs/AWSLogs/*/CloudTrail/*`.",
        default=None,
        check=_check_paths,
    )
    file_layout: str | None = option(
        "Grok pattern of the keys below the prefix; its groups `year`, `month`, `day` date the object.", default=None
    )
    patterns: Mapping[str, str] = option("Grok patterns of your own for the layout.", default={}, check=check_patterns)
    region: str | None = option(
        "Region of the bucket; without one it is the connection's, or is found out.", default=None
    )
    connection: Aws = option("How to log in.", default=Aws())
    request_payer: bool = option("Whether your account pays for the requests, not the bucket's owner.", default=False)
    overlap_days: int = option(
        "So many days before the last one are listed again, for objects that come late.",
        default=2,
        check=_check_overlap,
    )

    def __post_init__(self) -> None:
        if (self.bucket is None) == (self.paths is None):
            raise UsageError(
                "name a bucket, or paths, and not both", hint='bucket = "logs", or paths = ["s3://logs/*"]'
            )
        if self.paths is not None and self.prefix:
            raise UsageError('"prefix" belongs to a bucket', hint="write it into the paths")

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        """The objects of the window, each once; folders of other days are not even listed."""
        from tailpipe.plugins.aws.s3_list import Lister
        from tailpipe.plugins.aws.s3_walk import Dates, Walk, below, glob_parts, segments

        layout = compile_layout(self.file_layout, self.patterns) if self.file_layout else None
        seen: set[str] = set()
        variants = segments(self.file_layout, self.patterns)
        places = self._places()
        for name, base, glob in places:
            lister = Lister(self.connection, name, self._region(name), base, self.request_payer)
            walk = Walk(below(variants, base), Dates(window), glob_parts(glob))
            wanted = compile_linear(f"(?s:{_glob(glob)})")
            for key in lister.keys(walk):
                path = key.name[len(base) :]
                if (key.name.endswith("/") and not key.size) or not wanted.fullmatch(path):
                    continue
                if len(places) > 1:
                    if (uri := f"s3://{name}/{key.name}") in seen:
                        continue
                    seen.add(uri)
                if layout is not None and base and not layout.fullmatch(path) and layout.fullmatch(key.name):
                    path = key.name  # a layout may also tell the whole key
                yield _artifact(name, key, path)

    def open(self, artifact: Artifact) -> BinaryIO:
        """The object's bytes, of the version that was listed."""
        from tailpipe.plugins.aws.s3_fetch import open_object

        bucket, key = self._whose(artifact)
        return open_object(bucket, key, artifact)

    def opener(self, artifacts: Sequence[Artifact]) -> AbstractContextManager[Callable[[Artifact], BinaryIO]]:
        """Fetches the next objects while one is read."""
        return self._ahead(artifacts)

    @contextmanager
    def _ahead(self, artifacts: Sequence[Artifact]) -> Iterator[Callable[[Artifact], BinaryIO]]:
        from tailpipe.plugins.aws.s3_fetch import Ahead

        ahead = Ahead(artifacts, self._whose)
        try:
            yield ahead.open
        finally:
            ahead.close()

    def _whose(self, artifact: Artifact) -> tuple[Bucket, str]:
        from tailpipe.plugins.aws.s3_fetch import bucket_of

        name, _, key = artifact.uri.removeprefix("s3://").partition("/")
        return bucket_of(self.connection, name, self._region(name), self.request_payer), key

    def _region(self, bucket: str) -> str | None:
        from tailpipe.plugins.aws.buckets import region_of

        return self.region or region_of(self.connection, bucket)

    def _places(self) -> list[tuple[str, str, str]]:
        """Bucket, folder and the glob below it, for each place to look at."""
        if self.bucket is not None:
            return [(self.bucket, _folder(self.prefix), "**")]
        places = []
        for path in self.paths or ():
            match = _PATH.fullmatch(path)
            assert match is not None  # noqa: S101 - checked when it was declared
            name, below = match[1], match[2] or ""
            wildcard = _WILDCARD.search(below)
            if wildcard is None:
                folder, _, last = below.rpartition("/")
                places.append((name, _folder(below), "**") if not last else (name, _folder(folder), last))
            else:
                base = below[: below.rfind("/", 0, wildcard.start()) + 1]
                places.append((name, base, below[len(base) :].removesuffix("/")))
        return places


def _artifact(bucket: str, key: Key, path: str) -> Artifact:
    reason = f"in storage class {key.archived}: restore it first" if key.archived else ""
    return Artifact(
        uri=f"s3://{bucket}/{key.name}",
        size=key.size,
        modified=key.modified,
        etag=key.etag or None,
        kind="object",
        fields={"tp_source_name": bucket},
        path=path,
        withheld=reason,
    )


def _folder(prefix: str) -> str:
    return prefix if not prefix or prefix.endswith("/") else f"{prefix}/"


def _glob(glob: str) -> str:
    """A glob as a regular expression: what it names, and all that lies below a folder that it names."""
    pieces = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    return "".join(pieces.get(part, re.escape(part)) for part in parts) + "(?:/.*)?"
