"""Count the functions that one row passes, by five ways: files, files with a store, an HTTP API, a detection, a query.

All runs in this process, without Spark. Functions of tailpipe are taken in the order of their first call, those of all
rooms, once each. A room is the first part of a path below `src/tailpipe`. A switch is where two functions that follow
each other are in different rooms; `model/`, `errors.py` and `frozen.py` are the vocabulary of all rooms, and `sql/`,
`storage/`, `unpack/`, `formats/` and `plugin/` are libraries that decide nothing, so neither counts as a switch.
A trace begins when config and catalog are open, and ends with the summary, the hits or the rows.

    python -m bench.trace [WAY]... [--list]

`BUDGETS` only falls; a test compares it.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from inspect import CO_OPTIMIZED
from itertools import pairwise
from pathlib import Path
from pkgutil import walk_packages
from types import CodeType, FrameType
from typing import Any

import tailpipe
from tailpipe.collect.collect import collect
from tailpipe.collect.job import Job
from tailpipe.detect.run import Run, begin_detecting
from tailpipe.home.home import Home
from tailpipe.model.request import Collect, Detect
from tailpipe.operations.query import open_session
from tailpipe.testing import InProcessEngine

ROOT = Path(tailpipe.__file__).parent
BUDGETS = {"line": 601, "store": 717, "http": 664, "detection": 249, "query": 135}
"""How many functions each way may pass."""
VOCABULARY = {"model", "errors", "frozen"}
LIBRARIES = {"formats", "plugin", "sql", "storage", "unpack"}
"""Rooms that answer the room that owns a step, and call no other."""
LINE = '203.0.113.7 - - [{}] "GET /cart HTTP/1.1" 200 512 "-" "curl/8.5.0"\n'
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
detection "not_found" {
  table = "access_log"
  where = "status = 200"
}
"""
STORE = """
store "lake" { location = "PLACE/lake" }
workspace "default" {
  store = store.lake
  host  = "web-1"
}
"""
HTTP = """
table "event" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
  column "message" { type = "varchar" }
}
connection "http" "api" {
  base_url = "URL"
}
partition "event" "api" {
  source "http" {
    connection = connection.http.api
    path       = "/events"
    params     = { since = "{from}", until = "{to}" }
    records    = "events"
    key        = ["id"]
    time       = "time"
    window { max_age = "2d" }
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
        if not module.name.startswith(("tailpipe.cli", "tailpipe.spark", "tailpipe.__main__", "tailpipe.mcp_server")):
            import_module(module.name)


@contextmanager
def served(answer: dict[str, Any]) -> Iterator[str]:
    """The address of an API that gives the same page to everybody."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def opened(place: Path, config: str) -> Home:
    """The home of a workspace with this config, which was read."""
    (place / "config").mkdir()
    (place / "logs").mkdir()
    (place / "lake").mkdir()
    stamp = (datetime.now(UTC) - timedelta(hours=1)).strftime("%d/%b/%Y:%H:%M:%S +0000")
    (place / "logs" / "access.log").write_text(LINE.format(stamp))
    text = config.replace("PATTERN", PATTERN).replace("LOGS", str(place / "logs")).replace("PLACE", str(place))
    (place / "config" / "main.tpc").write_text(text)
    home = Home.open(env={"TAILPIPE_INSTALL_DIR": str(place)}, engine=InProcessEngine())
    _ = home.config, home.settings, dict(home.config.tables)
    return home


def collect_row(home: Home, found: dict[CodeType, str], *, has_store: bool = False) -> int:
    """Collect the one row; how many were kept."""
    with home.catalog() as catalog:
        chosen = [(one, home.tables[one.table]) for one in home.config.partitions.values()]
        engine, names = InProcessEngine(), [one.address for one, _ in chosen]
        with traced(found):
            pushing = home.stores.pushing() if has_store else None
            if pushing is not None:
                pushing.before_run(catalog, names)
            jobs = [Job(*pair, catalog, engine, Collect(datetime.now(UTC)), pushes=pushing) for pair in chosen]
            report = collect(home.config, jobs, engine)
            if pushing is not None:
                report = report.with_pushes(pushing.finish(catalog, names))
    if not report.is_done or report.unpushed:
        raise SystemExit(f"the row was not collected: {report}")
    return report.partitions[0].accounts.kept


def line(place: Path, found: dict[CodeType, str]) -> int:
    """A line of nginx from a file."""
    return collect_row(opened(place, CONFIG), found)


def store(place: Path, found: dict[CodeType, str]) -> int:
    """The same, pushed to a store."""
    return collect_row(opened(place, CONFIG + STORE), found, has_store=True)


def http(place: Path, found: dict[CodeType, str]) -> int:
    """A page of an API with one event."""
    event = {"id": "1", "time": (datetime.now(UTC) - timedelta(days=1)).isoformat(), "message": "hello"}
    with served({"events": [event]}) as url:
        return collect_row(opened(place, HTTP.replace("URL", url)), found)


def detection(place: Path, found: dict[CodeType, str]) -> int:
    """A hit of a detection, stored."""
    home = opened(place, CONFIG)
    with home.catalog() as catalog:
        begin_detecting(catalog, datetime.now(UTC))
    collect_row(home, {})
    with home.catalog() as catalog, traced(found):
        request = Detect(datetime.now(UTC))
        run = Run(catalog, home.tables, list(home.detections.enabled.values()), request).run()
    return sum(len(one.hits) for one in run.results)


def query(place: Path, found: dict[CodeType, str]) -> int:
    """A row of an answer."""
    home = opened(place, CONFIG)
    collect_row(home, {})
    with traced(found), open_session(home) as session:
        return len(list(session.run("SELECT * FROM access_log").rows))


WAYS: dict[str, Callable[[Path, dict[CodeType, str]], int]] = {
    one.__name__: one for one in (line, store, http, detection, query)
}


def trace(name: str) -> dict[CodeType, str]:
    """The functions that a way passes, with their files, in the order of their first call."""
    found: dict[CodeType, str] = {}
    import_rooms()
    with tempfile.TemporaryDirectory() as directory:
        count = WAYS[name](Path(directory), found)
    if count != 1:
        raise SystemExit(f"{name}: {count} rows instead of 1")
    return found


def deciding_switches(found: dict[CodeType, str]) -> Counter[tuple[str, str]]:
    """The switches between rooms that decide."""
    rooms = [room_of(file) for file in found.values()]
    return switches([room for room in rooms if room not in VOCABULARY | LIBRARIES])


def main() -> None:
    names = [name for name in sys.argv[1:] if name in WAYS] or list(WAYS)
    for name in names:
        found = trace(name)
        if "--list" in sys.argv:
            for code, file in found.items():
                print(f"  {file:32} {code.co_qualname}")
        pairs = deciding_switches(found)
        print(
            f"{name:10} {len(found):5} functions (budget {BUDGETS[name]}) in {len(set(found.values()))} files,"
            f" {pairs.total()} switches between rooms that decide"
        )
        for room, count in Counter(map(room_of, found.values())).most_common():
            print(f"    {count:4}  {room}")


if __name__ == "__main__":
    main()
