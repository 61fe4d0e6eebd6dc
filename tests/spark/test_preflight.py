"""The preflight without a cluster: differences between hosts, and the memory that is left for DuckDB."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tailpipe.errors import SparkError
from tailpipe.spark.cluster import check_master
from tailpipe.spark.preflight import Probe, check_cluster, differences, memory_limit

VERSIONS = {"Python": "3.11.7", "tailpipe": "1.0", "duckdb": "1.5.5"}


def probe(versions: Mapping[str, str] = VERSIONS, plugins: Mapping[str, str] | None = None, disk: str = "") -> Probe:
    return Probe("host7", 1, versions, plugins or {"aws": "1.0"}, disk)


def test_equal_hosts_differ_in_nothing() -> None:
    assert differences(probe().software, [probe(), probe()]) == []


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (probe({**VERSIONS, "duckdb": "1.4.0"}), "host7 has duckdb 1.4.0, not 1.5.5"),
        (probe({**VERSIONS, "Python": "3.11.9"}), "host7 has Python 3.11.9, not 3.11.7"),
        (probe({"Python": "3.11.7", "duckdb": "1.5.5"}), "host7 lacks tailpipe 1.0"),
        (probe(plugins={"core": "1.0"}), "host7 lacks plugin aws 1.0"),
        (probe(plugins={"aws": "0.9"}), "host7 has plugin aws 0.9, not 1.0"),
        (probe(disk='does not see "/x"'), 'host7 does not see "/x"'),
    ],
)
def test_a_difference_is_told_with_host_and_versions_and_once(other: Probe, told: str) -> None:
    assert differences(probe().software, [other, other]) == [told]


@pytest.mark.parametrize(
    ("conf", "cores", "limit"),
    [
        ({"spark.executor.memoryOverhead": "2g"}, 2, "716MiB"),
        ({"spark.executor.memoryOverhead": "4096"}, 1, "2867MiB"),
        ({"spark.executor.memoryOverhead": "8g", "spark.executor.cores": "4"}, 99, "1433MiB"),
        ({"spark.executor.memory": "20g"}, 2, "716MiB"),
        ({}, 8, "256MiB"),
    ],
)
def test_the_memory_beside_the_heap_is_shared_by_the_tasks(conf: dict[str, str], cores: int, limit: str) -> None:
    assert memory_limit(conf, cores) == limit


def test_this_machine_passes_its_own_preflight(spark: SparkSession, tmp_path: Path) -> None:
    check_cluster(spark.sparkContext, tmp_path / "staging", 60)
    assert list(tmp_path.iterdir()) == []


def test_a_master_that_is_not_there_is_named_at_once() -> None:
    with socket.socket() as dead:  # bound, and not listening
        dead.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{dead.getsockname()[1]}"
        with pytest.raises(SparkError) as raised:
            check_master(f"spark://{address}")
        assert (
            raised.value.message == f"cannot reach the Spark master spark://{address} ({address}: Connection refused)"
        )
        with socket.socket() as alive:
            alive.bind(("127.0.0.1", 0))
            alive.listen()
            check_master(f"spark://{address},127.0.0.1:{alive.getsockname()[1]}")  # one of several is enough


@pytest.mark.parametrize("master", ["local[2]", "yarn", "k8s://https://host.invalid"])
def test_other_masters_are_left_to_spark(master: str) -> None:
    check_master(master)
