"""Points: what was found out about a log, and how sure that is."""

from __future__ import annotations

from typing import Literal

from tailpipe.frozen import frozen


@frozen
class Point:
    """One thing that the config says, in words. A guess names what the guess was between."""

    confidence: Literal["sure", "guessed"]
    text: str


def sure(text: str) -> Point:
    """What the sample shows."""
    return Point("sure", text)


def guessed(text: str) -> Point:
    """What the sample leaves open."""
    return Point("guessed", text)
