"""The example plugin for an HTTP API, collected from a real server: every event once, whatever the server does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest

from tailpipe.plugin import Window
from tailpipe.testing import check_plugin
from tests.unit.collect.support import World
from tests.unit.plugin.beacon import CONFIG, EXAMPLE, TOKEN, Service, load, registry_with, served

NOW = datetime(2024, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch, slept: list[float], tmp_path: Path) -> ModuleType:
    return load(monkeypatch, slept, tmp_path)


@pytest.fixture
def service() -> Iterator[Service]:
    with served() as service:
        yield service


@pytest.fixture
def world(tmp_path: Path, module: ModuleType, service: Service) -> World:
    return World(tmp_path, CONFIG.replace("URL", service.url), NOW, registry=registry_with(module))


def rows(world: World, columns: str = "actor, action, tp_timestamp::VARCHAR") -> list[object]:
    return world.rows(columns, "beacon_event.main")


def test_the_example_is_short_and_keeps_the_rules(module: ModuleType, service: Service) -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 60
    service.say("2024-03-09", "ada", "bob", "cy")
    source = module.BeaconAudit(connection=module.Beacon(url=service.url))
    check_plugin(module.plugin, sources=[source], window=Window.parse("2024-03-09", "2024-03-09", now=NOW))


def test_two_pages_and_a_429_give_every_event_once(world: World, service: Service, slept: list[float]) -> None:
    service.say("2024-03-09", "ada", "bob", "cy")
    service.refusals = [(429, {"Retry-After": "7"}), (503, {})]
    summary = world.collect("2024-03-09", "2024-03-09")
    assert summary.is_done
    assert rows(world) == [(name, "login", "2024-03-09 10:00:00") for name in ("ada", "bob", "cy")]
    assert slept[0] == 7
    assert [path for path, _ in service.asked][-2:] == ["/audit?day=2024-03-09", "/audit?day=2024-03-09&after=2"]
    assert {authorization for _, authorization in service.asked} == {f"Bearer {TOKEN}"}


def test_a_second_run_adds_nothing_and_a_later_one_what_is_late(world: World, service: Service) -> None:
    service.say("2024-03-09", "ada", "bob", "cy")
    service.say("2024-03-10", "dan")
    first = world.collect("2024-03-08")
    ids = rows(world, "tp_id")
    assert (first.accounts.kept, len(set(ids))) == (4, 4)
    again = world.collect()
    assert (again.accounts.kept, again.accounts.duplicate) == (0, 4)
    assert rows(world, "tp_id") == ids
    service.say("2024-03-09", "late")
    late = world.collect()
    assert (late.accounts.kept, late.accounts.duplicate) == (1, 4)
    assert set(ids) < set(rows(world, "tp_id"))


def test_events_with_equal_keys_are_one_row(world: World, service: Service) -> None:
    service.say("2024-03-09", "ada", "ada", "ada")
    summary = world.collect("2024-03-09", "2024-03-09")
    assert (summary.accounts.kept, summary.accounts.duplicate) == (1, 2)


def test_events_without_a_key_are_rejected_once(world: World, service: Service) -> None:
    service.say("2024-03-10", "ada", "bob")
    service.days["2024-03-10"][0]["id"] = ""
    assert world.collect("2024-03-10").accounts.rejected == 1
    again = world.collect()
    assert (again.accounts.rejected, again.accounts.duplicate) == (0, 2)


@pytest.mark.parametrize("status", [401, 404])
def test_a_refusal_fails_the_day_and_never_shows_the_token(world: World, service: Service, status: int) -> None:
    service.refusals = [(status, {})] * 9
    summary = world.collect("2024-03-09", "2024-03-09")
    assert not summary.is_done
    assert f"HTTPError: HTTP Error {status}" in str(summary)
    assert TOKEN not in str(summary)
    assert len(service.asked) == 1


def test_a_service_that_stays_busy_fails_the_day_after_its_retries(world: World, service: Service) -> None:
    service.refusals = [(503, {})] * 99
    summary = world.collect("2024-03-09", "2024-03-09")
    assert "HTTP Error 503: Service Unavailable (gave up after 6 attempts)" in str(summary)


def test_tokens_that_lead_in_a_circle_fail_the_day(world: World, service: Service) -> None:
    service.say("2024-03-09", "ada", "bob", "cy")
    service.next_token = lambda start: "2" if start == 0 else "0"
    summary = world.collect("2024-03-09", "2024-03-09")
    assert "pagination loop" in str(summary)
    assert rows(world) == []
