"""Arrays from bytes are those that Arrow makes of Python objects."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tailpipe.sql.arrow import numbers, strings


@pytest.mark.parametrize(
    "values",
    [
        [],
        ["a"],
        [None],
        ["", None, "ü€😀", "\0", "x" * 1000],
        [str(number) if number % 3 else None for number in range(100)],
    ],
)
def test_texts(values: list[str | None]) -> None:
    made = strings(values)
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.string()))


@pytest.mark.parametrize("values", [[], [0], [None], [1, None, -(2**63), 2**63 - 1, 0] * 5])
def test_numbers(values: list[int | None]) -> None:
    made = numbers(values, pa.int64())
    made.validate(full=True)
    assert made.equals(pa.array(values, pa.int64()))


def test_pandas_is_not_imported_for_them(tmp_path: Path) -> None:
    (tmp_path / "pandas.py").write_text("raise SystemExit('imported')")
    program = (
        "import pyarrow as pa\nfrom tailpipe.sql.arrow import numbers, strings\n"
        "print(strings(['a', None]).to_pylist(), numbers([None, 2], pa.int64()).to_pylist())"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("['a', None] [None, 2]\n", "")
