"""A real cluster without a shared directory: workers that see neither the workspace nor each other's disks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.aws.server import s3_server
from tests.crash.processes import collect
from tests.spark.cluster import Cluster, can_hide
from tests.spark.isolated import KEYS, Islands

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("isolated"),
    pytest.mark.skipif(not can_hide(), reason="NOT TESTED: this machine allows no mount namespaces"),
]


@pytest.fixture(scope="module")
def islands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Islands]:
    root = tmp_path_factory.mktemp("isolated")
    (root / "s3").mkdir()
    with s3_server(root / "s3") as url, Cluster(root / "spark") as cluster:
        made = Islands(root, url, cluster)
        made.add_worker()
        made.add_worker()
        yield made


@pytest.fixture(scope="module")
def local(islands: Islands) -> Path:
    return islands.local()


def test_rows_ids_and_accounts_are_those_of_local_mode(islands: Islands, local: Path) -> None:
    install = islands.install("calm")
    run = collect(install, env=KEYS)
    assert run.process.returncode == 0, run.err + run.out
    assert islands.rows(install) == islands.rows(local)
    assert islands.accounts(install) == islands.accounts(local)
    for number in (0, 1):  # both of them worked
        assert list((islands.cluster.home / f"worker{number}").glob("app-*"))
