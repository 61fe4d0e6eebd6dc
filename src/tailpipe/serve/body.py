"""The body of a request: JSON whose values are checked one by one; what is wrong is a message, never a crash."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen

_LONGEST_NAME = 500
_TOKEN = re.compile(r"[\w.:~-]{1,200}")


@frozen
class Search:
    """What is looked at: a table or all, the text of the search box, and a window, which may be left open."""

    table: str
    q: str = ""
    start: datetime | None = None
    end: datetime | None = None


@frozen
class Body:
    """The values of a request by name."""

    values: Mapping[str, Any]

    @classmethod
    def parse(cls, data: bytes) -> Body:
        """The values of a JSON object."""
        try:
            values = json.loads(data.decode())
        except (ValueError, RecursionError):
            raise UsageError("the request is not JSON in UTF-8") from None
        if not isinstance(values, dict):
            raise UsageError("the request is not a JSON object")
        return cls(values)

    def only(self, *names: str) -> Body:
        """Refuse other names, so that a misspelt one is not ignored."""
        for name in self.values:
            if name not in names:
                raise UsageError(f'unknown name "{name[:60]}" in the request', hint=f"names are: {', '.join(names)}")
        return self

    def text(self, name: str, default: str | None = None, *, longest: int = 100_000) -> str:
        """A text."""
        value = self.values.get(name, default)
        if not isinstance(value, str) or len(value) > longest:
            raise UsageError(f'"{name}" must be text of at most {longest:,} characters')
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UsageError(f'"{name}" is not valid Unicode') from None
        return value

    def texts(self, name: str, most: int) -> list[str] | None:
        """A list of short texts, or None."""
        value = self.values.get(name)
        if value is None:
            return None
        if not isinstance(value, list) or len(value) > most:
            raise UsageError(f'"{name}" must be a list of at most {most} texts')
        return [Body({name: one}).text(name, longest=_LONGEST_NAME) for one in value]

    def number(self, name: str, default: int, least: int, most: int) -> int:
        """An integer between two others; from the query of an address also as text."""
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise UsageError(f'"{name}" must be an integer from {least} to {most}')
        return value

    def flag(self, name: str, default: bool | None = None) -> bool | None:
        """True or false, or the default."""
        value = self.values.get(name)
        if value is None or value == "":
            return default
        if value in ("true", "false"):
            value = value == "true"
        if not isinstance(value, bool):
            raise UsageError(f'"{name}" must be true or false')
        return value

    def moment(self, name: str) -> datetime | None:
        """A time in ISO 8601, in UTC; a date is its beginning."""
        value = self.values.get(name)
        if value is None or value == "":
            return None
        try:
            read = datetime.fromisoformat(value) if isinstance(value, str) and len(value) < 60 else None
            if read is not None:
                return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            pass
        raise UsageError(f'"{name}" is not a time', hint="write 2026-01-31T10:00:00Z")

    def day(self, name: str) -> date:
        """A date."""
        try:
            return date.fromisoformat(self.text(name, longest=10))
        except ValueError:
            raise UsageError(f'"{name}" is not a date', hint="write 2026-01-31") from None

    def mapping(self, name: str) -> dict[str, Any]:
        """An object of plain values."""
        value = self.values.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict) or len(value) > 100:
            raise UsageError(f'"{name}" must be an object')
        for one in value.values():
            if not (one is None or isinstance(one, str | int | float | bool)):
                raise UsageError(f'the values of "{name}" must be text, numbers, true, false or null')
        return value

    def search(self) -> Search:
        """The search that all views of a page share."""
        value = self.values.get("search")
        if not isinstance(value, dict):
            raise UsageError('"search" must be an object')
        body = Body(value).only("table", "q", "from", "to")
        table, q = body.text("table", longest=_LONGEST_NAME), body.text("q", "")
        search = Search(table, q, body.moment("from"), body.moment("to"))
        if search.start and search.end and search.start >= search.end:
            raise UsageError("the window ends before it begins", hint="choose a later end")
        return search
