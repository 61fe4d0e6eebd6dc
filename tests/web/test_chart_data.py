"""Which columns of an answer a chart draws, and what it says about the rest: the modules alone, without a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.web.conftest import Window

pytestmark = pytest.mark.slow

RUN = """async ({ columns, rows, kind, choice }) => {
  const { rolesOf } = await import("/static/app/chart-roles.js");
  const { groupsOf, linesOf, lonely, notesOf, seriesOf } = await import("/static/app/chart-data.js");
  const { isTime } = await import("/static/app/format.js");
  const answer = { columns: columns.map(([name, type]) => ({ name, type })), rows };
  const roles = rolesOf(answer, kind, choice);
  if (kind === "line" && roles.x < 0) return { roles: [roles.x, roles.ys, roles.series] };
  const found = seriesOf(answer, roles);
  const isClock = roles.x >= 0 && isTime(answer.columns[roles.x].type);
  const drawn = kind === "line" ? linesOf(answer, roles, found.series, isClock) : groupsOf(answer, roles, found.series);
  const facts = { ...found, ...drawn, groups: drawn.total ?? 0 };
  return {
    roles: [roles.x, roles.ys, roles.series],
    names: found.series.map(({ name }) => name),
    xs: drawn.xs,
    // an undefined value does not pass to the test as such
    lines: drawn.lines?.map((line) => line.map((value) => (value === undefined ? "nothing" : value))),
    lonely: drawn.lines?.map(lonely),
    groups: drawn.groups?.map(({ name, bars }) => [name, bars.map(({ series, value }) => [series, value])]),
    notes: notesOf(answer, roles, facts),
  };
}"""

DAY = 86_400
DATE, INT, BIG, TEXT, FLAG = "DATE", "INTEGER", "BIGINT", "VARCHAR", "BOOLEAN"
Columns = Sequence[tuple[str, str]]


@pytest.fixture
def chart(window: Window) -> Any:
    page = window.open("status")

    def drawn(kind: str, columns: Columns, rows: Sequence[Sequence[Any]], **choice: str) -> Any:
        return page.evaluate(RUN, {"columns": columns, "rows": rows, "kind": kind, "choice": choice})

    return drawn


STATUS: Columns = (("tp_date", DATE), ("status", INT), ("n", BIG))
PER_STATUS = [[f"1970-01-0{day}", status, day * status] for day in (1, 2, 3) for status in (200, 404)]


def test_a_number_beside_a_repeated_time_is_a_series(chart: Any) -> None:
    line = chart("line", STATUS, PER_STATUS)
    assert line["roles"] == [0, [2], 1]
    assert line["names"] == ["200", "404"]
    assert line["xs"] == [0, DAY, 2 * DAY]
    assert line["lines"] == [[200, 400, 600], [404, 808, 1212]]
    assert line["notes"] == []
    bars = chart("bar", STATUS, PER_STATUS)
    assert bars["roles"] == [0, [2], 1]
    assert bars["groups"][0] == ["1970-01-01", [[0, 200], [1, 404]]]


@pytest.mark.parametrize(
    ("kind", "columns", "row", "roles"),
    [
        ("line", (("t", DATE), ("a", INT), ("b", "DOUBLE")), ["1970-01-01", 1, 2], [0, [1, 2], -1]),
        ("line", (("name", TEXT), ("t", "TIMESTAMP"), ("n", INT)), ["a", "1970-01-01T00:00:00Z", 2], [1, [2], -1]),
        ("line", (("hour", INT), ("n", INT)), [1, 2], [0, [1], -1]),
        ("line", (("n", INT),), [1], [-1, [0], -1]),
        ("line", (("name", TEXT), ("n", INT)), ["a", 2], [-1, [1], -1]),
        ("bar", (("n", INT), ("name", TEXT)), [1, "a"], [1, [0], -1]),
        ("bar", (("status", INT), ("n", INT)), [200, 1], [0, [1], -1]),
        ("bar", (("is_error", FLAG), ("n", INT)), [True, 1], [0, [1], -1]),
        ("bar", (("n", INT),), [1], [-1, [0], -1]),
        ("bar", (("i", "INTERVAL"), ("a", "INTEGER[3]"), ("n", "DECIMAL(38,2)")), ["1", [1], "2.50"], [0, [2], -1]),
        ("bar", (("e", "ENUM('int', 'b')"), ("s", "STRUCT(i INTEGER)"), ("n", "UHUGEINT")), ["b", {}, 1], [0, [2], -1]),
    ],
)
def test_columns_of_one_row_have_roles(chart: Any, kind: str, columns: Columns, row: list[Any], roles: Any) -> None:
    assert chart(kind, columns, [row])["roles"] == roles


@pytest.mark.parametrize("kind", ["INTEGER", "BOOLEAN", "VARCHAR", "TIMESTAMP", "DATE", "JSON", "INTEGER[]"])
def test_a_series_may_have_any_type(chart: Any, kind: str) -> None:
    special: dict[str, list[Any]] = {"BOOLEAN": [True, False], "JSON": [{"a": 1}, {"a": 2}], "INTEGER[]": [[1], [2]]}
    values = special.get(kind, [1, 2])
    rows = [[f"1970-01-0{day}", value, 5] for day in (1, 2) for value in values]
    drawn = chart("line", (("t", DATE), ("s", kind), ("n", INT)), rows)
    assert drawn["roles"] == [0, [2], 1]
    assert len(drawn["names"]) == 2


def test_the_series_is_the_first_column_that_tells_the_rows_apart_and_text_before_numbers(chart: Any) -> None:
    columns = (("t", DATE), ("same", TEXT), ("bytes", INT), ("path", TEXT), ("n", INT))
    rows = [["1970-01-01", "x", 1, path, 5] for path in ("/", "/a")]
    assert chart("line", columns, rows)["roles"] == [0, [4], 3]
    rows = [["1970-01-01", "x", size, "/", 5] for size in (1, 2)]
    assert chart("line", columns, rows)["roles"] == [0, [4], 2]


@pytest.mark.parametrize(
    ("choice", "roles"),
    [
        ({"x": "status"}, [1, [2], 0]),
        ({"y": "status"}, [0, [1], 2]),
        ({"y": "-"}, [0, [1, 2], -1]),
        ({"series": "-"}, [0, [1, 2], -1]),
        ({"series": "-", "y": "n"}, [0, [2], -1]),
        ({"series": "n"}, [0, [1], 2]),
        ({"x": "n", "y": "n"}, [2, [1], 0]),
        ({"x": "nothing", "y": "__proto__", "series": "constructor"}, [0, [2], 1]),
    ],
)
def test_columns_are_chosen_by_name(chart: Any, choice: dict[str, str], roles: Any) -> None:
    rows = [[f"1970-01-0{day}", status, 5] for day in (1, 2) for status in (200, 404)]
    assert chart("line", STATUS, rows, **choice)["roles"] == roles


def test_a_column_may_be_called_like_the_choice_of_none(chart: Any) -> None:
    columns = (("t", DATE), ("-", INT), ("n", INT))
    rows = [["1970-01-01", 1, 2]]
    assert chart("line", columns, rows, series="--")["roles"] == [0, [2], 1]
    assert chart("line", columns, rows, series="-")["roles"] == [0, [1, 2], -1]


def test_rows_of_one_point_are_all_drawn_and_named(chart: Any) -> None:
    rows = [["1970-01-01", 200, 1], ["1970-01-01", 200, 2], ["1970-01-02", 200, 3]]
    line = chart("line", STATUS, rows)
    assert line["xs"] == [0, 0, DAY]
    assert line["lines"] == [[1, 2, 3]]
    (note,) = line["notes"]
    assert note.startswith("Several rows have the same tp_date and status: each is drawn.")
    bars = chart("bar", STATUS, rows)
    assert bars["groups"] == [["1970-01-01", [[0, 1]]], ["1970-01-01", [[0, 2]]], ["1970-01-02", [[0, 3]]]]
    assert bars["notes"] == line["notes"]


def test_nulls_are_gaps_and_rows_that_are_not_there_are_not(chart: Any) -> None:
    rows = [["1970-01-01", "a", 1], ["1970-01-02", "a", None], ["1970-01-03", "a", 3], ["1970-01-04", "a", 4]]
    rows += [["1970-01-01", "b", 1], ["1970-01-03", "b", 3]]
    drawn = chart("line", (("t", DATE), ("s", TEXT), ("n", INT)), rows)
    assert drawn["lines"] == [[1, None, 3, 4], [1, "nothing", 3, "nothing"]]
    assert drawn["lonely"] == [[0], []]
    rows = [
        ["1970-01-01", None, 1],
        ["1970-01-01", "", 2],
        ["1970-01-01", "null", 3],
        [None, "x", 1],
        ["infinity", "x", 1],
    ]
    drawn = chart("line", (("t", DATE), ("s", TEXT), ("n", INT)), rows)
    assert drawn["names"] == ["(empty)", "(null)", "null", "x"]
    assert drawn["notes"] == ["2 rows without a valid t are not drawn."]
    assert chart("bar", (("s", TEXT), ("n", INT)), [[None, None]])["groups"] == [["(null)", [[0, None]]]]


def test_numbers_that_are_text_are_drawn_and_those_that_are_none_are_counted(chart: Any) -> None:
    rows = [["a", "-9007199254740993"], ["b", "12345678901234567890.5"], ["c", "nan"], ["d", "inf"], ["e", -2.5]]
    drawn = chart("bar", (("s", TEXT), ("n", "DECIMAL(38,1)")), rows)
    assert [bars[0][1] for _, bars in drawn["groups"]] == [-9007199254740992, 12345678901234567000, None, None, -2.5]
    assert drawn["notes"] == ["2 values of n are not finite numbers and are not drawn."]


@pytest.mark.parametrize("kind", ["line", "bar"])
def test_of_many_series_the_largest_are_drawn(chart: Any, kind: str) -> None:
    rows = [[f"1970-01-0{day}", f"s{n}", -n] for day in (1, 2) for n in range(57)]
    drawn = chart(kind, (("t", DATE), ("s", TEXT), ("n", INT)), rows)
    assert drawn["names"] == [f"s{n}" for n in range(37, 57)]
    left = "The 20 largest of 57 values of s are drawn. Not drawn: 37, with a total of 1,332."
    assert drawn["notes"] == [left]


def test_of_many_labels_the_first_are_drawn(chart: Any) -> None:
    drawn = chart("bar", (("s", TEXT), ("n", INT)), [[f"s{n}", n] for n in range(31)])
    assert len(drawn["groups"]) == 30
    assert drawn["notes"] == ["The first 30 of 31 values of s are drawn."]
    assert chart("bar", (("n", INT),), [[n] for n in range(31)])["notes"] == ["The first 30 of 31 rows are drawn."]


def test_ten_thousand_rows_of_one_point_are_drawn(chart: Any) -> None:
    rows = [["1970-01-01", "a", n] for n in range(10_000)]
    drawn = chart("line", (("t", DATE), ("s", TEXT), ("n", INT)), rows)
    assert len(drawn["xs"]) == 10_000
    assert len(chart("bar", (("t", DATE), ("s", TEXT), ("n", INT)), rows)["groups"]) == 30


def test_times_with_and_without_zone_are_utc(chart: Any) -> None:
    times = ["1970-01-01T00:00:01Z", "1970-01-01 00:00:02", "1970-01-01T00:00:03.5+00:00", "1970-01-02"]
    drawn = chart("line", (("t", "TIMESTAMP"), ("n", INT)), [[time, 1] for time in times])
    assert drawn["xs"] == [1, 2, 3.5, DAY]


def test_small_and_large_values_keep_their_digits(window: Window) -> None:
    page = window.open("status")
    code = """async (values) => {
      const { amount } = await import("/static/app/format.js");
      const { mark, withZero } = await import("/static/app/chart-parts.js");
      return [values.map(amount), values.map(mark), withZero(null, -5, -2), withZero(null, 0, 0), withZero(null, 2, 4)];
    }"""
    values = [0, 0.00042, 0.00001, 1234.5, -1e30]
    assert page.evaluate(code, values) == [
        ["0", "0.00042", "1e-5", "1,234.5", "-1e30"],
        ["0", "0.00042", "1e-5", "", "-1e30"],
        [-5.25, 0],
        [0, 1],
        [0, 4.2],
    ]
