"""Trace one line of an nginx access log from `collect` to parquet: functions, files, and switches between rooms.

All runs in this process, without Spark. Functions of tailpipe are taken in the order of their first call. A room is
the first part of a path below `src/tailpipe`; a switch is where two functions that follow each other are in different
rooms. `model/` and `errors.py` are the vocabulary that all rooms share. `sql/`, `storage/`, `unpack/`, `formats/` and
`plugin/` are libraries that decide nothing: the room that owns a step calls them. The way is what is left without
these; the switches of all rooms are printed too.
The trace begins when config and catalog are open, and ends with the summary of the partition.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import import_module
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from pkgutil import walk_packages
from types import CodeType, FrameType
from typing import Any

import tailpipe
from tailpipe.catalog.catalog import Catalog
from tailpipe.collect.collect import collect
from tailpipe.collect.job import Job
from tailpipe.config.builder import build_config
from tailpipe.config.functions import Surroundings
from tailpipe.config.text import ConfigText
from tailpipe.model.request import Collect
from tailpipe.plugin import Registry
from tailpipe.testing import InProcessEngine

ROOT = Path(tailpipe.__file__).parent
VOCABULARY = {"model", "errors"}
LIBRARIES = {"formats", "plugin", "sql", "storage", "unpack"}
"""Rooms that answer the room that owns a step, and call no other."""
NOW = datetime(2024, 3, 10, 12, 0, tzinfo=UTC)
LINE = '203.0.113.7 - - [10/Mar/2024:11:59:58 +0000] "GET /cart HTTP/1.1" 200 512 "-" "curl/8.5.0"\n'
PATTERN = (
    r'^(?P<remote_addr>\S+) \S+ (?P<remote_user>\S+) \[(?P<time_local>[^\]]+)\] "(?P<request>[^"]*)" '
    r'(?P<status>\d{3}) (?P<bytes>\d+|-) "(?P<referer>[^"]*)" "(?P<user_agent>[^"]*)"'
)
CONFIG = """
format "regex" "access" {
  layout = `PATTERN`
}
table "access_log" {
  format     = format.regex.access
  map_fields = []
  null_if    = "-"
  column "tp_timestamp" { transform = "strptime(time_local, '%d/%b/%Y:%H:%M:%S %z')" }
  column "tp_source_ip" { source = "remote_addr" }
  column "request" { type = "varchar" }
  column "status" { type = "integer" }
  column "bytes" { type = "bigint" }
}
partition "access_log" "web" {
  source "file" {
    paths = ["LOGS"]
  }
}
"""


def room_of(file: str) -> str:
    """The room of a file below the package."""
    return Path(file).parts[0].removesuffix(".py")


@contextmanager
def traced(found: dict[CodeType, str]) -> Iterator[None]:
    """Note each function of the package, with its file, when it is called for the first time."""

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or code in found or not code.co_filename.startswith(f"{ROOT}/"):
            return
        # Neither the bodies of modules and classes, which run when they are imported, nor parts of an expression.
        if code.co_flags & CO_OPTIMIZED and not code.co_name.startswith("<"):
            found[code] = code.co_filename[len(str(ROOT)) + 1 :]

    sys.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(None)


def switches(rooms: Sequence[str]) -> Counter[tuple[str, str]]:
    """How often one room follows another, by the pair of them."""
    return Counter((min(pair), max(pair)) for pair in pairwise(rooms) if pair[0] != pair[1])


def import_rooms() -> None:
    """Import what a run may need, so that functions which build the constants of a module are not in the trace."""
    for module in walk_packages(tailpipe.__path__, "tailpipe."):
        if not module.name.startswith(("tailpipe.cli", "tailpipe.spark", "tailpipe.__main__")):
            import_module(module.name)


def collect_line(directory: Path, found: dict[CodeType, str]) -> int:
    """Collect one line in an empty workspace; how many rows were kept."""
    logs = directory / "logs"
    logs.mkdir()
    (logs / "access.log").write_text(LINE)
    around = Surroundings(now=NOW, env={}, home=str(directory))
    config = build_config(
        [ConfigText("trace.tpc", CONFIG.replace("PATTERN", PATTERN).replace("LOGS", str(logs)))],
        Registry.installed(),
        around,
    )
    chosen = [(one, config.tables[one.table]) for one in config.partitions.values()]
    with Catalog.open(directory / "home", clock=lambda: NOW) as catalog:
        engine = InProcessEngine()
        with traced(found):
            report = collect(config, [Job(*pair, catalog, engine, Collect(NOW)) for pair in chosen], engine)
    if not report.is_done:
        raise SystemExit(f"the line was not collected: {report}")
    return report.partitions[0].accounts.kept


def main() -> None:
    found: dict[CodeType, str] = {}
    import_rooms()
    with tempfile.TemporaryDirectory() as directory:
        kept = collect_line(Path(directory), found)
    rooms = [room_of(file) for file in found.values()]
    proper = [room for room in rooms if room not in VOCABULARY]
    way = [room for room in proper if room not in LIBRARIES]
    if "--list" in sys.argv:
        for code, file in found.items():
            print(f"  {file:32} {code.co_qualname}")
    print(f"{kept} row: {len(found)} functions in {len(set(found.values()))} files")
    pairs = switches(way)
    print(f"switches between the rooms of the way: {pairs.total()}")
    print(f"with the libraries {', '.join(sorted(LIBRARIES))}: {switches(proper).total()}")
    print(f"with model and errors as well: {switches(rooms).total()}")
    for (one, other), count in pairs.most_common():
        print(f"  {count:3}  {one} <-> {other}")


if __name__ == "__main__":
    main()
