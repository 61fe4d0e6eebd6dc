"""The crash matrix: a collector killed at every failpoint, also twice in a row, loses and doubles nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tailpipe.catalog.failpoints import NAMES
from tests.crash.harness import FINISHED, UNDONE, BrokenError, Harness, Server, soak
from tests.crash.mutants import MUTANTS
from tests.crash.world import KINDS, StepKind
from tests.sampling import sampled

BEFORE_COMMIT = NAMES[: NAMES.index("commit.after")]


def _prepared(server: Server, home: Path, **options: object) -> Harness:
    harness = Harness(server, home, **options)  # type: ignore[arg-type]
    for kind in ("append", "append", "append", "append", "replace"):
        harness.step(kind, "")
    return harness


@pytest.mark.parametrize("name", sampled(NAMES, 8))
def test_a_kill_at_any_failpoint_leaves_whole_days(server: Server, place: Path, name: str) -> None:
    disk = "neither" if name == "project.copy" else "no-exchange" if name == "project.unlink" else "plain"
    harness = _prepared(server, place / "ws", seed=NAMES.index(name), disk=disk)
    for kind in KINDS * 4:
        if harness.report.reached[name] and kind == KINDS[0]:
            break  # one round for each kind of step; more only until the point was reached at all
        if name.startswith("rollback"):
            harness.step(kind, "store.synced", name)
        elif name == "recover.forward":
            harness.step(kind, "commit.after", name)
        else:
            # A second kill inside the recovery from the first.
            later = UNDONE if name in BEFORE_COMMIT else FINISHED
            harness.step(kind, name, later[KINDS.index(kind) % len(later)])
    assert harness.report.reached[name] >= 1


def test_a_compaction_that_is_killed_anywhere_changes_no_row(server: Server, place: Path) -> None:
    harness = _prepared(server, place / "ws", seed=5)
    points = ("staging.made", "store.rename", "store.synced", "commit.before")
    for name in points:
        harness.step("compact", name, "rollback.staging")
    for name in ("commit.after", "manifest.after", "project.link", "publish.before", "staging.removed"):
        harness.step("compact", name, "recover.forward")
    assert harness.report.kinds["compact"] >= 9


@pytest.mark.parametrize("disk", sampled(["plain", "no-links", "no-exchange", "neither"], 4))
def test_random_kills_lose_and_double_nothing(server: Server, place: Path, disk: str) -> None:
    report = soak(Harness(server, place / "ws", seed=7, disk=disk), kills=35)
    assert (report.kills >= 35, report.lost, report.twice, report.partial) == (True, 0, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_losing_power_undoes_nothing_that_was_committed(server: Server, place: Path, seed: int) -> None:
    report = soak(Harness(server, place / "ws", seed=seed, with_power_loss=True), kills=35)
    assert (report.lost, report.twice, report.partial) == (0, 0, 0)


@pytest.mark.parametrize("name", sampled(MUTANTS, 8))
def test_the_harness_catches_a_broken_protocol(server: Server, place: Path, name: str) -> None:
    mutant = MUTANTS[name]
    with pytest.raises(BrokenError):
        _try(server, place / "broken", mutant.kind, name)
    # The same steps are harmless without the mutation: it is the fault that was caught, not the test.
    _try(server, place / "sound", mutant.kind, name, is_sound=True)


def _try(server: Server, home: Path, kind: StepKind, name: str, *, is_sound: bool = False) -> None:
    mutant = MUTANTS[name]
    harness = _prepared(server, home, seed=3, with_power_loss=mutant.with_power_loss)
    harness.mutant = "" if is_sound else name
    for _ in range(6):
        harness.step(kind, mutant.first, mutant.second)
        harness.step("append", "")
        harness.step("replace", "")
