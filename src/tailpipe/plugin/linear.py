"""Regular expressions that never backtrack: RE2 takes time in proportion to the text, whatever the pattern says.

Patterns come from config, and names of files from anywhere, so Python's own `re` could hang on them for hours.
RE2 is imported when the first pattern is compiled; most configs have none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol, cast

from tailpipe.errors import UsageError

__all__ = ["Match", "Regex", "compile_linear", "substitute"]

_GROUP = re.compile(r"\$(\d+)")


class Match(Protocol):
    """What a pattern found; a group that took no part is None."""

    def groupdict(self) -> dict[str, str | None]:
        """The named groups."""
        ...

    def group(self, number: int) -> str | None:
        """A group by its number; 0 is all of it."""
        ...


class Regex(Protocol):
    """A compiled pattern."""

    @property
    def groupindex(self) -> Mapping[str, int]:
        """The names of the groups, with their numbers."""
        ...

    @property
    def groups(self) -> int:
        """How many groups there are."""
        ...

    def fullmatch(self, text: str) -> Match | None:
        """The match of the whole text, if there is one."""
        ...


@lru_cache(maxsize=512)
def compile_linear(text: str) -> Regex:
    """Compile a pattern for RE2, or say why it cannot be used."""
    import re2  # late: see above

    options = re2.Options()
    options.log_errors = False
    try:
        return cast(Regex, re2.compile(text, options))
    except re2.error as error:
        text = error.args[0] if error.args else ""
        why = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
        hint = "tailpipe uses RE2: no look-around, no back-references"
        raise UsageError(f"invalid regular expression: {why}", hint=hint) from None


def substitute(pattern: str, replacement: str, text: str) -> str:
    """Replace every match; `$1` in the replacement names a group, and everything else in it means itself."""
    import re2

    regex = compile_linear(pattern)
    for number in _GROUP.findall(replacement):
        if int(number) > regex.groups:
            raise UsageError(f"invalid regular expression: there is no group ${number}")

    def replaced(match: Match) -> str:
        return _GROUP.sub(lambda name: match.group(int(name[1])) or "", replacement)

    return cast(str, re2.sub(regex, replaced, text))
