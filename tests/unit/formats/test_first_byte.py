"""A format that is chosen by the first character of an artifact."""

from __future__ import annotations

import pytest

from tailpipe.errors import UsageError
from tailpipe.formats import Delimited, FirstByte, Json, Jsonl
from tailpipe.model.table import Column
from tests.unit.kernel.support import run

CSV = Delimited(header=True)
EITHER = FirstByte(formats={"{": Jsonl()}, otherwise=CSV)
COLUMNS = [
    Column("name", "varchar"),
    Column("city", "varchar", source="home.city"),
    Column("tags", "varchar[]"),
    Column("n", "integer"),
]


def test_artifacts_of_two_formats_give_rows_of_one_table() -> None:
    contents = {
        "/a.log": b'{"time": 1706695200, "name": "anna", "home": {"city": "Ulm"}, "tags": ["x"], "n": 1}\n{"name": 5',
        "/b.log": b"time,name,n,home.city\n1706695200,berta,2,Bonn\n1706695200,carl,many,\n",
        "/c.log": b'  {"time": 1706695200, "name": "dora", "tags": "y"}\n',
    }
    done = run(contents, COLUMNS, EITHER)
    rows = sorted((row["name"], row["city"], row["tags"], row["n"]) for row in done.rows)
    assert rows == [
        ("anna", "Ulm", ["x"], 1),
        ("berta", "Bonn", None, 2),
        ("carl", None, None, None),
        ("dora", None, None, None),
    ]
    assert done.accounts == (5, 4, 0, 1, 0)
    nulls = {name: count for result in done.outcome.results for name, count in result.nulls.items()}
    assert nulls == {"n": 1, "tags": 1}


@pytest.mark.parametrize("content", [b'{"time": 1706695200, "name": "anna"}', b"time,name\n1706695200,anna\n"])
def test_a_single_artifact_is_read_as_by_its_format_alone(content: bytes) -> None:
    alone = run(content, COLUMNS, Jsonl() if content.startswith(b"{") else CSV)
    assert (
        [row["name"] for row in run(content, COLUMNS, EITHER).rows] == [row["name"] for row in alone.rows] == ["anna"]
    )


def test_only_formats_of_single_lines_can_be_chosen() -> None:
    from tailpipe.formats.first_byte import _check_formats

    with pytest.raises(UsageError, match="cannot be chosen by the first character"):
        _check_formats({"{": Json()})
    with pytest.raises(UsageError, match="a single character"):
        _check_formats({"{{": Jsonl()})
