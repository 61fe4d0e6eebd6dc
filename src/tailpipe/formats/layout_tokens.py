"""The layout of an access log as text and variables; config reads it without loading a parser."""

from __future__ import annotations

from tailpipe.frozen import frozen


@frozen
class Variable:
    """A place for a value in a layout."""

    field: str
    pattern: str = ""
    """What the value looks like, if that is known: it then separates the value from its neighbours."""
    has_blanks: bool = True
    """Whether there may be blanks in it, if no pattern says so."""
    is_exact: bool = False
    """Whether the pattern holds in the strict reading too: blanks are always in it, or another variable follows."""


Token = str | Variable
"""Text that is the same in each line, or a variable."""
