"""Formats: how bytes become named fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tailpipe.frozen import frozen
from tailpipe.model.names import check_reference_name
from tailpipe.model.option import Declared, label, option

if TYPE_CHECKING:
    from tailpipe.model.parsing import DocumentParser, LineParser, ParseContext

    overridable = property
else:

    def overridable(function: Any) -> Any:
        """Give the constant of a property, which an option of a subclass may replace, with a default or without."""
        return function(None)


RESERVED_FIELDS = ("_artifact", "_ordinal", "_bad", "_raw")
"""What every row that was read has beside its fields, so no field can have such a name."""
FIELDS_LIMIT = 2000
"""How many undeclared fields there may be; a row that brings more is rejected."""
ENCODINGS = ("utf-8", "utf-16", "latin-1")
"""The encodings of text that can be read."""


@frozen
class Joining:
    """How lines are joined to events, also where those of several events are mixed. The patterns are of RE2.

    `key` has named groups: lines for which they are the same belong to one event, and a line that does not match is an
    event of its own. `end` matches the last line of an event. If `key` has a group `seconds`, an event has also ended
    when a line is more than `gap_seconds` later; with a group `clock`, a line of the same clock.
    """

    key: str
    end: str
    gap_seconds: float = 2.0


class Format(Declared):
    """How the bytes of an artifact become rows of named fields; a subclass is a type of format.

    It has a `parser`, or says by `read_as` which other format does the reading.
    """

    type: ClassVar[str] = ""
    noun: ClassVar[str] = "line"
    """What a row is called in its artifact: the place of a rejected one is `line 7`."""
    is_json: ClassVar[bool] = False
    """Whether each row is a JSON object: its fields then have the shapes that the table wants."""
    has_times_without_year: ClassVar[bool] = False
    """Whether its times may lack the year, which is then told from the rows around them."""
    name: str = label("Name of the format.", default="default", check=check_reference_name)
    description: str | None = option("What the format is for, in a sentence.", default=None)

    @property
    def address(self) -> str:
        """How config names it: `format.regex.mine`."""
        return f"format.{self.type}.{self.name}"

    @overridable
    def encoding(self) -> str | None:
        """The encoding of its text, one of `ENCODINGS`; None if it is not text."""
        return "utf-8"

    @overridable
    def timezone(self) -> str | None:
        """The zone of times that name none; UTC if None."""
        return None

    @overridable
    def event_start(self) -> str | None:
        """The pattern that the first line of each event matches; None if each line is an event."""
        return None

    @overridable
    def joining(self) -> Joining | None:
        """How lines are joined to events that may be mixed; None if an event is one line, or as `event_start` says."""
        return None

    @overridable
    def header_prefix(self) -> str | None:
        """The prefix of lines, anywhere in a file, that say how to read those after them; None if there are none.

        A file that has grown is then read from its beginning, because such a line may be anywhere in it.
        """
        return None

    @overridable
    def date_prefix(self) -> str | None:
        """What lines begin with that say the date of the rows after them; needs `header_prefix`."""
        return None

    @overridable
    def json_names(self) -> Mapping[str, str]:
        """For JSON, the names of fields that differ from their keys, by key."""
        return {}

    def parser(self, context: ParseContext) -> LineParser | DocumentParser:
        """A new parser for one task: of lines, or of whole documents."""
        raise NotImplementedError("it has neither parser() nor read_as()")

    def read_as(self) -> Format:
        """The format that does the reading; a type that amounts to another with certain options says so here."""
        return self

    def for_artifact(self, uri: str) -> Format:  # noqa: ARG002
        """The format of an artifact of this name: itself, unless the same rows come in another kind of file too."""
        return self
