"""A real cluster without a shared directory: workers that see neither the workspace nor each other's disks."""

from __future__ import annotations

import io
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb
import pyarrow
import pyarrow.parquet as pq
import pytest

import tailpipe
from tailpipe.storage.object_stores import open_objects
from tests.aws.server import ACCESS_KEY, READER_KEY, READER_SECRET, SECRET_KEY, s3_server
from tests.crash.processes import Collecting, kill, until
from tests.crash.processes import collect as collect_within
from tests.spark.cluster import Cluster, can_hide
from tests.spark.isolated import KEYS, Islands

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("isolated"),
    pytest.mark.skipif(not can_hide(), reason="NOT TESTED: this machine allows no mount namespaces"),
]


PATIENCE = 1200.0
"""An environment of 400 MB is unpacked by each executor, and the machine may be busy."""


def collect(install: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Collecting:
    return collect_within(install, *arguments, env=env, patience=PATIENCE)


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


def test_executors_read_the_store_and_write_a_large_answer(islands: Islands, local: Path) -> None:
    install = islands.installs / "calm"
    assert (install / "data").exists(), "the test before has collected it"
    sql = "SELECT event, tp_id, tp_timestamp FROM app_log"
    words = ("query", "--engine", "spark", "--to-file", "s3://logs/answers/all", sql)
    done = subprocess.run(
        [sys.executable, "-m", "tailpipe", *words],
        env={**os.environ, **KEYS, "TAILPIPE_INSTALL_DIR": str(install)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert re.search(r"wrote \d+ files \(\S+ kB\) to s3://logs/answers/all", done.stderr)
    objects = open_objects("s3://logs/answers/all", islands.connection)
    tables = [pq.read_table(io.BytesIO(objects.get(one.key))) for one in objects.list("")]
    found = sorted(row for table in tables for row in zip(*table.to_pydict().values(), strict=True))
    wanted = [dict(row) for row in islands.rows(local)["app_log.shop"]]
    assert found == sorted((row["event"], row["tp_id"], row["tp_timestamp"]) for row in wanted)


def test_a_lost_executor_and_a_lost_worker_lose_nothing(islands: Islands, local: Path) -> None:
    install = islands.install("lost")
    run = Collecting(install, env=KEYS)
    until(lambda: run.committed >= 1, alive=run)
    kill(islands.executors(0)[0])
    until(lambda: run.committed >= 2, alive=run)
    islands.cluster.kill(islands.cluster.workers[1])
    assert run.end(PATIENCE) == 0, run.err + run.out
    islands.add_worker()
    assert islands.rows(install) == islands.rows(local)
    assert islands.accounts(install) == islands.accounts(local)


def test_drivers_that_are_killed_at_each_step_are_followed_by_one_on_an_empty_disk(
    islands: Islands, local: Path
) -> None:
    for number, point in enumerate(("land.checked:1", "land.appended:2", "learn.before:5")):
        install = islands.install(f"killed-{number}", lake="killed")
        run = collect(install, env={**KEYS, "TAILPIPE_TEST": "1", "TAILPIPE_FAILPOINT": f"{point}=kill"})
        assert run.process.returncode == -signal.SIGKILL, run.err + run.out
    install = islands.install("last", lake="killed")
    run = collect(install, env=KEYS)
    assert run.process.returncode == 0, run.err + run.out
    assert islands.rows(install, "killed") == islands.rows(local)
    assert islands.accounts(install) == islands.accounts(local)


def test_two_drivers_at_once_land_everything_once(islands: Islands, local: Path) -> None:
    installs = [islands.install(f"both-{number}", lake="both", workers=1) for number in (0, 1)]
    runs = [Collecting(install, env=KEYS) for install in installs]
    codes = [run.end(PATIENCE) for run in runs]
    assert 0 in codes, "\n".join(run.err + run.out for run in runs)
    last = islands.install("both-last", lake="both")
    assert collect(last, env=KEYS).process.returncode == 0
    assert islands.rows(last, "both") == islands.rows(local)
    assert islands.accounts(last) == islands.accounts(local)


def test_keys_do_not_travel_over_a_network_where_others_listen(islands: Islands) -> None:
    keys = f'access_key = "{ACCESS_KEY}"\n  secret_key = "{SECRET_KEY}"'
    run = collect(islands.install("open", keys=keys), "access_log.web")
    text = run.err + run.out
    assert run.process.returncode == 1
    assert "connection.aws.local holds secrets" in text
    assert SECRET_KEY not in text


def test_an_environment_that_the_hosts_lack_is_sent_to_them(islands: Islands, local: Path) -> None:
    bare = tuple(Path(module.__file__).parent for module in (duckdb, pyarrow, tailpipe) if module.__file__)
    for worker in islands.cluster.workers:
        islands.cluster.kill(worker)
    worker = islands.add_worker(hidden=bare)
    try:
        install = islands.install("shipped", spark="archive = true", workers=1)
        run = collect(install, "access_log.web", env=KEYS)
        assert run.process.returncode == 0, run.err + run.out
        assert islands.rows(install)["access_log.web"] == islands.rows(local)["access_log.web"]
    finally:
        islands.cluster.kill(worker)


def test_hosts_that_are_not_ready_are_all_named_with_their_reasons(islands: Islands, tmp_path: Path) -> None:
    (tmp_path / "late").mkdir()
    (tmp_path / "late" / "sitecustomize.py").write_text(
        "import time\nnow = time.time\ntime.time = lambda: now() + 900\n"
    )
    readers = {"AWS_ACCESS_KEY_ID": READER_KEY, "AWS_SECRET_ACCESS_KEY": READER_SECRET}
    node = platform.node()
    cases: list[tuple[dict[str, str], tuple[Path, ...], str]] = [
        (readers, (), f'{node} cannot use store "lake": permission denied'),
        ({"PYTHONPATH": str(tmp_path / "late")}, (), rf"the clock of {node} is [89]\d\d s ahead of that of store"),
        ({}, (Path(duckdb.__file__).parent,), f"{node} lacks duckdb"),
    ]
    for worker in islands.cluster.workers:
        islands.cluster.kill(worker)
    bad = [islands.add_worker(env, hidden) for env, hidden, _ in cases]
    run = collect(islands.install("wrong", workers=len(cases)), "access_log.web", env=KEYS)
    for worker in bad:
        islands.cluster.kill(worker)
    text = run.err + run.out
    assert run.process.returncode == 1, text
    for _, _, told in cases:
        assert re.search(told, text), text
    assert "Traceback" not in text
    assert READER_SECRET not in text
