"""How long views of the explorer take over ten million rows, and over a catalog of a hundred million; over HTTP."""

from __future__ import annotations

import asyncio
import http.client
import json
import shutil
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from tailpipe.catalog.catalog import Catalog
from tailpipe.home.home import Home
from tailpipe.http_guard.browsers import BrowserAccess
from tailpipe.kernel.stage import Stage
from tailpipe.kernel.task import Staging
from tailpipe.model.artifact import Accounts
from tailpipe.model.ledger import LedgerEntry, Unit
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.staged import Staged, StagedArtifact
from tailpipe.serve.app import Explorer
from tailpipe.serve.limits import Limits
from tailpipe.serve.listen import Server, bind
from tailpipe.sql.connection import connect

DAYS = 30
ROWS = 10_000_000
SIMULATED = 90_000_000
LAST = date(2026, 10, 30)
FIRST = LAST - timedelta(days=DAYS - 1)
OWN = {
    "remote_addr": "VARCHAR",
    "method": "VARCHAR",
    "path": "VARCHAR",
    "status": "INTEGER",
    "bytes": "BIGINT",
    "user_agent": "VARCHAR",
    "remote_user": "VARCHAR",
}
COLUMNS = {**OWN, **{name: kind.stored for name, kind in COMMON_TYPES.items()}}
VALUES = {
    "remote_addr": "concat_ws('.', 10 + h % 180, h // 7 % 250, h // 11 % 250, h // 13 % 250)",
    "method": "CASE WHEN h % 10 < 8 THEN 'GET' WHEN h % 10 = 8 THEN 'POST' ELSE 'HEAD' END",
    "path": "'/' || ['login', 'search', 'cart', 'item', 'api/v1/order'][1 + (h // 3 % 5)::INT] || '/' || h // 5 % 2000",
    "status": "CASE WHEN h % 100 < 90 THEN 200 WHEN h % 100 < 96 THEN 404 WHEN h % 100 < 99 THEN 302 ELSE 500 END",
    "bytes": "h % 50000",
    "user_agent": "'Mozilla/5.0 (X11; Linux x86_64) Build/' || h // 17 % 300",
    "remote_user": "CASE WHEN h % 5 = 0 THEN 'user' || h // 19 % 5000 END",
    "tp_id": "lpad(h::VARCHAR, 20, '0') || '-' || i",
    "tp_timestamp": "day + to_microseconds((i * (86400000000 / {rows}))::BIGINT)",
    "tp_date": "day::DATE",
    "tp_index": "'default'",
    "tp_table": "'web_log'",
    "tp_partition": "'prod'",
    "tp_source_ip": "remote_addr",
    "tp_ingest_timestamp": "TIMESTAMP '2026-11-01'",
}
FAKE = """
WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < :days),
    facts AS (SELECT i, date(:first, '-' || i || ' days') AS day FROM numbers)
INSERT INTO files (path, partition_id, transaction_id, unit, role, tp_index, tp_date, rows, bytes, sha256,
    min_timestamp, max_timestamp, columns_id, here, there, key)
SELECT 'files/tp_table=web_log/tp_partition=prod/tp_index=default/tp_date=' || day || '/' || printf('%08d', i),
    f.partition_id, f.transaction_id, day, 'data', 'default', day, :rows, 100000, printf('%064d', i),
    unixepoch(day) * 1000000, unixepoch(day) * 1000000 + 86399000000, f.columns_id, 0, 1, printf('data/%d', i)
    FROM facts, (SELECT * FROM files LIMIT 1) f
"""
FIELDS = ["method", "status", "path", "user_agent", "remote_user", "remote_addr", "tp_partition"]


def main(options: Sequence[str] = ()) -> None:
    rows = int(options[1]) if options[:1] == ["--rows"] else ROWS
    home = Path(tempfile.mkdtemp(prefix="bench-explorer-"))
    try:
        begun = time.process_time()
        _fill(home, rows)
        print(f"{rows:,} rows in {DAYS} files written in {time.process_time() - begun:.0f} s of CPU")
        _views(home, f"{rows:,} rows")
        _simulate(home, rows)
        _large(home)
    finally:
        shutil.rmtree(home)


def _fill(home: Path, rows: int) -> None:
    """A file for each day, committed as a collection would."""
    a_day = rows // DAYS
    filled = {**dict.fromkeys(COLUMNS, "NULL"), **VALUES}
    items = ", ".join(f'({filled[name].format(rows=a_day)})::{kind} AS "{name}"' for name, kind in COLUMNS.items())
    with Catalog.open(home / "data" / "default") as catalog, catalog.writer("web_log.prod") as writer, connect() as own:
        for number in range(DAYS):
            day, now = FIRST + timedelta(days=number), datetime.now(UTC)
            unit = Unit(day=day)
            entry = LedgerEntry(f"file:{day}", "file", unit, now, uri=f"file:{day}", committed_ordinals=a_day)
            transaction = writer.begin(unit)
            stage = Stage(Staging(str(transaction.staging), "rows"))
            source = (
                f"SELECT i, hash(i + {number * a_day}) // 2 AS h, TIMESTAMP '{day}' AS day FROM range({a_day}) t(i)"
            )
            stage.copy(own, f"SELECT {items} FROM ({source})", (day, "default"), COLUMNS)
            accounts = Accounts(read=a_day, kept=a_day)
            transaction.commit(Staged(tuple(stage.files), (StagedArtifact(entry, accounts),), ingested_at=now))


