"""The format of values with something between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from tailpipe.formats.options import (
    check_character,
    check_count,
    check_fields,
    check_text,
    encoding_option,
    timezone_option,
)
from tailpipe.plugin import Format, UsageError, fact, option

if TYPE_CHECKING:
    from tailpipe.plugin import LineParser, ParseContext


def _check_delimiter(text: str) -> None:
    check_text(text)
    if text in ("\\s", "\\s*"):
        raise UsageError(f"{text} is no delimiter", hint="write `\\s+`")


class Delimited(Format):
    """Delimited text, such as CSV.

    A value never spans lines. A line with fewer or more values than there are fields is rejected, unless
    `min_values` says how many it needs.
    """

    type = "delimited"
    delimiter: str = option(
        "What separates values: any text, `\\t` for a tab, or `\\s+` for any run of blanks.",
        default=",",
        check=_check_delimiter,
    )
    header: bool | None = option("Whether the first line names the fields; detected if not set.", default=None)
    fields: Sequence[str] = option("Names of the fields, in order; wins over a header.", default=(), check=check_fields)
    quote: str = option(
        "Character around values that hold the delimiter; empty for none.", default='"', check=check_character
    )
    escape: str = option("Character before a quote inside quotes.", default='"', check=check_character)
    null_if: Sequence[str] = option("Texts that mean null.", default=("",))
    comment: str | None = option("Lines that start with this are skipped.", default=None, check=check_text)
    skip_lines: int = option("Number of lines to skip at the top of each artifact.", default=0, check=check_count)
    header_prefix: str | None = option(
        "What a line that names the fields begins with, such as `#Fields:`; it may come again with other names.",
        default=None,
        check=check_text,
    )
    snake_case: bool = option(
        "Whether names from a header are spelt in snake case: `line_item_id` for `lineItem/Id`.", default=False
    )
    min_values: int | None = option(
        "How many values a line has at least: missing ones at its end are null, and those beyond the fields are named"
        " by number. Defaults to the number of fields.",
        default=None,
        check=check_count,
    )
    loose_quotes: bool = option(
        "Whether a quote inside a quoted value is text, unless a delimiter follows. Other values then have no quotes.",
        default=False,
    )
    known_fields: Sequence[str] = option(
        "Field names that identify a header: a first line with mostly these names is one.", default=()
    )
    wrapped_in: str | None = option(
        "Key of the line's text in the JSON objects that a delivery stream may have made of the lines.", default=None
    )
    conditions: Mapping[str, str] = option(
        "SQL condition that the value of each field meets: a line that does not is one of another log.", default={}
    )
    needs_header: bool = fact(
        "Whether a line before which no line with `header_prefix` has named the fields is rejected.", default=False
    )
    date_prefix: str | None = fact(
        "What a line begins with that says the date of the rows after it, if they have a time alone.", default=None
    )
    plus_as_blank: bool = fact(
        "Whether a `+` in a value without blanks is one, except in addresses of pages.", default=False
    )
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def __post_init__(self) -> None:
        for name in ("fields", "null_if", "known_fields"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        delimiter = {r"\s+": " \t", r"\t": "\t"}.get(self.delimiter, self.delimiter)
        for name in ("quote", "escape"):
            character = getattr(self, name)
            if character and character in delimiter:
                raise UsageError(f'the {name} "{character}" is part of the delimiter "{self.delimiter}"')

    def parser(self, context: ParseContext) -> LineParser:
        """A parser that remembers the header of each artifact."""
        from tailpipe.formats.delimited_parser import DelimitedParser

        return DelimitedParser(self, context.numbers)

    def for_artifact(self, uri: str) -> Format:
        """What is delivered as CSV is delivered as parquet elsewhere, with the same fields."""
        if not uri.lower().endswith(".parquet"):
            return self
        from tailpipe.formats.records import Parquet

        return Parquet(name=self.name, snake_case=self.snake_case, null_if=self.null_if)


class W3cLog(Format):
    """Logs in the W3C extended format, as written by IIS. A `#Fields:` line names the fields."""

    type = "w3c"
    plus_as_blank: bool = option("Whether to convert IIS's `+` in values back to spaces, except in URLs.", default=True)
    timezone: str | None = timezone_option()
    encoding: Literal["utf-8", "utf-16", "latin-1"] = encoding_option()

    def read_as(self) -> Format:
        """Values with blanks or tabs between them."""
        return Delimited(
            name=self.name,
            delimiter=r"\s+",
            header=False,
            header_prefix="#Fields:",
            date_prefix="#Date:",
            needs_header=True,
            comment="#",
            null_if=("-",),
            snake_case=True,
            plus_as_blank=self.plus_as_blank,
            timezone=self.timezone,
            encoding=self.encoding,
        )


class Csv(Delimited):
    """Comma-separated values. The header is detected unless `header` is set."""

    type = "csv"


CSV_DEFAULT = Csv(name="default", description="Comma-separated values; the header is detected.")
CSV = Delimited(name="csv", description="Comma-separated values with a header line.", header=True)
W3C_DEFAULT = W3cLog(name="default", description="The extended format of the W3C, as IIS writes it.")
DELIMITED = Delimited(name="default", description="Comma-separated values; the header is detected.")
W3C = Delimited(
    name="w3c",
    description="The extended format of the W3C, as IIS writes it: a comment names the fields.",
    delimiter=" ",
    header_prefix="#Fields:",
    comment="#",
    null_if=("-",),
    snake_case=True,
)
