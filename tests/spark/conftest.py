"""One Spark session for the run, and the helpers that tests of jobs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailpipe.config.settings import SparkSettings
from tailpipe.spark.session import open_context, session_of, stop_context
from tests.unit.query.attempts import SECRET, VARIABLE

ROOT = Path(__file__).resolve().parents[2]


def pytest_itemcollected(item: pytest.Item) -> None:
    """Keep what needs the session in one worker of the run: there is a JVM to each."""
    if "spark" in getattr(item, "fixturenames", ()):
        item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the session logs; blanks and letters are no trouble, whatever the locale."""
    return tmp_path_factory.mktemp("blanks and ü") / "spark.log"


@pytest.fixture(scope="session")
def spark(spark_log: Path) -> Iterator[SparkSession]:
    """Spark as `collect` starts it, on two cores; its workers find the classes of the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        patch.setenv("LC_ALL", "C")
        patch.setenv(VARIABLE, SECRET)
        context = open_context(SparkSettings(master="local[2]"), cache=spark_log.parent / "cache", log=spark_log)
    yield session_of(context)
    stop_context(context)


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    """A directory in which tasks leave traces."""
    path = tmp_path / "marks"
    path.mkdir()
    return path
