"""Several hosts collect into one partition: nothing of one is taken for that of another."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from tailpipe.catalog import manifest
from tailpipe.catalog.catalog import Catalog
from tailpipe.catalog.enter import enter
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.manifest_record import Manifest
from tailpipe.collect.identity import decide, needs
from tailpipe.collect.item import WorkItem
from tailpipe.collect.plan import SourceState
from tailpipe.collect.planner import _disowned
from tailpipe.collect.planning import plan_units
from tailpipe.model.artifact import Artifact
from tailpipe.model.coverage import NO_DAYS, Coverage, DaySet
from tailpipe.model.host import Host
from tailpipe.model.ledger import LedgerEntry, Unit, printed
from tailpipe.model.request import Collect
from tests.unit.collect.support import CONFIG, NOW, World

CONFIG_OF_ALL = CONFIG.replace(
    """    file_layout = `(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`
""",
    "",
)
COMMAND = CONFIG.replace(
    """  source "file" {
    paths       = ["LOGS"]
    file_layout = `(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}%{DATA}`
  }
""",
    """  source "command" {
    shell   = true
    command = `echo '{"time": "2024-03-10T10:00:00Z", "message": "job"}'`
  }
""",
)


@dataclass
class HostWorld(World):
    """A world whose workspace has the name of a host, if it has a store."""

    host: str | None = None
    home: str = "home"

    def catalog(self) -> Catalog:
        return Catalog.open(self.root / self.home, clock=lambda: self.now, host=self.host)

    def facts(self) -> list[tuple[Any, ...]]:
        return self.rows("message, tp_id")

    def manifests(self) -> list[Manifest]:
        found = [manifest.read(path) for path in Layout.of(self.root / self.home).manifests.glob("*.manifest")]
        return sorted(found, key=lambda one: one.sequence)

    def pull(self, other: HostWorld) -> None:
        assert other.host is not None
        with self.catalog() as catalog, catalog.database.writing() as connection:
            known = {name for (name,) in connection.execute("SELECT name FROM transactions")}
            for one in other.manifests():
                if one.transaction not in known:
                    enter(connection, one, pushed_by=other.host)


def _ids(world: HostWorld) -> set[str]:
    return {identifier for _, identifier in world.facts()}


@pytest.mark.parametrize("text", [CONFIG, CONFIG_OF_ALL])
def test_the_same_path_on_two_hosts_gives_different_ids(tmp_path: Path, text: str) -> None:
    found = []
    for host in ("web-1", "web-2"):
        world = HostWorld(tmp_path, text, host=host, home=host)
        world.write("2024-03-09.log", f"of {host}", "the same")
        assert world.collect().accounts.kept == 2
        found.append(_ids(world))
    assert not found[0] & found[1]


def test_commands_of_two_hosts_give_different_ids(tmp_path: Path) -> None:
    found = []
    for host in ("web-1", "web-2"):
        world = HostWorld(tmp_path, COMMAND, host=host, home=host)
        world.collect("2024-03-10")
        found.append(_ids(world))
    assert all(found)
    assert not found[0] & found[1]


def test_without_a_host_ids_are_what_they_were_before_there_were_hosts(tmp_path: Path) -> None:
    world = HostWorld(tmp_path)
    world.write("2024-03-09.log", "a")
    world.collect()
    with world.catalog() as catalog:
        (entry,) = catalog.state("app.x").ledger
    assert (entry.origin, entry.host) == (str(world.logs / "2024-03-09.log"), None)


@pytest.mark.parametrize("text", [CONFIG, CONFIG_OF_ALL])
def test_a_workspace_that_gets_a_host_collects_nothing_twice(tmp_path: Path, text: str) -> None:
    world = HostWorld(tmp_path, text)
    world.write("2024-03-08.log", "old 1")
    world.write("2024-03-09.log", "a", "b")
    world.collect()
    before = world.facts()
    world.host = "web-1"
    assert world.collect().accounts.read == 0
    world.write("2024-03-09.log", "c", mode="a")  # grows
    (world.logs / "2024-03-08.log").rename(world.logs / "2024-03-08.log.1")  # is rotated
    world.write("2024-03-08.log", "new 1")
    world.write("2024-03-10.log", "d")
    world.collect()
    assert set(before) < set(world.facts())
    assert world.rows() == ["a", "b", "c", "d", "new 1", "old 1"]
    assert not world.has_twins()
    with world.catalog() as catalog:
        found = {Path(entry.uri or "").name: (entry.host, entry.origin[0]) for entry in catalog.state("app.x").ledger}
    assert found == {
        "2024-03-08.log": ("web-1", "@"),
        "2024-03-08.log.1": (None, "/"),
        "2024-03-09.log": (None, "/"),
        "2024-03-10.log": ("web-1", "@"),
    }
    for host in ("renamed", None):  # another name, or no store any more
        world.host = host
        rows = world.facts()
        assert world.collect().accounts.read == 0
        assert world.facts() == rows


def test_a_command_that_is_known_keeps_its_ids_when_the_workspace_gets_a_host(tmp_path: Path) -> None:
    world = HostWorld(tmp_path, COMMAND)
    world.collect("2024-03-10")
    before = _ids(world)
    world.host = "web-1"
    world.collect()  # the day is not over, so it runs again
    assert _ids(world) == before


def test_what_another_host_has_collected_is_not_taken_for_our_own(tmp_path: Path) -> None:
    one = HostWorld(tmp_path, host="web-1", home="one")
    two = HostWorld(tmp_path, host="web-2", home="two")
    one.write("2024-03-09.log", "a", "b")
    one.collect()
    two.pull(one)
    # The same path with a content that begins as that of the other host does.
    two.write("2024-03-09.log", "c", mode="a")
    assert two.collect().accounts.read == 3
    with two.catalog() as catalog:
        ledger = {entry.host: entry for entry in catalog.state("app.x").ledger}
        assert {entry.uri for entry in ledger.values()} == {str(two.logs / "2024-03-09.log")}
        assert {host: entry.committed_ordinals for host, entry in ledger.items()} == {"web-1": 2, "web-2": 3}
        assert catalog.coverage("app.x")["file"].frontier == two.now.date()
    assert two.collect().accounts.read == 0


# Decisions about entries of another host, without a catalog.

DAY = date(2024, 3, 9)
CONTENT = b"a\nb\n"


def _entry(host: str | None, uri: str | None = "/a.log") -> LedgerEntry:
    head, print_ = printed(len(CONTENT), CONTENT, CONTENT)
    return LedgerEntry(
        Host(host).origin("/a.log", "file"),
        "file",
        Unit(day=DAY),
        NOW,
        uri=uri,
        size=len(CONTENT),
        modified=NOW - timedelta(hours=1),
        committed_bytes=len(CONTENT),
        committed_ordinals=2,
        fingerprint=print_,
        head=head,
        host=host,
    )


@pytest.mark.parametrize("uri", ["/a.log", "/b.log", None])
def test_neither_name_nor_print_of_another_host_is_looked_at(uri: str | None) -> None:
    listed = [WorkItem("file", Artifact("/a.log", len(CONTENT), NOW - timedelta(hours=1), day=DAY))]
    ledger, host = [_entry("web-2", uri)], Host("web-1")
    assert needs(listed, ledger, {}, now=NOW, host=host) == ()
    (item,) = decide(listed, ledger, {}, now=NOW, host=host)
    assert (item.fate, item.origin, item.generation, item.host) == ("new", "@web-1:/a.log", 0, "web-1")


@pytest.mark.parametrize("known", [None, "web-1", "web-0"])
def test_what_the_workspace_has_collected_under_any_of_its_names_is_its_own(known: str | None) -> None:
    listed = [WorkItem("file", Artifact("/a.log", len(CONTENT), NOW - timedelta(hours=1), day=DAY))]
    entry, host = _entry(known), Host("web-1", frozenset({"web-0"}))
    (item,) = decide(listed, [entry, _entry("web-2")], {}, now=NOW, host=host)
    assert (item.fate, item.identity, item.host) == ("unchanged", entry.identity, known)


def test_rows_of_another_host_are_kept_when_a_day_is_collected_anew() -> None:
    host, artifact = Host("web-1"), Artifact("/a.log", len(CONTENT), NOW - timedelta(hours=1), day=DAY)
    ledger = _disowned([_entry("web-1"), _entry("web-2")], {"file"}, host)
    assert [entry.source for entry in ledger] == ["file", "file@web-2"]
    items = decide([WorkItem("file", artifact)], ledger, {}, now=NOW, host=host)
    state = SourceState("file", Coverage(DaySet.of([DAY]), frontier=DAY))
    lost = {Unit(day=DAY): DaySet.of([DAY])}
    for overwrite in (True, False):
        plan = plan_units([state], items, Collect(NOW, None, overwrite), ledger=ledger, lost=lost)
        if overwrite:
            (unit,) = plan.units
            assert (unit.kind, [entry.host for entry in unit.drops]) == ("rewrite", ["web-1"])
            assert [entry.host for entry in unit.keeps] == ["web-2"]
            assert unit.restores == NO_DAYS  # only the other host can bring what it has lost
        else:
            assert plan.units == ()
        assert not [one for one in plan.skipped if one.source != "file"]
