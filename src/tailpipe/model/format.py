"""Formats: how bytes become named fields."""

from __future__ import annotations

from typing import ClassVar

from tailpipe.model.names import check_reference_name
from tailpipe.model.option import Declared, label, option

__all__ = ["Format"]


class Format(Declared):
    """How the bytes of an artifact become rows of named fields; a subclass is a type of format."""

    type: ClassVar[str] = ""
    name: str = label("Name of the format.", default="default", check=check_reference_name)
    description: str | None = option("What the format is for, in a sentence.", default=None)

    @property
    def address(self) -> str:
        """How config names it: `format.regex.mine`."""
        return f"format.{self.type}.{self.name}"

    def read_as(self) -> Format:
        """The common format that does the reading; a plugin's own type of format says what it amounts to."""
        return self
