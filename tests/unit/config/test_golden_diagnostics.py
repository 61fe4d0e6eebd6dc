"""Every kind of mistake, and the exact text by which it is told.

A case is `tests/golden/diagnostics/NAME.tpc` with the expected text in `NAME.txt`, or a directory
`NAME/` of several `.tpc` files with `expected.txt`. `TAILPIPE_UPDATE_GOLDEN=1 pytest` writes the
expected texts anew; read them before you keep them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tailpipe.config.builder import build_config
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.config.text import ConfigText
from tailpipe.errors import ConfigError
from tests.unit.config.world import AROUND, REGISTRY

GOLDEN = Path(__file__).parents[2] / "golden" / "diagnostics"
CASES = sorted(path for path in GOLDEN.iterdir() if path.suffix != ".txt")


def _files(case: Path) -> list[Path]:
    return sorted(case.glob("*.tpc")) if case.is_dir() else [case]


def _expected(case: Path) -> Path:
    return case / "expected.txt" if case.is_dir() else case.with_suffix(".txt")


def _told(case: Path) -> str:
    texts = [ConfigText(file.name, file.read_bytes().decode(), file.parent) for file in _files(case)]
    try:
        missing = build_config(texts, REGISTRY, AROUND).unresolved
    except ConfigError as error:
        return render_diagnostics(error.diagnostics)
    return render_diagnostics(missing) or "no problem\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_the_mistake_is_told_in_exactly_these_words(case: Path) -> None:
    told = _told(case)
    if os.environ.get("TAILPIPE_UPDATE_GOLDEN") == "1":
        _expected(case).write_text(told)
    assert _expected(case).exists(), f"{_expected(case).name} is missing; write it with TAILPIPE_UPDATE_GOLDEN=1"
    assert told == _expected(case).read_text()
    assert told != "no problem\n"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_message_is_lower_case_and_has_no_full_stop(case: Path) -> None:
    for line in _told(case).splitlines():
        if line.startswith("error: "):
            assert not line.endswith(".")
            assert not line.removeprefix("error: ")[0].isupper()


def test_every_expected_text_has_its_case() -> None:
    texts = [path for path in GOLDEN.rglob("*.txt") if path.parent == GOLDEN or path.name == "expected.txt"]
    assert sorted(texts) == sorted(_expected(case) for case in CASES)


def test_there_are_cases_of_every_kind() -> None:
    assert len(CASES) >= 75
