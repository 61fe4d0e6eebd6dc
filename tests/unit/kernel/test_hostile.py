"""Inputs that nobody should write, and somebody does: each is a row, a rejected row, or an error with a message."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime

import pytest

from tailpipe.formats import Json
from tailpipe.kernel.sample import sample
from tailpipe.kernel.task import Limits
from tailpipe.model.table import Column
from tests.unit.kernel.support import Run, run, table, task

S = [Column("s", "varchar"), Column("j", "json"), Column("n", "bigint")]


def test_terminal_escapes_nul_and_wrong_bytes_are_kept_as_text() -> None:
    content = b'{"time": 1706695200, "s": "\\u001b[31mred\\u0000"}\n{"time": 1706695200, "s": "a\xff\xfeb"}\n'
    done = run(content, S)
    assert done.column("s") == ["\x1b[31mred\0", "a��b"]
    assert done.outcome.results[0].notes == {"lines with invalid bytes": 1}


def test_a_nul_in_the_line_itself_is_no_json() -> None:
    done = run(b'{"time": 1706695200, "s": "a\0b"}\n{"time": 1706695200}\n', S)
    assert done.accounts == (2, 1, 0, 1, 0)
    assert done.rejected[0]["raw"] == '{"time": 1706695200, "s": "a\0b"}'


def test_a_line_that_is_too_long_is_rejected_with_its_place_and_the_rest_goes_on() -> None:
    long = b'{"time": 1706695200, "s": "' + b"x" * 70_000 + b'"}\n'
    content = b'{"time": 1706695200, "s": "a"}\n' + long + b'{"time": 1706695200, "s": "b"}\n'
    done = run(content, S, limits=Limits(chunk_bytes=4096, line_bytes=65_536))
    assert done.accounts == (3, 2, 0, 1, 0)
    assert done.column("s") == ["a", "b"]
    assert done.rejected[0]["ordinal"] == 2
    assert "more than 65,536" in done.rejected[0]["reason"]


@pytest.mark.parametrize("depth", [100, 5000])
def test_deep_nesting(depth: int) -> None:
    deep = "[" * depth + "]" * depth
    line = f'{{"time": 1706695200, "j": {deep}, "s": {deep}}}'
    done = run(line.encode() + b"\n", S)
    assert done.accounts[0] == done.accounts[1] + done.accounts[3] == 1
    if depth == 100:
        assert done.column("j") == [deep]
    document = run(f'{{"Records": [{line}]}}'.encode(), S, Json(records="Records"))
    assert document.accounts == done.accounts


def test_of_a_key_that_is_there_twice_the_first_counts() -> None:
    assert run(b'{"time": 1706695200, "n": 1, "n": 2}\n', S).column("n") == [1]


def test_dates_of_1970_and_2999_and_beyond() -> None:
    done = run(
        b'{"time": "1970-01-01"}\n{"time": "2999-12-31T23:59:59Z"}\n{"time": "9999-12-31"}\n{"time": 1e300}\n', S
    )
    assert done.accounts == (4, 3, 0, 1, 0)
    assert done.column("tp_timestamp") == [
        datetime(1970, 1, 1),
        datetime(2999, 12, 31, 23, 59, 59),
        datetime(9999, 12, 31),
    ]


def test_numbers_beyond_64_bits() -> None:
    big = 2**70
    content = json.dumps({"time": 1706695200, "n": big, "s": big, "j": big}).encode()
    done = run(content, S)
    assert (done.rows[0]["n"], done.rows[0]["s"]) == (None, str(big))
    assert done.outcome.results[0].nulls == {"n": 1}


def test_half_a_surrogate_is_rejected() -> None:
    done = run(b'{"time": 1706695200, "s": "\\ud800"}\n', S)
    assert done.accounts[0] == done.accounts[1] + done.accounts[3] == 1


def test_names_of_fields_cannot_break_out_of_the_sql() -> None:
    evil = "x\"; DROP TABLE tp__rows; --' || chr(0)"
    names = {evil: "kept", "tp__disposition": 3, "_r": 1, "_misfit0": True, "": 1, "*": 2, "a\0b": 3, "$.x[0]": 4}
    made = task(json.dumps({"time": 1706695200, **names}).encode(), of=table(map_fields=["*"]))
    types = sample(made)
    assert types.keys() == {"time", evil, "tp__disposition", "_r", "_misfit0", "$.x[0]"}
    done = Run(replace(made, types=types))
    assert done.accounts == (1, 1, 0, 0, 0)
    assert done.outcome.widenings == ()
    assert done.rows[0][evil] == "kept"
    assert [done.rows[0][name] for name in ("_tp__disposition", "_r", "_misfit0", "$.x[0]")] == [3, 1, True, 4]


def test_an_index_may_be_any_text() -> None:
    texts = ["", "..", "/", "a=b", "NULL", "é" * 200, "\0", "'; --"]
    content = "".join(json.dumps({"time": 1706695200, "s": text}) + "\n" for text in texts)
    done = run(content.encode(), S, tp_index="s")
    assert {file.tp_index for file in done.outcome.files} == set(texts)
    assert done.column("tp_index") == texts