def _simulate(home: Path, rows: int) -> None:
    """Older days that only the catalog has."""
    a_day = rows // DAYS
    with Catalog.open(home / "data" / "default") as catalog, catalog.database.writing() as connection:
        days = SIMULATED // ROWS * DAYS
        connection.execute(FAKE, {"days": days, "first": FIRST.isoformat(), "rows": a_day})


class _Client:
    """An explorer of its own, and requests to it."""

    def __init__(self, install: Path) -> None:
        home = Home.open(env={"TAILPIPE_INSTALL_DIR": str(install)})
        limits = Limits()
        self._socket = bind("127.0.0.1", 0)
        self._port = self._socket.getsockname()[1]
        access = BrowserAccess.to(["127.0.0.1"], self._port)
        self._explorer = Explorer(home, access, limits)
        self._server = Server(self._explorer.app, limits, self._explorer.pool)
        self._headers = {"Cookie": f"{access.cookie}={access.session}", "Content-Type": "application/json"}
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve([self._socket])), daemon=True)
        self._thread.start()

    def ask(self, path: str, body: Any = None) -> dict[str, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", f"/api/{path}", data, self._headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status == 200, content
        found: dict[str, Any] = json.loads(content)
        return found

    def view(self, search: dict[str, Any], fields: Sequence[str] = FIELDS) -> dict[str, Any]:
        """All that a page asks for at once."""
        found: dict[str, Any] = {}

        def ask(path: str, more: dict[str, Any]) -> None:
            found[path] = self.ask(path, {"search": search, **more})

        asked = [("histogram", {"buckets": 120}), ("rows", {"limit": 200}), ("fields", {"fields": list(fields)})]
        threads = [threading.Thread(target=ask, args=one) for one in asked if one[0] != "fields" or fields]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return found

    def close(self) -> None:
        self._server.handle_exit(2, None)
        self._thread.join()
        self._explorer.pool.close()
        self._socket.close()


def _search(q: str = "", start: str | None = None, end: str | None = None) -> dict[str, Any]:
    return {"table": "web_log", "q": q, "from": start, "to": end}


def _views(home: Path, told: str) -> None:
    client = _Client(home)
    whole = (FIRST.isoformat(), (LAST + timedelta(days=1)).isoformat())

    def first() -> Any:
        client.ask("meta")
        return client.view(_search())

    cases: dict[str, Any] = {
        "first view: the newest day": first,
        "brushed window of 6 h": lambda: client.view(_search("", f"{LAST}T06:00", f"{LAST}T12:00")),
        "facet click in a day": lambda: client.view(_search('status:"500"')),
        "word in a day": lambda: client.view(_search("order")),
        "30 days": lambda: client.view(_search("", *whole), ()),
        "30 days with fields": lambda: client.view(_search("", *whole), FIELDS[:4]),
        "facet click in 30 days": lambda: client.view(_search('method:"HEAD"', *whole), FIELDS[:4]),
        "one address in 30 days": lambda: client.view(_search('remote_addr:"10.1.1.1"', *whole), ()),
    }
    print(f"\n{told}: histogram, 200 rows and {len(FIELDS)} fields")
    for name, work in cases.items():
        _timed(name, work)
    client.close()


def _large(home: Path) -> None:
    client = _Client(home)
    whole = ("2025-01-01", (LAST + timedelta(days=1)).isoformat())
    print("\n100 million rows in the catalog, 90 of them without files")
    _timed("histogram of all", lambda: client.ask("histogram", {"search": _search("", *whole)}))
    _timed("newest rows of all", lambda: client.ask("rows", {"search": _search("", *whole)}))
    client.close()


def _timed(name: str, work: Any) -> None:
    begun, cpu = time.perf_counter(), time.process_time()
    found = work()
    wall, used = time.perf_counter() - begun, time.process_time() - cpu
    parts = found if "histogram" in found else {"": found}
    files = max(one["files"]["read"] for one in parts.values())
    total = next((one["total"] for one in parts.values() if "total" in one), None)
    counted = f", {total:,} rows counted" if total is not None else ""
    print(f"  {name:32} {wall:6.2f} s, {used:6.2f} s of CPU, {files} files{counted}")


if __name__ == "__main__":
    main()
