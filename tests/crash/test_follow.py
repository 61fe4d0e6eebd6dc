"""`collect --follow` with real Spark: many cycles do not grow, and kills and signals under load cost no row."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tailpipe.home.home import Home
from tailpipe.operations.pull import Pull, pull
from tailpipe.workspace import Workspace
from tests.unit.collect.support import CONFIG

pytestmark = pytest.mark.slow

PATIENCE = 240.0
CYCLES = int(os.environ.get("TAILPIPE_CYCLES", "25"))


class Follower:
    """A process that follows the logs of an installation, and what it has printed."""

    def __init__(self, root: Path, *flags: str) -> None:
        self.root = root
        self.output = root / "follow.jsonl"
        self.talk = root / "follow.log"
        with self.output.open("a") as output, self.talk.open("a") as talk:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tailpipe", "collect", "--follow", "--every", "2s", "--output", "json", *flags],
                env={**os.environ, "TAILPIPE_INSTALL_DIR": str(root)},
                stdout=output,
                stderr=talk,
            )

    def events(self, kind: str) -> list[dict[str, object]]:
        lines = [line for line in self.output.read_text().splitlines() if line.endswith("}")]
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)

    def java(self) -> int | None:
        return next((pid for pid in _children(self.process.pid) if _name(pid) == "java"), None)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("config", "logs"):
        (tmp_path / name).mkdir()
    (tmp_path / "config" / "main.tpc").write_text(CONFIG.replace("LOGS", str(tmp_path / "logs")))
    return tmp_path


@contextmanager
def _following(root: Path, *flags: str) -> Iterator[Follower]:
    one = Follower(root, *flags)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def _until(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until, what
        time.sleep(0.1)


def _append(root: Path, *ids: str) -> None:
    now = datetime.now(UTC)
    with (root / "logs" / f"{now.date()}.jsonl").open("a") as file:
        file.writelines(json.dumps({"time": now.isoformat(), "message": one}) + "\n" for one in ids)


def _ids(root: Path) -> Counter[str]:
    with Workspace.open(env={"TAILPIPE_INSTALL_DIR": str(root)}).session() as session:
        return Counter(row[0] for row in session.run("SELECT message FROM app").rows)


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            number, _, rest = path.read_text().partition(" (")
            if int(rest.rpartition(") ")[2].split()[1]) == pid:
                found.append(int(number))
    return found


def _descendants(pid: int) -> list[int]:
    children = _children(pid)
    return [*children, *(one for child in children for one in _descendants(child))]


def _name(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def _size(pid: int) -> tuple[int, int, int]:
    """Memory in bytes, open files and threads of a process."""
    place = Path(f"/proc/{pid}")
    fields = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) * 1024, len(list((place / "fd").iterdir())), int(fields["Threads"])


HANGING = """
workspace "default" {
  spark { master = "local[1,4]" }
}
partition "app" "sleeps" {
  source "command" {
    command = ["sleep", "SECONDS"]
    timeout = "1h"
  }
}
"""


SHARED = """
store "lake" { location = "LAKE" }
workspace "default" {
  host  = "HOST"
  store = store.lake
}
"""
DETECTION = """
detection "bad" {
  table    = "app"
  where    = "message LIKE 'bad%'"
  severity = "high"
}
"""


def test_rows_are_pushed_and_detected_once_while_spark_stops_and_starts(root: Path, tmp_path: Path) -> None:
    lake, reader = tmp_path / "lake", tmp_path / "reader"
    for directory in (lake, reader / "config"):
        directory.mkdir(parents=True)
    shared = SHARED.replace("LAKE", str(lake))
    (reader / "config" / "main.tpc").write_text(shared.replace("HOST", "reader"))
    with (root / "config" / "main.tpc").open("a") as config:
        config.write(shared.replace("HOST", "web-1") + DETECTION)

    def pulled() -> Counter[str]:
        reports = pull(Home.open(env={"TAILPIPE_INSTALL_DIR": str(reader)}), Pull(with_data=True))
        return _ids(reader) if reports else Counter()

    flags = ["--push-every", "1s", "--detect", "--detect-every", "1s", "--idle-after", "3s", "--compact-every", "2s"]
    written: list[str] = []
    with _following(root, *flags) as one:
        for number in (1, 2):
            some = [f"id {number}", f"bad {number}"]
            _append(root, *some)
            written += some
            _until(lambda: one.java() is not None, f"Spark starts: {number}")
            _until(lambda: pulled() == Counter(written), f"rows are in the store: {number}")  # noqa: B023
            _until(lambda: one.java() is None, f"Spark stops when idle: {number}")
        _until(lambda: len(one.events("task_done")) >= 2, "hits")
        assert one.end() == 0
    assert _ids(root) == pulled() == Counter(written)
    hits = [event["counts"] for event in one.events("task_done") if event["task"] == "detect"]
    assert [dict(counts)["hits"] for counts in hits if isinstance(counts, dict)] == [1, 1]
    assert one.events("failing") == []


def test_a_program_that_hangs_in_the_only_slot_turns_red_while_the_others_go_on_and_it_ends(root: Path) -> None:
    seconds = str(3600 + os.getpid() / 1e7)  # to know it among all processes
    with (root / "config" / "main.tpc").open("a") as config:
        config.write(HANGING.replace("SECONDS", seconds))
    with _following(root, "--stuck-after", "3s", "--status-address", "127.0.0.1:0") as one:
        _until(lambda: seconds in _commands(), "the program runs")
        _append(root, "id 0")
        _until(lambda: _failing(one, "held the task slots") == {"app.sleeps"}, "it kept the others waiting")
        address = one.talk.read_text().partition("status: ")[2].partition(",")[0]
        for number in range(1, 4):
            _until(lambda: len(one.events("collected")) >= number, f"line {number}")  # noqa: B023
            _append(root, f"id {number}")
            with pytest.raises(HTTPError) as red:
                urlopen(address)
            assert (red.value.code, "app.sleeps" in json.load(red.value)["problems"]) == (503, True)
            red.value.close()
        _until(lambda: len(one.events("collected")) >= 4, "the last line")
        begun = time.monotonic()
        assert one.end() == 0
        assert time.monotonic() - begun < 25
    _until(lambda: seconds not in _commands(), "the program ends with its task")
    assert _ids(root) == Counter(f"id {number}" for number in range(4))
    assert "Traceback" not in one.talk.read_text()


def _failing(one: Follower, words: str) -> set[object]:
    return {event["name"] for event in one.events("failing") if words in str(event["error"])}


def _commands() -> set[str]:
    """The second words of all command lines."""
    found = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.update(path.read_bytes().decode(errors="replace").split("\0")[1:2])
    return found


def test_many_cycles_with_spark_take_no_more_memory_files_or_threads(root: Path) -> None:
    with _following(root, "--compact-every", "20s") as one:
        sizes, waits = [], []
        for number in range(CYCLES):
            _append(root, f"id {number}")
            begun = time.monotonic()
            _until(lambda: len(one.events("collected")) > number, f"cycle {number}: {one.talk.read_text()}")  # noqa: B023
            waits.append(time.monotonic() - begun)
            if number in (CYCLES // 3, CYCLES - 1):
                time.sleep(1)
                sizes.append(_size(one.process.pid))
        assert one.end() == 0
    (memory, files, threads), after = sizes
    assert after[0] - memory < 30e6
    assert after[1] - files <= 3
    assert after[2] - threads <= 2
    assert _ids(root) == Counter(f"id {number}" for number in range(CYCLES))
    print(f"median seconds from line to commit: {sorted(waits)[len(waits) // 2]:.2f}, load {os.getloadavg()[0]:.0f}")


def test_kills_and_signals_under_load_cost_no_row_and_double_none(root: Path) -> None:
    random_, written, is_over = random.Random(7), list[str](), threading.Event()

    def write() -> None:
        while not is_over.wait(0.2):
            some = [f"id {len(written) + number}" for number in range(random_.randint(1, 20))]
            _append(root, *some)
            written.extend(some)

    writer = threading.Thread(target=write)
    writer.start()
    config = root / "config" / "main.tpc"
    try:
        with _following(root) as one:
            _until(lambda: len(one.events("collected")) >= 2, "the first rows")
            # A Python worker of Spark: its task is tried again.
            java = one.java()
            assert java is not None
            for pid in [pid for pid in _descendants(java) if _name(pid).startswith("python")]:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            seen = len(one.events("collected"))
            _until(lambda: len(one.events("collected")) >= seen + 2, "rows after the end of workers")
            # Java itself: it is started anew.
            os.kill(java, signal.SIGKILL)
            _until(lambda: one.java() not in (None, java), "another Java")
            seen = len(one.events("collected"))
            _until(lambda: len(one.events("collected")) >= seen + 2, "rows after the end of Java")
            # A broken config keeps the old one; a good one is taken.
            good = config.read_text()
            config.write_text(good.replace("partition", "partitoin"))
            one.process.send_signal(signal.SIGHUP)
            _until(lambda: any(event["error"] for event in one.events("reloaded")), "a refused config")
            seen = len(one.events("collected"))
            _until(lambda: len(one.events("collected")) >= seen + 2, "rows by the old config")
            config.write_text(good + "\n# changed\n")
            one.process.send_signal(signal.SIGHUP)
            _until(lambda: not one.events("reloaded")[-1]["error"], "a good config")
            time.sleep(random_.random())
            assert one.end() == 0, "SIGTERM under load"
        with _following(root) as one:  # the driver itself, at any moment
            seen = len(one.events("collected"))
            _until(lambda: len(one.events("collected")) >= seen + 2, "rows after a stop")
            time.sleep(random_.random())
            java = one.java()
            one.process.kill()
            one.process.wait()
            _until(lambda: java is None or _name(java) != "java", "Java ends with its driver")
        is_over.set()
        writer.join()
        with _following(root) as one:
            _until(lambda: sum(_ids(root).values()) >= len(written), "all rows")
            assert one.end(signal.SIGINT) == 130
    finally:
        is_over.set()
        writer.join()
    assert _ids(root) == Counter(written)
    assert "Traceback" not in (root / "follow.log").read_text()
