"""The crash matrix of stores: pushes and tiers killed anywhere lose nothing, and unlink nothing that is not proved."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tailpipe.catalog.failpoints import ROOT_NAMES, STORE_NAMES
from tests.aws import proxy as proxies
from tests.aws.conftest import TestBucket, bucket, no_credentials, proxy
from tests.bucket_server import Asked
from tests.crash.harness import BrokenError, Server
from tests.crash.lake import AGAIN, KINDS, RULES, LakeHarness, soak_lake
from tests.crash.lake_mutants import LAKE_MUTANTS
from tests.sampling import sampled

__all__ = ["bucket", "no_credentials", "proxy"]


@pytest.fixture
def store(place: Path) -> str:
    (place / "lake").mkdir()
    return str(place / "lake")


def _prepared(server: Server, home: Path, store: str, **options: object) -> LakeHarness:
    harness = LakeHarness(server, home, store=store, **options)  # type: ignore[arg-type]
    for kind in ("append", "append", "replace"):
        harness.step(kind, "")
    return harness


@pytest.mark.parametrize("name", sampled(STORE_NAMES, 5))
def test_a_push_that_is_killed_anywhere_is_finished_by_the_next(
    server: Server, place: Path, store: str, name: str
) -> None:
    harness = _prepared(server, place / "ws", store, seed=STORE_NAMES.index(name))
    number = STORE_NAMES.index(name)
    for turn, rule in enumerate(RULES):
        harness.rule = rule
        kind = KINDS[(number + turn) % len(KINDS)]
        harness.step("append" if turn == 2 else kind, name, AGAIN[(number + turn) % len(AGAIN)])
    if name == "push.fetched":  # what is fetched was pushed by a process that could not say so any more
        harness.step("append", "push.appended", name)
    assert harness.report.reached[name] >= 1
    harness.check_other_host(harness.world.rows())


@pytest.fixture
def roots(place: Path, tmp_path: Path) -> tuple[str, ...]:
    """The workspace itself, and two directories on another disk than it; on one disk if there is no other."""
    others = [tmp_path / name for name in "ab"]
    for other in others:
        other.mkdir()
    return ("", *map(str, others))


@pytest.mark.parametrize("name", sampled(ROOT_NAMES, 4))
def test_a_move_to_another_disk_that_is_killed_anywhere_is_finished_or_given_up(
    server: Server, place: Path, store: str, roots: tuple[str, ...], name: str
) -> None:
    harness = _prepared(server, place / "ws", store, seed=ROOT_NAMES.index(name), roots=roots)
    for root in (roots[1], roots[2], ""):
        harness.root = root
        harness.step("append", name)
        harness.step("clean", name, ROOT_NAMES[ROOT_NAMES.index(name) - 1])
    assert harness.report.reached[name] >= 1
    harness.step("append", "root.copied")
    harness.moving = random.Random(1)  # the path is changed again after the kill
    harness.step("append", name, name)


@pytest.mark.slow
def test_random_kills_while_files_move_between_disks_lose_nothing(
    server: Server, place: Path, store: str, roots: tuple[str, ...]
) -> None:
    harness = LakeHarness(server, place / "ws", seed=3, store=store, roots=roots)
    soak_lake(harness, 60)
    report = harness.report
    assert (report.lost, report.twice, report.partial) == (0, 0, 0)


@pytest.mark.parametrize(
    ("seed", "kills"),
    [(1, 12), pytest.param(2, 40, marks=pytest.mark.slow), pytest.param(2, 100, marks=pytest.mark.soak)],
)
def test_random_kills_and_faults_lose_nothing(server: Server, place: Path, store: str, seed: int, kills: int) -> None:
    harness = LakeHarness(server, place / "ws", seed=seed, store=store)
    soak_lake(harness, kills)
    report = harness.report
    assert (report.lost, report.twice, report.partial) == (0, 0, 0)


@pytest.mark.xdist_group("s3")
@pytest.mark.parametrize(
    "kills", [3, pytest.param(20, marks=pytest.mark.slow), pytest.param(60, marks=pytest.mark.soak)]
)
def test_kills_lost_replies_and_cut_bodies_of_a_real_bucket_lose_nothing(
    server: Server, place: Path, bucket: TestBucket, proxy: proxies.Proxy, kills: int
) -> None:
    chance = random.Random(5)

    def fault(asked: Asked) -> proxies.Fault:
        if chance.random() > 0.15:
            return None
        kinds: list[proxies.Fault] = [proxies.Lost(), proxies.Answer(503, "SlowDown"), proxies.Slow(0.01)]
        return chance.choice([*kinds, proxies.Cut(20)] if asked.method == "GET" else kinds)

    harness = LakeHarness(server, place / "ws", seed=3, store=f"{proxy.url}#{bucket.name}")
    proxy.fault = lambda asked: None
    points = [*STORE_NAMES, "commit.after"]
    while harness.report.kills < kills:
        harness.rule = chance.choice(RULES)
        proxy.fault = fault if harness.report.kills % 2 else lambda asked: None
        try:
            _killed_step(harness, chance.choice(points), proxy)
        finally:
            proxy.fault = lambda asked: None
    harness.check_other_host(harness.world.rows())
    assert (harness.report.lost, harness.report.twice, harness.report.partial) == (0, 0, 0)


def _killed_step(harness: LakeHarness, point: str, proxy: proxies.Proxy) -> None:
    """A step under faults that is killed; what looks at the store, and the last run, have a sound connection."""
    faults = proxy.fault
    harness.on_run = lambda failpoint: setattr(proxy, "fault", faults if failpoint else lambda asked: None)
    harness.step("append", point, "push.put")


@pytest.mark.parametrize("name", sampled(LAKE_MUTANTS, 3))
def test_the_harness_catches_a_broken_push(server: Server, place: Path, name: str) -> None:
    for home in ("broken", "sound"):
        (place / f"{home}-lake").mkdir()
    with pytest.raises(BrokenError):
        _try(server, place / "broken", name)
    # The same steps are harmless without the mutation: it is the fault that was caught, not the test.
    _try(server, place / "sound", name, is_sound=True)


def _try(server: Server, home: Path, name: str, *, is_sound: bool = False) -> None:
    mutant = LAKE_MUTANTS[name]
    harness = _prepared(server, home, f"{home}-lake", seed=3)
    harness.mutant = "" if is_sound else name
    harness.rule, harness.faults = mutant.rule, mutant.faults
    harness.has_grace, harness.damages = mutant.has_grace, mutant.damages
    for _ in range(4):
        harness.step(mutant.kind, mutant.first)
        harness.step("append", "")
    harness.check_other_host(harness.world.rows())
