"""Whatever stands where a log has its addresses, those of the common columns can all be cast to INET."""

from __future__ import annotations

import itertools
import re

import duckdb
import pytest

from tailpipe.sql.inet import load_statement
from tests.aws_tables.golden import Case, cases
from tests.aws_tables.inputs import rows_of
from tests.sampling import sampled

GARBAGE = ("localhost:8080", "999.1.1.1", "fe80::1%eth0", "1:2:3", "192.0.2.1/33", "::1::2", "_hidden", "192.0.2")
_ADDRESS = re.compile(r"(?<![\w.:-])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-f]{2,4}:[0-9a-f:]*:[0-9a-f]+)(?![\w.-])")


def with_garbage(text: str, start: int) -> tuple[str, int]:
    """The text with something else for each address, and how many there were."""
    found = itertools.count(start)
    return _ADDRESS.subn(lambda _: GARBAGE[next(found) % len(GARBAGE)], text)


TEXTS = [case for case in cases() if case.input.suffix not in (".csv", ".parquet")]


@pytest.mark.slow
@pytest.mark.parametrize("case", sampled(TEXTS, 4), ids=str)
def test_every_address_can_be_cast_to_inet(case: Case) -> None:
    text = case.input.read_text(encoding="utf-8")
    inputs = [text, *(with_garbage(text, start)[0] for start in range(3))]
    addresses: set[str] = set()
    for one in inputs:
        for row in rows_of(case.table, one, case):
            addresses.update(row["tp_ips"] or (), filter(None, [row["tp_source_ip"], row["tp_destination_ip"]]))
    connection = duckdb.connect()
    connection.execute(load_statement())
    query = "SELECT unnest($1::VARCHAR[])::INET::VARCHAR"
    assert len(connection.execute(query, [sorted(addresses)]).fetchall()) == len(addresses)


def test_there_is_garbage_to_be_found() -> None:
    texts = [case for case in cases() if case.input.suffix != ".parquet"]
    counts = {case.table: with_garbage(case.input.read_text(encoding="utf-8"), 0)[1] for case in texts}
    assert len([table for table, count in counts.items() if count]) >= 12
