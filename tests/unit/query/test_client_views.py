"""Views for other clients: those by glob show what those over files do, whatever the patterns are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tailpipe.catalog.layout import Layout, data_path
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.errors import TailpipeError
from tailpipe.model.partition import Schema
from tailpipe.model.table import Column, Table
from tailpipe.query.client_views import statements_of
from tailpipe.query.databases import ClientViews, Databases
from tailpipe.sql.inet import load_statement
from tests.unit.query.support import DAY

LONG = "long" * 50
INDEXES = ("DOM\\anna", "é", "[1]", "it's", "a^", "b", LONG)
COLUMNS = dict.fromkeys(("tp_table", "tp_partition", "tp_index"), "VARCHAR")


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    """A file for each index, in the place where the hive has it too."""
    files = []
    with duckdb.connect() as connection:
        for index in INDEXES:
            path = data_path("web_log.prod", index, DAY, "1").removeprefix("files/")
            place = tmp_path / f"{path}.parquet"
            place.parent.mkdir(parents=True)
            connection.execute("CREATE OR REPLACE TABLE t AS SELECT 'web_log' AS tp_table, 'prod' AS tp_partition")
            connection.execute("ALTER TABLE t ADD COLUMN tp_index VARCHAR")
            connection.execute("UPDATE t SET tp_index = ?", [index])
            connection.execute(f"COPY t TO '{str(place).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
            files.append(LiveFile(f"{path}.parquet", "web_log.prod", str(DAY), index, DAY, 1, 1, None, None, 1))
    return Snapshot(tmp_path, tuple(files), {1: COLUMNS}, 1)


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("DOM\\anna", ["DOM\\anna"]),
        ("DOM\\*", ["DOM\\anna"]),
        ("DOM[\\]a*a", ["DOM\\anna"]),
        ("?", ["b", "é"]),
        ("[!b]", ["é"]),
        ("[[]1]", ["[1]"]),
        ("[1]", []),
        ("?[^]", ["a^"]),
        ("[z-a]", []),
        ("it's", ["it's"]),
        ("long*", [LONG]),  # which is shortened in the name of its directory
        ("*", sorted(INDEXES)),
        ("**", sorted(INDEXES)),
    ],
)
@pytest.mark.parametrize("is_live", [False, True])
def test_a_pattern_means_the_same_to_both(snapshot: Snapshot, pattern: str, shown: list[str], is_live: bool) -> None:
    views = ClientViews(partitions=("web_*.p?od",), indexes=(pattern,), is_live=is_live)
    with duckdb.connect() as connection:
        for statement in statements_of(views, snapshot, {}, [], snapshot.root, now=datetime.now(UTC)):
            connection.execute(statement)
        rows = connection.execute("SELECT tp_index FROM web_log ORDER BY 1").fetchall()
    assert [index for (index,) in rows] == shown


def test_a_view_that_compares_addresses_is_made_without_a_download(snapshot: Snapshot, tmp_path: Path) -> None:
    schema = Schema(name="inside", where="'10.0.0.1'::inet <<= '10.0.0.0/8'")
    databases = Databases(
        Layout.of(tmp_path), lambda views: statements_of(views, snapshot, {}, [schema], tmp_path, now=datetime.now(UTC))
    )
    (tmp_path / ".tailpipe").mkdir()
    with duckdb.connect(str(databases.make()), read_only=True) as connection:
        connection.execute(load_statement())
        (inside,) = connection.execute("SELECT count(*) FROM inside.web_log").fetchone() or ()
        (all_,) = connection.execute("SELECT count(*) FROM web_log").fetchone() or ()
    assert inside == all_ > 0


PLACES = (("web_log.prod", "a"), ("web_log.dev", "b"), ("web_log.test", None), ("app_log.prod", "a"))


@pytest.fixture
def hive(tmp_path: Path) -> Snapshot:
    """A file for each place, with two rows: at ten and at eleven o'clock. The path is one that a glob could mistake."""
    files = []
    root = tmp_path / "it's [a] hive*"
    with duckdb.connect() as connection:
        for number, (partition, index) in enumerate(PLACES):
            path = data_path(partition, index, DAY, "1").removeprefix("files/") + ".parquet"
            (root / path).parent.mkdir(parents=True)
            table, name = partition.split(".")
            connection.execute(
                f"COPY (SELECT {number * 2} + i AS n, '{table}' AS tp_table, '{name}' AS tp_partition,"
                f" nullif('{index or ''}', '') AS tp_index, TIMESTAMP '{DAY}' + INTERVAL (9 + i) HOUR AS tp_timestamp"
                f" FROM range(1, 3) t(i)) TO '{str(root / path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
            )
            files.append(LiveFile(path, partition, str(DAY), index, DAY, 2, 1, None, None, 1))
    columns = {"n": "BIGINT", **COLUMNS, "tp_timestamp": "TIMESTAMP"}
    return Snapshot(root, tuple(files), {1: columns}, 1)


