"""Locations: what names a bucket, a container or a directory for objects, read without opening it."""

from __future__ import annotations

import os.path
import re
from urllib.parse import unquote, urlsplit

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.storage.objects import check_key

_FORMS = "s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or an absolute path"
_REMOTE = re.compile(r"(s3|gs|az|abfss?)://([^/?#]+)((?:/[^?#]*)?)")
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,221}")
_SECRETS = re.compile(r"[a-z0-9]+://([^/@]*:[^/@]*@|[^?#]*[?#])")
"""A password before the host, or a signature after the path."""


@frozen
class Location:
    """A place for objects: `host` is the bucket or container, `root` the path below it; a directory has no host."""

    scheme: str
    host: str
    root: str
    plain: str
    """As users write it, without a `/` at the end."""

    @property
    def is_directory(self) -> bool:
        """Whether it is on a disk."""
        return self.scheme == "file"

    def holds(self, other: Location) -> bool:
        """Whether this place contains the objects of the other."""
        mine, theirs = (f"{root}/" if (root := one.root.rstrip("/")) else "" for one in (self, other))
        return (self.scheme, self.host) == (other.scheme, other.host) and theirs.startswith(mine)


def parse_location(location: str) -> Location:
    """Read a location, or refuse it with a message that shows no secret."""
    if location.startswith("/"):
        return _directory(location, location)
    if location.startswith("file:"):
        parts = urlsplit(location)
        if parts.netloc not in ("", "localhost") or parts.query or parts.fragment:
            raise refused_location(location, "a file:// location has no host, ? or #")
        return _directory(unquote(parts.path), location)
    if _SECRETS.match(location):
        raise refused_location(location, "credentials belong to a connection, and a location has no ? or #")
    match = _REMOTE.fullmatch(location)
    if match is None:
        raise refused_location(location, "not a location for objects")
    scheme, host, root = match[1], match[2], match[3].strip("/")
    bucket = host.partition("@")[0]
    if not _BUCKET.fullmatch(bucket) or ("@" in host and not scheme.startswith("abfs")):
        raise refused_location(location, "the name of the bucket or container is not valid")
    plain = f"{scheme}://{host}/{root}".rstrip("/")
    if root:
        check_key(root, plain)
    return Location(scheme, host, root, plain)


def _directory(path: str, location: str) -> Location:
    if not path.startswith("/") or "\0" in path:
        raise refused_location(location, "a directory is an absolute path")
    return Location("file", "", os.path.normpath(path), location.rstrip("/") or "/")


def refused_location(location: str, reason: str) -> UsageError:
    """A location that cannot be opened, whatever its credentials are."""
    return UsageError(f'cannot open "{_without_secrets(location)}": {reason}', hint=f"a location is {_FORMS}")


def _without_secrets(location: str) -> str:
    """The location without what may be a password or a signature."""
    return re.sub(r"://[^/@]*@", "://…@", re.sub(r"[?#].*", "?…", location, flags=re.DOTALL))
