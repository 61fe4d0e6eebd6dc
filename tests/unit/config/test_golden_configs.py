"""Good configs, and exactly what they mean.

A case is a directory `tests/golden/configs/NAME/` of `.tpc` files with the decoded config in
`expected.json`. `TAILPIPE_UPDATE_GOLDEN=1 pytest` writes the expected data anew; read it before you
keep it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tailpipe.config.config import Config
from tailpipe.config.encoder import config_data, config_text
from tailpipe.config.loader import load_config
from tests.unit.config.world import AROUND, REGISTRY, build

GOLDEN = Path(__file__).parents[2] / "golden" / "configs"
CASES = sorted(path for path in GOLDEN.iterdir() if path.is_dir())


def _load(case: Path) -> Config:
    return load_config([case], REGISTRY, AROUND)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_config_means_exactly_this(case: Path) -> None:
    expected = case / "expected.json"
    found = json.dumps(config_data(_load(case)), indent=2, ensure_ascii=False) + "\n"
    if os.environ.get("TAILPIPE_UPDATE_GOLDEN") == "1":
        expected.write_text(found)
    assert json.loads(found) == json.loads(expected.read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_config_as_it_is_shown_means_the_same_with_secrets_masked(case: Path) -> None:
    config = _load(case)
    shown = config_text(config)
    again = build(shown)
    assert config_data(again) == config_data(config)
    assert config_text(again) == shown


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_no_secret_is_in_what_is_shown(case: Path) -> None:
    config = _load(case)
    assert "hunter2" not in config_text(config) + json.dumps(config_data(config)) + repr(config)


def test_there_are_cases() -> None:
    assert CASES
