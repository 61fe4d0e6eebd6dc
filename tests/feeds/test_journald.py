"""The journal, read by the real journalctl from journal files that systemd has written."""

from __future__ import annotations

import lzma
import pickle
import shutil
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from tailpipe.errors import ConfigError
from tailpipe.plugin import TailpipeError, UsageError, Window
from tailpipe.plugins.core.journal import Journal
from tests.unit.collect.support import World

DATA = Path(__file__).parent / "data"
CONFIG = 'partition "journald_log" "x" {\n  source "journald" {\n    paths = ["PATHS"]\n    MORE\n  }\n}\n'
DAY = date(2024, 3, 5)
MESSAGES = [
    "bytes �\x00",
    "first of the 5th",
    "first of the 6th",
    "last of the 4th",
    "many\nlines",
    "same time",
    "x" * 5000,
]
REMOTE = "/usr/lib/systemd/systemd-journal-remote"

has_journalctl = pytest.mark.skipif(shutil.which("journalctl") is None, reason="there is no journalctl")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    directory = tmp_path / "journal"
    directory.mkdir()
    (directory / "web1.journal").write_bytes(lzma.decompress((DATA / "web1.journal.xz").read_bytes()))
    return directory


def collected(world: World, paths: Path | str, more: str = "", start: str | None = "2024-03-03") -> list[str]:
    world.text = CONFIG.replace("PATHS", str(paths)).replace("MORE", more)
    done = world.collect(start)
    assert done.is_done, (done.error, done.failed)
    found: list[str] = world.rows("message", "journald_log.x")
    return found


@has_journalctl
def test_every_entry_is_one_row_however_often_it_is_read(tmp_path: Path, journal: Path) -> None:
    world = World(tmp_path)
    assert collected(world, journal) == MESSAGES
    facts = "DISTINCT hostname, pid, priority, tp_source_name, tp_source_location"
    assert world.rows(facts, "journald_log.x") == [("web1", 412, 6, str(journal), f"journald:{journal}")]
    assert collected(world, journal, start=None) == MESSAGES
    assert world.rows("count(DISTINCT cursor)", "journald_log.x") == [7]
    (journal / "web1.journal").rename(journal / "web1@0.journal")  # as journald rotates
    assert collected(world, journal) == MESSAGES


@has_journalctl
def test_entries_that_the_journal_has_forgotten_stay(tmp_path: Path, journal: Path) -> None:
    world = World(tmp_path)
    collected(world, journal)
    for file in journal.iterdir():
        file.unlink()
    assert "has no journal files" in world.collect().error
    assert world.rows("message", "journald_log.x") == MESSAGES


@has_journalctl
def test_a_match_and_a_wildcard_choose_entries(tmp_path: Path, journal: Path) -> None:
    more = 'matches = ["_SYSTEMD_UNIT=app.service"]'
    found = ["first of the 5th", "same time", "x" * 5000]
    assert collected(World(tmp_path), f"{journal}/web*.journal", more) == found


@has_journalctl
def test_a_day_has_its_first_microsecond_and_not_that_of_the_next(journal: Path) -> None:
    source = pickle.loads(pickle.dumps(Journal(paths=[str(journal / "web1.journal")])))
    (artifact,) = source.artifacts(Window.of_day(DAY))
    events = list(source.open(artifact))
    assert [event.time.isoformat()[11:] for event in events][::4] == ["00:00:00+00:00", "13:00:00+00:00"]
    assert len(events) == 5


@has_journalctl
def test_a_damaged_file_is_named_and_nothing_of_its_day_is_taken(tmp_path: Path, journal: Path) -> None:
    (journal / "cut.journal").write_bytes((journal / "web1.journal").read_bytes()[:3000])
    world = World(tmp_path)
    world.text = CONFIG.replace("PATHS", str(journal)).replace("MORE", "")
    done = world.collect("2024-03-05", "2024-03-05")
    (reason,) = done.failed[0].reasons
    assert f'the journal file "{journal}/cut.journal" is damaged' in reason
    assert "journalctl --verify" in reason
    assert world.rows("message", "journald_log.x") == []


