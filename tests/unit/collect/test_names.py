"""Names that are no text or hard to print, and directories that are closed: what can be collected is."""

from __future__ import annotations

import json
import os
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from tailpipe.catalog.rebuild import rebuild
from tailpipe.cli.report import print_report
from tailpipe.collect.events import Report
from tests.unit.collect.support import CONFIG, NOW, World
from tests.users import unprivileged

TODAY = NOW.date()
no_such_names = pytest.mark.skipif(sys.platform == "darwin", reason="refused there")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@no_such_names
@pytest.mark.parametrize("output", ["json", "pretty"])
def test_a_name_that_is_not_utf8_is_collected_once_and_can_be_printed(
    world: World, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world.write(f"{TODAY}-a.jsonl", "a")
    strange = world.write(f"{TODAY}-caf\udce9.jsonl", "b")
    world.write(f"d\udcff/{TODAY}-c.jsonl", "c")
    summary = world.collect()
    assert summary.is_done
    assert world.rows() == ["a", "b", "c"]
    assert f"{world.logs.as_uri()}/{TODAY}-caf%E9.jsonl" in world.rows("tp_source_location")
    assert world.collect().committed == ()
    world.write(strange.name, "d", mode="a")
    strange.rename(strange.with_name(f"{strange.name}.1\udcfe"))
    (world.logs / f"{TODAY}-bad\udcfe.gz").write_bytes(b"\x1f\x8b\x08\x00")
    summary = world.collect(skip_bad_artifacts=True)
    assert world.rows() == ["a", "b", "c", "d"]
    print_report(Report((summary,)), output)
    assert f"{TODAY}-bad%FE.gz" in capsys.readouterr().out.encode().decode()


@no_such_names
def test_a_catalog_with_strange_names_can_be_written_anew_from_its_manifests(world: World) -> None:
    world.write(f"{TODAY}-caf\udce9\n\x1b[31m.jsonl", "a")
    assert world.collect().is_done
    home = world.root / "home"
    (home / ".tailpipe" / "catalog.db").unlink()
    rebuild(home)
    assert world.collect().committed == ()
    assert world.rows() == ["a"]


def test_an_index_from_a_long_and_strange_name_fits_into_a_directory(world: World) -> None:
    world.text = CONFIG.replace("%{DATA}`", "-%{DATA:tp_source_name}.jsonl`").replace(
        'partition "app" "x" {', 'partition "app" "x" {\n  tp_index = "tp_source_name"'
    )
    name, strange = "\u00fc" * 110, "\udcff" * 200
    world.write(f"{TODAY}-{name}.jsonl", "a")
    if sys.platform != "darwin":
        world.write(f"{TODAY}-{strange}.jsonl", "b")
    assert world.collect().is_done
    found = dict(world.rows("message, tp_index"))
    assert found["a"] == name
    assert found.get("b", "%FF" * 200) == "%FF" * 200


@pytest.mark.parametrize("output", ["json", "pretty"])
def test_control_characters_in_names_reach_no_terminal(
    world: World, output: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (world.logs / f"{TODAY}-\x1b[31m\n.gz").write_bytes(b"\x1f\x8b\x08\x00")
    summary = world.collect()
    print_report(Report((summary,)), output)
    out = capsys.readouterr().out
    assert "\x1b" not in out
    if output == "json":
        assert json.loads(out)[0]["failed"][0]["reasons"][0].startswith(f'"{world.logs}/{TODAY}-\x1b[31m\n.gz"')


def test_a_directory_that_cannot_be_read_is_named_and_nothing_is_claimed_to_be_complete() -> None:
    with unprivileged() as root:
        world = World(root)
        world.write(f"{TODAY}-a.jsonl", "a")
        world.write(f"closed/{TODAY}-b.jsonl", "b")
        (world.logs / "closed").chmod(0)
        told = f'cannot read "{world.logs}/closed": permission denied'
        assert world.collect().error == (
            f"{told} (change its permissions, or collect the rest with --skip-bad-artifacts)"
        )
        assert world.rows() == []

        for _ in range(2):
            summary = world.collect(skip_bad_artifacts=True)
            assert (summary.bad_artifacts, summary.is_done, world.rows()) == ((told,), False, ["a"])
            assert TODAY in summary.gaps
            assert TODAY - timedelta(days=3) in summary.gaps

        (world.logs / "closed").chmod(0o700)
        summary = world.collect()
        assert (summary.is_done, str(summary.gaps), world.rows()) == (True, "", ["a", "b"])


def test_a_file_that_cannot_be_read_rolls_its_day_back_alone() -> None:
    with unprivileged() as root:
        world = World(root)
        closed = world.write(f"{TODAY}-a.jsonl", "a")
        closed.chmod(0)
        world.write(f"{TODAY - timedelta(days=1)}-b.jsonl", "b")
        [failed] = world.collect().failed
        assert failed.reasons == (f'cannot read "{closed}": Permission denied',)
        assert world.rows() == ["b"]
        os.chmod(closed, 0o600)  # noqa: PTH101
        assert world.collect().is_done
        assert world.rows() == ["a", "b"]