@pytest.mark.parametrize(
    ("views", "whole", "part"),
    [
        (ClientViews(), "123456", "24"),
        (ClientViews(start="2024-01-31T10:00"), "123456", "24"),
        (ClientViews(start="2024-01-31T11:00"), "246", "24"),
        (ClientViews(end="2024-01-31T11:00"), "135", ""),
        (ClientViews(end="2024-01-31"), "123456", "24"),
        (ClientViews(start="2024-01-31T10:00", end="2024-01-31T11:00"), "135", ""),
        (ClientViews(partitions=("dev", "test")), "3456", "4"),
        (ClientViews(partitions=("web_log.prod", "te*")), "1256", "2"),
        (ClientViews(partitions=("app_log.*",)), "", ""),
        (ClientViews(indexes=("a", "b")), "1234", "24"),
        (ClientViews(indexes=("*",)), "1234", "24"),
        (ClientViews(start="2024-01-31T11:00", partitions=("dev", "test"), indexes=("b", "c")), "4", "4"),
    ],
)
@pytest.mark.parametrize("is_live", [False, True])
def test_a_client_sees_the_rows_of_its_request_and_of_them_those_of_a_schema(
    hive: Snapshot, views: ClientViews, whole: str, part: str, is_live: bool
) -> None:
    schema = Schema(
        name="part", tables=["web_*", "flow_*"], partitions=["prod", "dev"], where="n = 2 OR n = 4 OR n = 6"
    )
    late = Schema(name="late", from_="2024-01-31T10:30", to="2024-01-31", indexes=["a", "b"])
    with connected(hive, replace(views, is_live=is_live), [schema, late]) as client:
        assert client("web_log") == whole
        assert client("part.web_log") == part
        assert client("late.web_log") == "".join(sorted(set(whole) & set("24")))
        assert client("late.app_log") == "".join(sorted(set(client("app_log")) & set("8")))
        with pytest.raises(duckdb.CatalogException):
            client("part.app_log")


def test_what_came_since_is_seen_by_a_view_that_is_live_and_by_no_other(hive: Snapshot) -> None:
    """Also if its files have other columns than those that were there."""
    late = hive.root / hive.files[1].path
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT 'new' AS more, unnest([3, 4]) AS n, 'web_log' AS tp_table, 'dev' AS tp_partition,"
            f" TIMESTAMP '{DAY}' AS tp_timestamp) TO '{str(late).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)"
        )
    fewer = replace(hive, files=hive.files[:1] + hive.files[3:])
    with connected(fewer, ClientViews()) as listed, connected(fewer, ClientViews(is_live=True)) as live:
        assert (listed("web_log"), live("web_log")) == ("12", "123456")


@pytest.mark.parametrize("is_live", [False, True])
def test_a_table_without_files_has_its_columns_and_a_schema_any_name(hive: Snapshot, is_live: bool) -> None:
    tables = {"new_log": Table(name="new_log", columns=[Column("n", "integer")])}
    with connected(hive, ClientViews(is_live=is_live), [Schema(name="select")], tables) as client:
        assert (client("new_log"), client('"select".new_log'), client('"select".web_log')) == ("", "", "123456")


@contextmanager
def connected(
    snapshot: Snapshot, views: ClientViews, schemas: Sequence[Schema] = (), tables: Mapping[str, Table] | None = None
) -> Iterator[Callable[[str], str]]:
    """What tells the rows that a client sees in a table."""
    with duckdb.connect() as connection:
        for statement in statements_of(views, snapshot, tables or {}, schemas, snapshot.root, now=datetime.now(UTC)):
            connection.execute(statement)
        yield lambda table: "".join(
            str(n) for (n,) in connection.execute(f"SELECT n FROM {table} ORDER BY n").fetchall()
        )


def test_a_database_that_cannot_be_made_names_the_schema(snapshot: Snapshot, tmp_path: Path) -> None:
    bad = Schema(name="bad", where="nope = 1")
    databases = Databases(
        Layout.of(tmp_path), lambda views: statements_of(views, snapshot, {}, [bad], tmp_path, now=datetime.now(UTC))
    )
    with pytest.raises(TailpipeError) as caught:
        databases.make()
    assert caught.value.message.startswith('the view "bad"."web_log" cannot be created: Referenced column "nope"')
    assert 'the where of schema "bad"' in caught.value.hint


def test_after_a_commit_a_view_that_cannot_be_made_is_missing_and_the_others_are_true(
    snapshot: Snapshot, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    schemas = [Schema(name="good", where="tp_index <> ''")]
    (tmp_path / ".tailpipe").mkdir()
    databases = Databases(
        Layout.of(tmp_path), lambda views: statements_of(views, snapshot, {}, schemas, tmp_path, now=datetime.now(UTC))
    )
    path = databases.make()
    before = path.stat().st_ino
    schemas.append(Schema(name="bad", where="nope = 1"))
    databases.refresh()
    assert path.stat().st_ino != before
    assert 'lacks a view: the view "bad"."web_log" cannot be created' in " ".join(caplog.messages)
    with duckdb.connect(str(path), read_only=True) as connection:
        views = connection.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1")
        assert views.fetchall() == [("good", "web_log"), ("main", "web_log")]