@has_journalctl
def test_reading_may_be_given_up(journal: Path) -> None:
    source = Journal(paths=[str(journal)])
    (artifact,) = source.artifacts(Window.of_day(DAY))
    events = source.open(artifact)
    next(events)
    events.close()  # type: ignore[attr-defined] # a generator; it leaves no process behind


def test_a_machine_without_journalctl_is_told_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="needs journalctl, which this machine does not have") as caught:
        list(Journal().artifacts(Window.of_day(DAY)))
    assert "install systemd" in caught.value.hint


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("echo 'Hint: You are currently not seeing messages from other users and the system.' >&2", "whole journal"),
        ("echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1", "whole journal"),
        ("echo 'Failed to open files: No data available' >&2; exit 1", "exit code 1: Failed to open files: No data"),
        ("echo nonsense", "printed what is not JSON"),
        ('echo \'{"MESSAGE": "x"}\'', "printed an entry without cursor or time"),
        ("kill -9 $$", "exit code -9"),
    ],
)
def test_what_journalctl_says_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, message: str
) -> None:
    program = tmp_path / "journalctl"
    program.write_text(f"#!/bin/sh\n{printed}\n")
    program.chmod(0o755)
    (tmp_path / "a.journal").touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    source = Journal(paths=[str(tmp_path)])
    (artifact,) = source.artifacts(Window.of_day(DAY))
    with pytest.raises(TailpipeError, match=message):
        list(source.open(artifact))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('matches = ["--vacuum-size=1"]', '"--vacuum-size=1" is not a match'),
        ('matches = ["unit"]', '"unit" is not a match'),
        ("overlap_days = 31", "overlap_days must be between 0 and 30"),
    ],
)
def test_what_would_be_an_option_of_journalctl_is_refused(tmp_path: Path, more: str, message: str) -> None:
    world = World(tmp_path, CONFIG.replace("PATHS", "/x").replace("MORE", more))
    with pytest.raises(ConfigError) as caught:
        world.collect()
    assert [one.message for one in caught.value.diagnostics] == [message]


def test_a_journal_that_is_not_there_is_named(tmp_path: Path) -> None:
    if shutil.which("journalctl") is None:
        pytest.skip("there is no journalctl")
    for path in (tmp_path / "nowhere", tmp_path / "no*.journal"):
        with pytest.raises(UsageError, match="there is no journal"):
            list(Journal(paths=[str(path)]).artifacts(Window.of_day(DAY)))


@pytest.mark.slow
@has_journalctl
def test_entries_that_systemd_writes_later_are_added(tmp_path: Path) -> None:
    if not Path(REMOTE).exists():
        pytest.skip("there is no systemd-journal-remote: apt install systemd-journal-remote")
    journal = tmp_path / "remote"
    journal.mkdir()
    entries = (DATA / "web1.export").read_bytes().split(b"\n\n__REALTIME")
    first, rest = entries[0] + b"\n\n", b"__REALTIME" + b"\n\n__REALTIME".join(entries[1:])
    world = World(tmp_path)
    for number, part in enumerate((first, rest)):
        (tmp_path / f"{number}.export").write_bytes(part)
        output = f"--output={journal}/remote-{number}.journal"
        subprocess.run([REMOTE, output, str(tmp_path / f"{number}.export")], check=True, capture_output=True)
        found = collected(world, journal, "overlap_days = 10", "2024-03-03" if number == 0 else None)
        assert found == (["last of the 4th"] if number == 0 else MESSAGES)


@pytest.mark.slow
@has_journalctl
@pytest.mark.parametrize("point", ["staging.made", "commit.before", "commit.after"])
def test_a_kill_loses_no_entry_and_doubles_none(tmp_path: Path, journal: Path, point: str) -> None:
    more = "overlap_days = 10"
    config = tmp_path / "config.tpc"
    config.write_text(CONFIG.replace("PATHS", str(journal)).replace("MORE", more))
    world = World(tmp_path, config.read_text())
    call = [sys.executable, "-m", "tests.feeds.collector", str(tmp_path), str(config), world.now.isoformat()]
    killed = subprocess.run([*call, f"{point}=kill"], capture_output=True, check=False, timeout=120)
    assert killed.returncode == -9, killed.stderr.decode()
    assert collected(world, journal, more, None) == MESSAGES
    assert world.rows("count(DISTINCT cursor)", "journald_log.x") == [7]
