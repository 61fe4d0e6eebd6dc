"""What docs/engines.md says of the engines that are here."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tailpipe.model.table import Column
from tailpipe.storage.object_stores import open_objects
from tailpipe.stores.delta import publish
from tests.delta import spark41
from tests.delta.lake import Lake, change, day
from tests.delta.readers import extension
from tests.unit.docs.pages import fences, read

LOCATION = "s3://acme-logs/tailpipe/data/app_log"


def part(title: str) -> str:
    return read("docs/engines.md").split(f"\n## {title}\n")[1].split("\n## ")[0]


def code(title: str) -> str:
    (found,) = fences(part(title))
    return found.body


@pytest.fixture
def location(tmp_path: Path, staging: Path) -> str:
    """A table with a row on each of three days."""
    (tmp_path / "store").mkdir()
    lake = Lake(open_objects(str(tmp_path / "store")), staging, [Column("host", "varchar")])
    lake.put("things.prod", [day(n) for n in (1, 2, 3)])
    publish(lake.objects, "things", [change("things.prod", 1, lake.files)])
    return str(tmp_path / "store/data/things")


def test_the_statements_of_duckdb_answer(location: str) -> None:
    text = code("DuckDB").replace(LOCATION, location)
    install = "INSTALL delta; LOAD delta;"
    assert install in text
    with duckdb.connect() as connection:
        assert connection.execute(text.replace(install, f"{extension('delta')};")).fetchall() == [(1,)]


@pytest.mark.parametrize("title", ["deltalake", "Polars"])
def test_the_python_of_the_page_gives_the_rows(location: str, title: str) -> None:
    names: dict[str, Any] = {}
    exec(code(title).replace(LOCATION, location), names)
    if title == "deltalake":
        assert names["rows"].num_rows == 3
    else:
        assert sorted(names["frame"].collect()["tp_date"]) == [date(2024, 1, day) for day in (1, 2, 3)]


def test_the_package_for_spark_is_the_one_that_is_tested() -> None:
    package = ":".join(spark41.PACKAGE)
    assert set(re.findall(r"io\.delta:[\w.:-]+", part("Spark"))) == {package}
