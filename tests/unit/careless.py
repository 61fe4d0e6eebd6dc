"""Sources, a format and a table that make one mistake each; importing them imports nothing heavy."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

from tailpipe.formats import Jsonl
from tailpipe.plugin import Artifact, Column, Event, Format, Source, Table, Window, option

NUMBERS = count()


def _raising() -> Iterator[bytes]:
    yield b"some"
    raise KeyError("id")


class Listed(Source):
    """Gives what a test wants, from a module variable."""

    type = "careless_list"
    kind: str = option("Which mistake it makes.", default="")

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        kind: Any = "range" if self.kind == "range" else "run"
        number = next(NUMBERS) if self.kind == "unstable" else 0
        times = {"twice": 2, "nothing": 0}.get(self.kind, 1)
        for day in window.days():
            yield from [Artifact(f"{day}/{number}", day=day, kind=kind)] * times

    def open(self, artifact: Artifact) -> Any:
        return {"text": io.StringIO("text"), "raises": _raising(), "wrong": iter([1])}.get(self.kind, iter([b"fine"]))


class Evented(Listed):
    """Yields events."""

    type = "careless_events"
    yields_events = True
    kind: str = option("Which mistake it makes.", default="")

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        yield Artifact("range", kind="range")

    def open(self, artifact: Artifact) -> Any:
        at = datetime(2024, 1, 1, tzinfo=UTC)
        mistakes: dict[str, list[Any]] = {
            "key": [Event("", at, "a")],
            "same": [Event("k", at, "a"), Event("k", at, "b")],
            "zone": [Event("k", at.replace(tzinfo=None), "a")],
            "field": [Event("k", at, "a", fields={"odd": 1})],
            "bytes": [b"bytes"],
        }
        return iter(mistakes.get(self.kind, [Event("k", at, "a")]))


class Plain(Table):
    """Takes what it is given."""

    name = "careless_log"
    format = Jsonl()
    columns = [Column("n", "integer", "A number.")]
    common = {"tp_timestamp": "at"}


class Broken(Format):
    """Fails on everything."""

    type = "careless_broken"

    def read_as(self) -> Format:
        raise KeyError("nothing")


class Fragile(Plain):
    """Has a format that fails."""

    name = "careless_fragile"
    format = Broken()
