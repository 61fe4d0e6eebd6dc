from __future__ import annotations

from datetime import date

import pytest

from tailpipe.errors import UsageError
from tailpipe.model.store import PARTITION_BY, partition_by_of
from tailpipe.storage.objects import check_key
from tailpipe.stores import keys

DAY = date(2026, 3, 7)
NAME = "00000012-0123456789abcdef-0001"


def test_a_data_file_has_the_directories_of_the_workspace_and_a_suffix() -> None:
    key = keys.data_key(PARTITION_BY, "web_log.prod", "eu/1", DAY, NAME)
    assert key == f"data/web_log/tp_partition-prod/tp_index-eu%2F1/tp_date-2026-03-07/{NAME}.parquet"


def test_years_months_and_days_sort_by_their_text() -> None:
    by = ("tp_table", "tp_year", "tp_month", "tp_day", "tp_partition", "tp_index")
    key = keys.data_key(by, "web_log.prod", None, DAY, NAME)
    assert key == (
        "data/web_log/tp_year-2026/tp_month-03/tp_day-07/tp_partition-prod"
        f"/tp_index-__HIVE_DEFAULT_PARTITION__/{NAME}.parquet"
    )


def test_the_column_of_the_index_names_its_directory() -> None:
    by = partition_by_of(("tp_table", "tp_partition", "Account_Id", "tp_index", "tp_date"), "account_id")
    key = keys.data_key(by, "web_log.prod", "1", DAY, NAME)
    assert key == f"data/web_log/tp_partition-prod/Account_Id-1/tp_date-2026-03-07/{NAME}.parquet"


@pytest.mark.parametrize("index", [None, "region"])
def test_a_partition_with_another_index_or_none_keeps_the_common_name(index: str | None) -> None:
    by = ("tp_table", "tp_partition", "account_id", "tp_index", "tp_date")
    assert partition_by_of(by, index) == PARTITION_BY
    assert partition_by_of(by[:3] + by[4:], index) == PARTITION_BY


@pytest.mark.parametrize("column", ["user id", "a/b", "..", "a=b", "ü"])
def test_any_column_gives_a_valid_key(column: str) -> None:
    by = partition_by_of(("tp_table", "tp_partition", column, "tp_date"), column)
    key = keys.data_key(by, "web_log.prod", "../../x\\\n", DAY, NAME)
    assert check_key(key, "x") == key
    assert key.count("/") == 5


@pytest.mark.parametrize("by", [PARTITION_BY, ("tp_table", "we-b", "tp_year", "tp_month", "tp_day", "tp_partition")])
@pytest.mark.parametrize("partition", ["web_log.prod", "web_log.a-b=c", "tp_table.tp_partition-x"])
def test_the_partition_of_a_key_is_known_and_no_directory_looks_like_a_column(
    by: tuple[str, ...], partition: str
) -> None:
    key = keys.data_key(by, partition, "a=b-c", DAY, NAME)
    assert keys.keyed_partition(key) == partition
    assert "=" not in key


def test_a_file_of_an_earlier_version_has_one_key_below_each_root() -> None:
    earlier = f"data/tp_table=web_log/tp_partition=a%3Db/tp_index=x%3D1/tp_date=2026-03-07/{NAME}.parquet"
    new = f"data/web_log/tp_partition-a%3Db/tp_index-x%3D1/tp_date-2026-03-07/{NAME}.parquet"
    roots = keys.earlier_root("web_log"), keys.table_root("web_log")
    assert [keys.key_below(root, earlier) for root in roots] == [earlier, new]
    assert [keys.key_below(root, new) for root in roots] == [new.replace("data/web_log", roots[0]), new]
    assert {keys.keyed_partition(key) for key in (earlier, new, keys.rejected_key("web_log.a=b", NAME))} == {
        "web_log.a=b"
    }
    others = ("data/web_log2/x", "data/tp_table=web/x", "rejected/tp_table=web_log/x", "data/web_log", "tailpipe.json")
    assert [keys.key_below(roots[1], key) for key in others] == [None] * len(others)


def test_rejected_rows_are_apart_from_the_data() -> None:
    key = keys.rejected_key("web_log.prod", NAME)
    assert key == f"rejected/tp_table=web_log/tp_partition=prod/{NAME}.parquet"


def test_the_keys_of_a_log_have_the_order_of_their_versions() -> None:
    versions = [1, 9, 10, 99, 123_456, 9_999_999_999]
    log = [keys.log_key("web_log.prod", version) for version in versions]
    assert log == sorted(log)
    assert [keys.version_of(key) for key in log] == versions
    assert all(key.startswith(keys.log_prefix("web_log.prod")) for key in log)
    assert log[0] == "log/web_log.prod/0000000001.manifest"


def test_the_log_of_a_partition_is_not_that_of_one_with_a_longer_name() -> None:
    assert not keys.log_key("web.prod-2", 1).startswith(keys.log_prefix("web.prod"))


@pytest.mark.parametrize("version", [0, -1, 10**10])
def test_there_are_no_versions_that_a_key_cannot_spell(version: int) -> None:
    with pytest.raises(UsageError, match="not a version"):
        keys.log_key("web_log.prod", version)


@pytest.mark.parametrize(
    "key", ["log/a.b/0000000100.checkpoint", "log/a.b/1.manifest", "log/a.b/00000000001.manifest", "tailpipe.json", ""]
)
def test_other_keys_have_no_version(key: str) -> None:
    assert keys.version_of(key) is None
