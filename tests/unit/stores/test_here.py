from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from tailpipe.model.store import Here
from tailpipe.stores.here import check_where, staying

NOW = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)


@dataclass(frozen=True)
class File:
    partition: str
    tp_index: str | None
    tp_date: date


def days(count: int, partition: str = "web_log.prod", index: str | None = "a") -> list[File]:
    """Files of the last days, the newest first."""
    return [File(partition, index, NOW.date() - timedelta(days=back)) for back in range(count)]


def test_everything_stays_without_a_rule() -> None:
    files = days(3)
    assert staying(None, files, now=NOW) == files
    assert staying(Here(), files, now=NOW) == files


def test_a_day_that_is_newer_in_part_stays_whole() -> None:
    assert staying(Here(newer_than="2d"), days(5), now=NOW) == days(3)


def test_months_are_those_of_the_calendar() -> None:
    left = staying(Here(newer_than="1m"), days(60), now=NOW)
    assert left[-1].tp_date == date(2026, 2, 28)


def test_the_condition_decides_by_what_a_file_has_one_value_of() -> None:
    files = [
        File("web_log.prod", "a", date(2026, 1, 2)),
        File("web_log.test", "a", date(2026, 1, 2)),
        File("app_log.prod", "b", date(2025, 12, 31)),
        File("app_log.prod", None, date(2025, 12, 31)),
    ]
    expected = {
        "tp_table = 'web_log'": files[:2],
        "tp_partition = 'prod'": [files[0], *files[2:]],
        "tp_index = 'a'": files[:2],
        "tp_index <> 'a'": [files[2]],  # null meets nothing
        "tp_index IS NULL": [files[3]],
        "tp_date < DATE '2026-01-01'": files[2:],
        "tp_year = 2026 AND tp_month = 1 AND tp_day = 2": files[:2],
        "TP_Date > '2025-12-31' AND tp_partition LIKE 't%'": [files[1]],
        "true": files,
        "false -- no bracket is lost": [],
    }
    assert {where: staying(Here(where=where), files, now=NOW) for where in expected} == expected


def test_both_conditions_must_hold() -> None:
    files = [*days(4, index="a"), *days(4, index="b")]
    assert staying(Here(newer_than="1d", where="tp_index = 'b'"), files, now=NOW) == days(2, index="b")


@pytest.mark.parametrize(
    "where",
    [
        "tp_date > current_date - INTERVAL 2 DAY",
        "tp_date > today() - 2",
        "tp_date > now()::DATE - 2",
        "tp_date > current_timestamp::DATE - 2",
        "tp_date > localtimestamp::DATE - 2",
        "tp_date + 2 > get_current_timestamp()::DATE",
    ],
)
def test_days_count_from_the_moment_that_is_given(where: str) -> None:
    assert list(check_where(where)) == []
    assert staying(Here(where=where), days(5), now=NOW) == days(2)


def test_values_with_quotes_and_breaks_are_taken_as_they_are() -> None:
    odd = [File("web_log.prod", text, NOW.date()) for text in ("it's", "a\nb", "", "NULL", "\\", "☃")]
    for file in odd:
        where = "tp_index = '" + str(file.tp_index).replace("'", "''") + "'"
        assert staying(Here(where=where), odd, now=NOW) == [file]


def test_many_values_are_decided_in_parts() -> None:
    files = [File("web_log.prod", str(number), NOW.date()) for number in range(12_000)]
    left = staying(Here(where="tp_index::INTEGER % 2 = 1"), files, now=NOW)
    assert left == files[1::2]


def test_no_file_of_the_machine_can_be_read_by_a_condition(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("secret")
    from tailpipe.sql.duck import duckdb

    with pytest.raises(duckdb.Error, match="disabled"):
        staying(Here(where=f"(SELECT true FROM read_text('{tmp_path}/x.txt'))"), days(1), now=NOW)


def test_another_column_is_refused_with_those_that_can_be_used() -> None:
    (problem,) = check_where("tp_timestamp > '2026-01-01'")
    assert problem.message == '"tp_timestamp" cannot be used here: it may have several values in a file'
    assert problem.hint.startswith('use "tp_date"; a file has one value of tp_table, tp_partition, tp_index, tp_date')
    assert (problem.position, problem.length) == (0, 12)
    (problem,) = check_where("tp_date IS NOT NULL AND tp_indx = 'a'")
    assert problem.hint.startswith('use "tp_index"; ')
    assert problem.position == 24
    (problem,) = check_where("status >= 500")
    assert problem.hint.startswith("a file has one value of")


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("tp_index", "it gives varchar, not true or false"),
        ("tp_date = ", "the SQL ends too early"),
        ("", "the expression is empty"),
        ("tp_date IN (SELECT current_date)", "a subquery is not allowed here"),
        ("count(*) > 1", "an aggregate is not allowed here"),
        ("nosuch(tp_index)", 'there is no function "nosuch"'),
    ],
)
def test_what_is_no_condition_is_refused(where: str, message: str) -> None:
    (problem,) = check_where(where)
    assert problem.message == message


def test_pandas_is_not_imported() -> None:
    code = (
        "import sys; from datetime import UTC, datetime; from tests.unit.stores.test_here import Here, days, staying;"
        " staying(Here(where=\"tp_index = 'a'\"), days(2), now=datetime(2026, 11, 17, tzinfo=UTC));"
        " print('pandas' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "False\n"
