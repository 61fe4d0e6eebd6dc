"""A whole plugin: a table for the flashes of lighthouses, and a source that makes them up."""

import json
from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO
from typing import BinaryIO

from tailpipe.formats import Jsonl
from tailpipe.plugin import Artifact, Column, Plugin, Source, Table, Window, option


class LighthouseFlash(Table):
    """One row for each flash of a lighthouse."""

    name = "lighthouse_flash"
    format = Jsonl()
    columns = [Column("light", "varchar", "Name of the lighthouse."), Column("seconds", "double", "How long it shone.")]
    common = {"tp_timestamp": "time", "tp_tags": "[light]"}


class Lighthouse(Source):
    """Makes up the flashes of a lighthouse, one artifact for each day."""

    type = "lighthouse"
    light: str = option("Name of the lighthouse.")
    every_minutes: int = option("Minutes from one flash to the next.", default=60)

    def artifacts(self, window: Window) -> Iterator[Artifact]:
        return (Artifact(uri=f"lighthouse://{self.light}/{day}", day=day, kind="run") for day in window.days())

    def open(self, artifact: Artifact) -> BinaryIO:
        start, step = Window.of_day(artifact.day).start, timedelta(minutes=self.every_minutes)
        times = (start + i * step for i in range(timedelta(days=1) // step))
        lines = (json.dumps({"time": t.isoformat(), "light": self.light, "seconds": 0.5}) for t in times)
        return BytesIO("\n".join(lines).encode())


plugin = Plugin("lighthouse", "Flashes of lighthouses.", tables=[LighthouseFlash], sources=[Lighthouse])
