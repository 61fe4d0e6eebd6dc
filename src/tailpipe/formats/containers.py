"""Formats of container logs, in which a long message comes in parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tailpipe.formats.options import encoding_option
from tailpipe.plugin import Format, Joining

if TYPE_CHECKING:
    from tailpipe.plugin import LineParser, ParseContext

_CRI_PARTS = Joining(
    key=r"^[0-9]{4}-\S+ (?P<stream>stdout|stderr) [PF]", end=r"^[0-9]{4}-\S+ (?:stdout|stderr) F(?:[: ]|$)"
)
_DOCKER_PARTS = Joining(key=r'^\{.*"stream":"(?P<stream>\w+)".*\}$', end=r'"log":"(?:[^"\\]|\\.)*\\n"')


class Cri(Format):
    """Container logs of Kubernetes, as containerd and CRI-O write them; the parts of a long message are joined."""

    type = "cri"
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def joining(self) -> Joining:
        """Parts of one stream, up to the one that is full."""
        return _CRI_PARTS

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser of messages and their parts."""
        from tailpipe.formats.container_parsers import cri_parser

        return cri_parser()


class Docker(Format):
    """Container logs of Docker's driver `json-file`; the parts of a long message are joined."""

    type = "docker"
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    @property
    def joining(self) -> Joining:
        """Parts of one stream, up to the one that ends with a line end."""
        return _DOCKER_PARTS

    def parser(self, context: ParseContext) -> LineParser:  # noqa: ARG002
        """A parser of messages and their parts."""
        from tailpipe.formats.container_parsers import DockerParser

        return DockerParser()


CRI = Cri(name="default", description="Container logs of Kubernetes, as containerd and CRI-O write them.")
DOCKER = Docker(name="default", description="Container logs of Docker's driver `json-file`.")
