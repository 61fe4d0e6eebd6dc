"""Mistakes in the SQL of the config are told before anything runs, each at its place.

`tests/golden/sql/NAME.tpc` beside `NAME.txt`, the exact text; `TAILPIPE_UPDATE_GOLDEN=1` writes the latter anew.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tailpipe.collect.check import check_sql
from tailpipe.config.builder import build_config
from tailpipe.config.diagnostics import render_diagnostics
from tailpipe.config.functions import Surroundings
from tailpipe.config.text import ConfigText
from tailpipe.errors import ConfigError
from tailpipe.plugin import Registry

GOLDEN = Path(__file__).parents[2] / "golden" / "sql"
CASES = sorted(path.stem for path in GOLDEN.glob("*.tpc"))


def told(name: str) -> str:
    text = ConfigText(f"{name}.tpc", (GOLDEN / f"{name}.tpc").read_text())
    around = Surroundings(datetime(2024, 3, 1, tzinfo=UTC), {}, "/home/me")
    config = build_config([text], Registry.installed(), around)
    try:
        check_sql(config, [(one, config.tables[one.table]) for one in config.partitions.values()])
    except ConfigError as error:
        return render_diagnostics(error.diagnostics)
    return "no problems found\n"


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_in_sql_is_told_at_its_place(name: str) -> None:
    expected = GOLDEN / f"{name}.txt"
    if os.environ.get("TAILPIPE_UPDATE_GOLDEN"):
        expected.write_text(told(name))
    assert told(name) == expected.read_text()


def test_every_text_belongs_to_a_case() -> None:
    assert sorted(path.stem for path in GOLDEN.glob("*.txt")) == CASES
    assert len(CASES) >= 20
