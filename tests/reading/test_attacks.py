"""No statement gets out through the gate or the cache, and none sees a credential."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tailpipe.errors import TailpipeError
from tailpipe.model.store import Store
from tailpipe.query.session import Session
from tests.aws.conftest import TestBucket
from tests.aws.server import ACCESS_KEY, SECRET_KEY, owner
from tests.reading.support import Remote, asked, large

READERS = ("read_text", "read_blob", "read_parquet", "read_csv", "read_json", "glob", "parquet_metadata", "sniff_csv")
ATTEMPTS = [
    # other hosts and ports
    *(f"FROM {reader}('http://127.0.0.1:{{trap}}/x')" for reader in READERS),
    "FROM read_text('http://localhost:{port}/{token}/0')",
    "FROM read_text('https://127.0.0.1:{port}/{token}/0')",
    "FROM read_text('http://user:password@127.0.0.1:{port}/{token}/0')",
    "FROM read_text('http://127.0.0.1:{port}@127.0.0.1:{trap}/{token}/0')",
    "FROM read_text('http://127.0.0.1:{port}.example.com/{token}/0')",
    "FROM read_text('http://127.0.0.1:{trap}#http://127.0.0.1:{port}/{token}/0')",
    "FROM read_text('hf://datasets/a/b')",
    "FROM 'http://127.0.0.1:{trap}/x.parquet'",
    # the store itself
    "FROM read_text('{location}/{key}')",
    "FROM read_text('{location}/{key}?s3_endpoint=127.0.0.1:{trap}')",
    "FROM read_text('s3://bucket/x?s3_endpoint=127.0.0.1:{trap}&s3_use_ssl=false')",
    "FROM read_text('s3a://bucket/x')",
    "FROM read_text('gs://bucket/x')",
    "FROM read_text('r2://bucket/x')",
    "FROM read_text('az://bucket/x')",
    # other keys, through the gate
    "FROM read_text('{gate}1000')",
    "FROM read_text('{gate}{key}')",
    "FROM read_text('{gate}../{key}')",
    "FROM read_text('{gate}%2e%2e/{key}')",
    "FROM read_text('{gate}..%2f{key}')",
    "FROM read_text('{gate}0?s3_endpoint=127.0.0.1:{trap}')",
    "FROM read_text('{gate}http://127.0.0.1:{trap}/x')",
    "FROM read_text('{gate}/127.0.0.1:{trap}/x')",
    "FROM read_text('{gate}../../127.0.0.1:{trap}')",
    "FROM glob('{gate}*')",
    "FROM read_text('{gate}*')",
    "FROM read_text('http://127.0.0.1:{port}/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA/0')",
    # the cache by its paths
    "FROM read_blob('{cache}/{other}')",
    "FROM read_parquet('{cache}/{other}')",
    "FROM read_blob('{links}/../{other}')",
    "FROM read_blob('{links}/../*')",
    "FROM glob('{cache}/*')",
    "FROM read_blob('{foreign}/*')",
    "FROM read_text('{cache}/../catalog.db')",
    # writing
    "COPY (SELECT 1) TO '{gate}0'",
    "COPY (SELECT 1) TO 'http://127.0.0.1:{trap}/x.csv'",
    "COPY app_log TO 's3://bucket/x.parquet'",
    "COPY (SELECT 1) TO '{links}/x.csv'",
    "EXPORT DATABASE 'http://127.0.0.1:{trap}/'",
    # databases, extensions, settings, secrets
    "ATTACH '{gate}0' AS other",
    "ATTACH 'http://127.0.0.1:{trap}/x.db' AS other",
    "ATTACH 's3://bucket/x.db' AS other (READ_ONLY)",
    "INSTALL aws",
    "INSTALL httpfs FROM 'http://127.0.0.1:{trap}'",
    "LOAD aws",
    "LOAD '{links}/x.duckdb_extension'",
    "FORCE INSTALL httpfs",
    "SET http_proxy = '127.0.0.1:{trap}'",
    "SET GLOBAL http_proxy = '127.0.0.1:{trap}'",
    "SET s3_endpoint = '127.0.0.1:{trap}'",
    "SET s3_access_key_id = 'x'",
    "SET allowed_directories = ['/']",
    "SET enable_external_access = true",
    "SET ca_cert_file = '/etc/passwd'",
    "SET httpfs_client_implementation = 'curl'",
    "SET http_logging_output = '/tmp/x'",
    "SET lock_configuration = false",
    "RESET http_proxy",
    "PRAGMA enable_logging('HTTP')",
    "CALL enable_logging('HTTP')",
    "CREATE SECRET s (TYPE s3, KEY_ID 'a', SECRET 'b', ENDPOINT '127.0.0.1:{trap}')",
    "CREATE PERSISTENT SECRET s (TYPE http, BEARER_TOKEN 'a')",
    "CREATE SECRET s (TYPE http, HTTP_PROXY 'http://127.0.0.1:{trap}')",
    "DROP SECRET s",
    "SELECT getenv('AWS_SECRET_ACCESS_KEY')",
    "FROM query('FROM read_text(''http://127.0.0.1:{trap}/x'')')",
]
QUIET = [
    "FROM duckdb_secrets()",
    "FROM which_secret('s3://bucket/x', 's3')",
    "FROM duckdb_settings()",
    "FROM duckdb_variables()",
    "FROM duckdb_views()",
    "FROM duckdb_logs()",
    "FROM duckdb_extensions()",
    "FROM duckdb_external_file_cache()",
    "FROM tp_catalog.files",
    "EXPLAIN ANALYZE SELECT max(n) FROM app_log",
]
"""Statements that may be answered; no answer holds a credential."""


class _Trap(http.server.BaseHTTPRequestHandler):
    seen: list[str]

    def do_any(self) -> None:
        self.seen.append(f"{self.command} {self.path}")
        self.send_response(302)
        self.send_header("Location", "http://127.0.0.1:1/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def trap() -> Iterator[tuple[int, list[str]]]:
    """A server of somebody else, and what reached it."""
    methods = {f"do_{name}": _Trap.do_any for name in ("GET", "HEAD", "POST", "PUT", "CONNECT")}
    seen: list[str] = []
    handler = type("Trap", (_Trap,), {"seen": seen, **methods})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], seen
    server.shutdown()
    server.server_close()


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
