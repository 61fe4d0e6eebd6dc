"""Tables written in each format come back row by row, and every row is accounted for."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tailpipe.formats import Delimited, Json, Jsonl, Logfmt, Regex
from tailpipe.kernel import through
from tailpipe.kernel.task import Limits
from tailpipe.model.table import Column
from tests.examples import examples
from tests.unit.kernel.support import run

SETTINGS = settings(
    max_examples=examples(25),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
COLUMNS = [Column("n", "bigint"), Column("d", "double"), Column("s", "varchar"), Column("j", "json")]
TINY = Limits(chunk_bytes=97, batch_bytes=400, flush_bytes=900)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers(-(2**63), 2**63 - 1)
values: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
records = st.lists(
    st.fixed_dictionaries(
        {"time": st.integers(10**9, 2 * 10**9)},
        optional={"n": numbers, "d": st.floats(allow_nan=False, allow_infinity=False), "s": texts, "j": values},
    ),
    max_size=30,
)
limits = st.sampled_from([Limits(), TINY])


@pytest.fixture(autouse=True, scope="module")
def written_through() -> Iterator[None]:
    """Batches of any size are written through, if their rows are alike."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(through, "LEAST_ROWS", 1)
        yield


def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["n"], row["d"], row["s"], None if row["j"] is None else json.loads(row["j"])) for row in rows]


def expected(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(row.get(name) for name in "ndsj") for row in rows]


@SETTINGS
@given(records, limits)
def test_json_lines_come_back(rows: list[dict[str, Any]], limits: Limits) -> None:
    content = gzip.compress("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    done = run(content, COLUMNS, Jsonl(), limits=limits)
    assert done.accounts == (len(rows), len(rows), 0, 0, 0)
    assert shown(done.rows) == expected(rows)


@SETTINGS
@given(records, limits, st.sampled_from([None, 1]))
def test_documents_come_back(rows: list[dict[str, Any]], limits: Limits, indent: int | None) -> None:
    content = json.dumps({"x": {"Records": 1}, "Records": rows, "y": [[]]}, indent=indent).encode()
    done = run(content, COLUMNS, Json(records="Records"), limits=limits)
    assert done.accounts == (len(rows), len(rows), 0, 0, 0)
    assert shown(done.rows) == expected(rows)


plain = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=10)


@SETTINGS
@given(st.lists(st.tuples(numbers, plain, plain), max_size=30), limits)
def test_delimited_values_come_back(rows: list[tuple[int, str, str]], limits: Limits) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(["time", "n", "s", "t"])
    writer.writerows([["2024-01-31", *row] for row in rows])
    columns = [Column("n", "bigint"), Column("s", "varchar"), Column("t", "varchar")]
    done = run(text.getvalue().encode(), columns, Delimited(header=True), limits=limits)
    assert done.accounts == (len(rows), len(rows), 0, 0, 0)
    assert [(row["n"], row["s"] or "", row["t"] or "") for row in done.rows] == rows


@SETTINGS
@given(st.lists(st.tuples(numbers, plain), max_size=30), limits)
def test_logfmt_and_regex_come_back(rows: list[tuple[int, str]], limits: Limits) -> None:
    columns = [Column("n", "bigint"), Column("s", "varchar")]
    lines = [f"time=2024-01-31 n={n} s={json.dumps(s, ensure_ascii=False)}" for n, s in rows]
    done = run("\n".join(lines).encode(), columns, Logfmt(), limits=limits)
    assert done.accounts == (len(rows), len(rows), 0, 0, 0)
    assert [(row["n"], row["s"] or "") for row in done.rows] == rows
    lines = [f"2024-01-31|{n}|{s}" for n, s in rows]
    layout = Regex(layout=r"^(?P<time>[^|]*)\|(?P<n>-?\d+)\|(?P<s>.*)$")
    done = run("\n".join(lines).encode(), columns, layout, limits=limits)
    assert done.accounts == (len(rows), len(rows), 0, 0, 0)
    assert [(row["n"], row["s"] or "") for row in done.rows] == rows


@SETTINGS
@given(st.lists(st.sampled_from(["good", "late", "bad", "no time", "filtered", "blank", "misfit"])), limits)
def test_accounts_balance_and_rejected_rows_point_at_their_lines(kinds: list[str], limits: Limits) -> None:
    lines = {
        "good": '{"time": "2024-01-01", "n": 1}',
        "late": '{"time": "2024-01-02", "n": 1}',
        "bad": '{"time": "2024-01-01", "n": 1',
        "no time": '{"n": 1}',
        "filtered": '{"time": "2024-01-01", "n": 2}',
        "blank": "",
        "misfit": '{"time": "2024-01-01", "n": 1, "m": "x"}',
    }
    content = "".join(lines[kind] + "\n" for kind in kinds).encode()
    columns = [Column("n", "bigint"), Column("m", "integer")]
    done = run(content, columns, filter="n = 1", limits=limits)
    counts = {kind: kinds.count(kind) for kind in lines}
    rejected = counts["bad"] + counts["no time"]
    kept = counts["good"] + counts["late"] + counts["misfit"]
    assert done.accounts == (len(kinds) - counts["blank"], kept, counts["filtered"], rejected, 0)
    places = [place for place, kind in enumerate(kinds, 1) if kind in ("bad", "no time")]
    assert [row["ordinal"] for row in done.rejected] == places
    assert [row["raw"] for row in done.rejected] == [lines[kinds[place - 1]] for place in places]
    assert done.outcome.results[0].nulls == ({"m": counts["misfit"]} if counts["misfit"] else {})
    assert done.outcome.results[0].committed_ordinals == len(kinds)
