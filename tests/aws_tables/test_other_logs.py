"""A line that belongs to another AWS log becomes no row with a wrong time, whatever table it is given to."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from tests.aws_tables.golden import TABLES, cases
from tests.aws_tables.inputs import rows_of

CONFUSABLE = (
    "aws_alb_access_log",
    "aws_alb_connection_log",
    "aws_clb_access_log",
    "aws_cloudfront_access_log",
    "aws_nlb_access_log",
    "aws_s3_server_access_log",
    "aws_vpc_flow_log",
)
"""The tables of lines that only the place of a value names."""
FIRST, LAST = datetime(2024, 1, 1), datetime(2024, 12, 31)


def lines_of_others(table: str) -> str:
    """All golden lines of all other tables that are read line by line, without their headers."""
    inputs = [case.input for case in cases() if case.table != table and case.input.suffix in (".log", ".jsonl")]
    lines = [line for path in inputs for line in path.read_text(encoding="utf-8").splitlines()]
    return "\n".join(line for line in lines if not line.startswith(("#", "version "))) + "\n"


@pytest.mark.parametrize("table", CONFUSABLE)
def test_no_line_of_another_log_becomes_a_row(table: str) -> None:
    assert rows_of(table, lines_of_others(table)) == []


@pytest.mark.parametrize("table", sorted(set(TABLES) - set(CONFUSABLE)))
def test_a_row_that_a_line_of_another_log_becomes_has_the_time_of_that_line(table: str) -> None:
    lines = lines_of_others(table)
    if TABLES[table].format.type == "json":  # type: ignore[union-attr]
        lines = lines.replace("\n", " ")
    times = {row["tp_timestamp"] for row in rows_of(table, lines)}
    assert all(FIRST <= time <= LAST for time in times)
    seconds = {str(int(time.replace(tzinfo=UTC).timestamp())) for time in times}
    written = re.sub(r"[^0-9]", "", lines)
    clocks = {time.strftime("%Y%m%d%H%M%S") for time in times}
    assert all(one in written or other in lines for one, other in zip(sorted(clocks), sorted(seconds), strict=True))


def test_a_connection_log_is_no_row_of_a_classic_load_balancer_and_a_flow_record_none_of_either() -> None:
    connection = (
        '2024-03-01T10:00:00.186641Z 203.0.113.10 43500 443 TLSv1.2 ECDHE 4.036 "CN=a" - FEF257 Success TID_1 more'
    )
    assert rows_of("aws_clb_access_log", connection) == []
    flow = "2 123456789010 eni-1 172.31.16.139 172.31.16.21 20641 22 6 20 4249 1709287200 1709287260 ACCEPT OK"
    assert rows_of("aws_clb_access_log", flow) == rows_of("aws_alb_connection_log", flow) == []
    assert len(rows_of("aws_vpc_flow_log", flow)) == 1
