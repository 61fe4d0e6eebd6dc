"""The software of a host: what must be the same on all of them, because a difference could make other rows."""

from __future__ import annotations

import importlib
import platform

from tailpipe.frozen import frozen

PACKAGES = ("tailpipe", "duckdb", "pyarrow")
GROUP = "tailpipe.plugins"


@frozen
class Software:
    """The versions of Python and packages, and those of plugins, as pairs of name and version."""

    host: str
    versions: tuple[tuple[str, str], ...]
    plugins: tuple[tuple[str, str], ...]


def here() -> Software:
    """The software of this process."""
    from importlib.metadata import entry_points  # late, because only a cluster is looked at

    versions = {"Python": platform.python_version()}
    versions |= {name: importlib.import_module(name).__version__ for name in PACKAGES}
    plugins = {one.name: one.dist.version if one.dist else "" for one in entry_points(group=GROUP)}
    return Software(platform.node(), tuple(versions.items()), tuple(plugins.items()))


def unlike(own: Software, other: Software) -> list[str]:
    """What another host has otherwise, or not at all."""
    found = []
    for kind, here, there in (("", own.versions, other.versions), ("plugin ", own.plugins, other.plugins)):
        for name, version in here:
            given = dict(there).get(name)
            if given != version:
                found.append(f"has {kind}{name} {given}, not {version}" if given else f"lacks {kind}{name} {version}")
    return found
