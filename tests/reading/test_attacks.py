"""No statement gets out through the gate or the cache, and none sees a credential."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.model.store import Store
from tailpipe.query.session import Session
from tests.aws.conftest import TestBucket
from tests.aws.server import ACCESS_KEY, SECRET_KEY, owner
from tests.reading.attempts import ATTEMPTS, QUIET, trapping
from tests.reading.support import Remote, asked, large


@pytest.fixture(scope="module")
def trap() -> Iterator[tuple[int, list[str]]]:
    """A server of somebody else, and what reached it."""
    with trapping() as trap:
        yield trap


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, s3_url: str, trap: tuple[int, list[str]]) -> Iterator[Remote]:
    """Files in a real bucket, and an environment with a proxy that would see requests to the gate."""
    bucket = TestBucket(s3_url, "attacked")
    bucket.client.create_bucket(Bucket=bucket.name)
    root = tmp_path_factory.mktemp("attacked") / ".tailpipe"
    (root / "files").mkdir(parents=True)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
            patch.setenv(name, f"http://127.0.0.1:{trap[0]}")
        patch.setenv("NO_PROXY", "127.0.0.1")  # for the store alone: DuckDB does not look at it
        remote = Remote(root, Store(name="lake", location=f"s3://{bucket.name}/logs", connection=owner(s3_url)))
        remote.add(0)
        remote.add(1, partition="app_log.dev")
        large(remote, 2)
        yield remote


@pytest.fixture(scope="module")
def session(home: Remote) -> Iterator[Session]:
    """A session that has fetched a file and reads another through its gate; others have files in the cache too."""
    with home.session() as other:
        asked(other, "SELECT count(*) FROM app_log WHERE tp_partition = 'dev'")
        with home.session() as session:
            assert asked(session, "SELECT count(*) FROM app_log WHERE tp_partition = 'prod'") == [(400_010,)]
            session.__dict__["foreign"] = other._files._reader.directory  # type: ignore[union-attr]
            yield session


def filled(sql: str, home: Remote, session: Session, trap: int) -> str:
    files = session._files
    assert files is not None
    assert files._reader is not None
    gate = files._reader.gate_prefix
    assert gate is not None
    parts = urlsplit(gate)
    return sql.format(
        gate=gate,
        port=parts.port,
        token=parts.path.strip("/"),
        trap=trap,
        location=home.store.location,
        key=home.files[1].key,
        other=home.files[1].sha256,
        cache=home.root / "cache",
        links=files._reader.directory,
        foreign=session.__dict__["foreign"],
    )


@pytest.mark.xdist_group("s3")
@pytest.mark.parametrize("sql", ATTEMPTS)
def test_an_attempt_is_refused_and_reaches_nobody(
    home: Remote, session: Session, trap: tuple[int, list[str]], sql: str
) -> None:
    before = sorted((home.root / "cache").iterdir())
    with pytest.raises(TailpipeError) as refused:
        asked(session, filled(sql, home, session, trap[0]))
    said = refused.value.message + refused.value.hint
    assert SECRET_KEY not in said
    assert ACCESS_KEY not in said
    assert trap[1] == []
    assert sorted((home.root / "cache").iterdir()) == before
    assert asked(session, "SELECT max(n) FROM app_log WHERE tp_partition = 'prod'") == [(2_399_999,)]


@pytest.mark.xdist_group("s3")
@pytest.mark.parametrize("sql", QUIET)
def test_no_answer_holds_a_credential(home: Remote, session: Session, trap: tuple[int, list[str]], sql: str) -> None:
    try:
        answer = session.run(filled(sql, home, session, trap[0]))
        said = f"{answer.columns} {list(answer.rows)}"
    except TailpipeError as error:
        said = error.message + error.hint
    assert SECRET_KEY not in said
    assert ACCESS_KEY not in said


@pytest.mark.xdist_group("s3")
def test_there_are_no_secrets_in_a_session(session: Session) -> None:
    assert asked(session, "SELECT count(*) FROM duckdb_secrets()") == [(0,)]
    settings = dict(asked(session, "SELECT name, value FROM duckdb_settings() WHERE name LIKE 's3_%'"))
    assert not settings["s3_access_key_id"]
    assert not settings["s3_secret_access_key"]
    assert not settings["s3_session_token"]


@pytest.mark.xdist_group("s3")
def test_a_session_reads_the_files_of_its_own_through_the_gate(session: Session, home: Remote) -> None:
    """What a statement may name itself is what its tables hold anyway."""
    sql = filled("SELECT count(*) FROM read_parquet('{gate}0')", home, session, 0)
    assert asked(session, sql) == [(400_000,)]


def test_the_gate_of_a_session_is_closed_with_it(here: Remote) -> None:
    large(here, 0)
    with here.session() as session:
        asked(session, "SELECT max(n) FROM app_log")
        gate = session._files._reader.gate_prefix  # type: ignore[union-attr]
        links = session._files._reader.directory  # type: ignore[union-attr]
    assert not Path(links).exists()
    with here.session() as session:
        asked(session, "SELECT max(n) FROM app_log")
        with pytest.raises(TailpipeError):
            asked(session, f"FROM read_parquet('{gate}0')")
