"""Views for other clients: those by glob show what those over files do, whatever the patterns are."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from tailpipe.catalog.layout import Layout, data_path
from tailpipe.catalog.snapshot import LiveFile, Snapshot
from tailpipe.errors import TailpipeError
from tailpipe.kernel.inet import load_statement
from tailpipe.model.partition import Schema
from tailpipe.query.client_views import statements_of
from tailpipe.query.databases import Databases, Wish
from tests.unit.query.support import DAY

INDEXES = ("DOM\\anna", "é", "[1]", "it's", "a^", "b")
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
        ("*", sorted(INDEXES)),
    ],
)
@pytest.mark.parametrize("is_live", [False, True])
def test_a_pattern_means_the_same_to_both(snapshot: Snapshot, pattern: str, shown: list[str], is_live: bool) -> None:
    wish = Wish(partitions=("web_*.p?od",), indexes=(pattern,), is_live=is_live)
    with duckdb.connect() as connection:
        for statement in statements_of(wish, snapshot, {}, [], snapshot.root, now=datetime.now(UTC)):
            connection.execute(statement)
        rows = connection.execute("SELECT tp_index FROM web_log ORDER BY 1").fetchall()
    assert [index for (index,) in rows] == shown


def test_a_view_that_compares_addresses_is_made_without_a_download(snapshot: Snapshot, tmp_path: Path) -> None:
    schema = Schema(name="inside", where="'10.0.0.1'::inet <<= '10.0.0.0/8'")
    databases = Databases(
        Layout.of(tmp_path), lambda wish: statements_of(wish, snapshot, {}, [schema], tmp_path, now=datetime.now(UTC))
    )
    (tmp_path / ".tailpipe").mkdir()
    with duckdb.connect(str(databases.make()), read_only=True) as connection:
        connection.execute(load_statement())
        (inside,) = connection.execute("SELECT count(*) FROM inside.web_log").fetchone() or ()
        (all_,) = connection.execute("SELECT count(*) FROM web_log").fetchone() or ()
    assert inside == all_ > 0


def test_a_database_that_cannot_be_made_names_the_schema(snapshot: Snapshot, tmp_path: Path) -> None:
    bad = Schema(name="bad", where="nope = 1")
    databases = Databases(
        Layout.of(tmp_path), lambda wish: statements_of(wish, snapshot, {}, [bad], tmp_path, now=datetime.now(UTC))
    )
    with pytest.raises(TailpipeError) as caught:
        databases.make()
    assert caught.value.message.startswith('the view "bad"."web_log" cannot be made: Referenced column "nope"')
    assert 'the where of schema "bad"' in caught.value.hint


def test_after_a_commit_a_view_that_cannot_be_made_is_missing_and_the_others_are_true(
    snapshot: Snapshot, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    schemas = [Schema(name="good", where="tp_index <> ''")]
    (tmp_path / ".tailpipe").mkdir()
    databases = Databases(
        Layout.of(tmp_path), lambda wish: statements_of(wish, snapshot, {}, schemas, tmp_path, now=datetime.now(UTC))
    )
    path = databases.make()
    before = path.stat().st_ino
    schemas.append(Schema(name="bad", where="nope = 1"))
    databases.refresh()
    assert path.stat().st_ino != before
    assert 'lacks a view: the view "bad"."web_log" cannot be made' in " ".join(caplog.messages)
    with duckdb.connect(str(path), read_only=True) as connection:
        views = connection.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1")
        assert views.fetchall() == [("good", "web_log"), ("main", "web_log")]
