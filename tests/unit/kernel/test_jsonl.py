from __future__ import annotations

from datetime import date, datetime

from tailpipe.model.table import Column
from tests.unit.kernel.support import run


def test_lines_become_typed_rows_with_the_common_columns() -> None:
    done = run(
        b'{"time": "2024-01-31T10:00:00Z", "n": 1, "who": "ann"}\n'
        b'{"time": "2024-02-01T10:00:00+02:00", "n": "2", "who": null}\n',
        [Column("n", "integer"), Column("who", "varchar")],
    )
    assert done.accounts == (2, 2, 0, 0, 0)
    assert done.column("n") == [1, 2]
    assert done.column("who") == ["ann", None]
    assert done.column("tp_timestamp") == [datetime(2024, 1, 31, 10), datetime(2024, 2, 1, 8)]
    assert done.column("tp_date") == [date(2024, 1, 31), date(2024, 2, 1)]
    (first, _) = done.rows
    assert (first["tp_table"], first["tp_partition"]) == ("things", "test")
    assert (first["tp_index"], first["tp_source_type"]) == ("default", "memory")
    assert (first["tp_source_location"], first["tp_source_name"]) == ("/logs/a.log", "/logs")
    assert first["tp_ingest_timestamp"] == datetime(2024, 6, 1, 12)
    assert [row["tp_id"].partition("-")[2] for row in done.rows] == ["1", "2"]
    assert len(done.outcome.files) == 2


def test_a_bad_line_costs_itself_only() -> None:
    bad = [b'{"time": 1, "n": ', b"[1]", b"null", b'"text', b"{}}", b"garbage {"]
    for place in (0, 3, 6):
        good = [b'{"time": 1706695200, "n": %d}' % n for n in range(6)]
        content = b"\n".join([*good[:place], *bad, *good[place:]])
        done = run(content, [Column("n", "integer")])
        assert done.accounts == (12, 6, 0, 6, 0)
        assert [(row["ordinal"], row["raw"].encode()) for row in done.rejected] == list(enumerate(bad, place + 1))
