"""What the golden cases of the line and cost tables cannot show: paths, parquet files, endpoints and layouts."""

from __future__ import annotations

import io
from datetime import date
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailpipe.collect.listing import list_source
from tailpipe.errors import UsageError
from tailpipe.model.coverage import EVERY_DAY
from tailpipe.model.option import options_of
from tailpipe.plugin import Artifact, Window
from tailpipe.plugin.sql import endpoint_address, endpoint_port, request_method, request_url, request_version
from tailpipe.plugins.aws.flow_format import FlowLogFormat
from tests.aws_tables.golden import TABLES
from tests.unit.kernel.support import Memory, Run, task

LB = "AWSLogs/111122223333/elasticloadbalancing/us-east-2/2024/03/01/"
FLOW = "AWSLogs/111122223333/vpcflowlogs/us-east-1/2024/03/01/111122223333_vpcflowlogs_us-east-1_fl-1_20240301T1000Z_a"
HIVE = "aws-account-id=111122223333/aws-service=vpcflowlogs/aws-region=us-east-1/year=2024/month=03/day=01/"
ALB = "111122223333_elasticloadbalancing_us-east-2_app.shop.50dc_20240301T1000Z_10.0.0.1_2t2d.log.gz"
NLB = ALB.replace("_app.", "_net.")
CLB = "111122223333_elasticloadbalancing_us-east-2_shop_20240301T1000Z_10.0.0.1_2t2d.log"
FIRST = date(2024, 3, 1)


class Paths(Memory):
    """A source that lists these paths."""

    paths: tuple[str, ...] = ()

    def artifacts(self, window: Window) -> Any:
        return iter([Artifact(path, path=path) for path in self.paths])


class Bucket(Paths):
    """A bucket of them."""

    type = "aws_s3_bucket"


class Directory(Paths):
    """A directory of them."""

    type = "file"


def days(table: str, source: type[Paths], *paths: str) -> dict[str, date | None]:
    """The paths that are taken, and the day of each."""
    listed = list_source(source(name="x", paths=paths), TABLES[table], EVERY_DAY, today=date(2024, 6, 1)).listed
    return {one.artifact.uri: one.artifact.day for one in listed}


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ("aws_alb_access_log", LB + ALB),
        ("aws_alb_access_log", LB.replace("AWSLogs/", "AWSLogs/o-1/") + ALB),
        ("aws_nlb_access_log", LB + NLB),
        ("aws_clb_access_log", LB + CLB),
        ("aws_alb_connection_log", f"{LB}conn_log.{ALB}"),
        ("aws_alb_connection_log", f"shop/{LB}conn_log.{ALB}"),
        ("aws_vpc_flow_log", f"{FLOW}.log.gz"),
        ("aws_vpc_flow_log", f"{FLOW}.log.parquet"),
        ("aws_vpc_flow_log", f"AWSLogs/{HIVE}a.log.parquet"),
        ("aws_vpc_flow_log", f"AWSLogs/{HIVE}hour=10/a.log.gz"),
        ("aws_vpc_flow_log", FLOW.replace("/01/1", "/01/10/1") + ".log.gz"),
        ("aws_s3_server_access_log", "2024-03-01-10-00-00-0123456789ABCDEF"),
        ("aws_s3_server_access_log", "111122223333/us-east-1/logs/2024/03/01/2024-03-01-10-00-00-0123456789ABCDEF"),
        ("aws_cloudfront_access_log", "cdn/EMLARXS9EXAMPLE.2024-03-01-20.RT4KCN4SGK9.gz"),
        ("aws_cloudfront_access_log", "EMLARXS9EXAMPLE.2024-03-01-20.RT4KCN4SGK9.gz"),
        ("aws_cloudfront_access_log", "AWSLogs/1/CloudFront/E1/2024/03/01/20/E1.2024-03-01-20.a.parquet"),
    ],
)
def test_the_paths_of_aws_are_dated_in_a_bucket_and_in_a_copy_of_it(table: str, path: str) -> None:
    assert days(table, Bucket, path) == {path: FIRST}
    assert days(table, Directory, f"copy/{path}") == {f"copy/{path}": FIRST}


@pytest.mark.parametrize(
    ("table", "others"),
    [
        ("aws_alb_access_log", [LB + NLB, LB + CLB, "AWSLogs/111122223333/ELBAccessLogTestFile", f"{FLOW}.log.gz"]),
        ("aws_nlb_access_log", [LB + ALB, LB + CLB]),
        ("aws_clb_access_log", [LB + ALB, LB + NLB]),
        ("aws_alb_connection_log", [LB + ALB]),
        ("aws_vpc_flow_log", [LB + ALB, "AWSLogs/111122223333/vpcflowlogs/test"]),
        (
            "aws_cost_and_usage_report",
            ["r/20240301-20240401/r-Manifest.json", "r/metadata/x.yml", "r/create-table.sql"],
        ),
        ("aws_cost_and_usage_focus", ["f/metadata/BILLING_PERIOD=2024-03/f-Manifest.json"]),
    ],
)
def test_what_lies_beside_the_logs_is_left_alone(table: str, others: list[str]) -> None:
    assert days(table, Bucket, *others) == {}


@pytest.mark.parametrize(
    ("table", "name"),
    [
        ("aws_alb_access_log", ALB),
        ("aws_alb_access_log", ALB.removesuffix(".gz")),
        ("aws_nlb_access_log", NLB),
        ("aws_clb_access_log", CLB),
        ("aws_alb_connection_log", f"conn_log.{ALB}"),
        ("aws_vpc_flow_log", FLOW.rpartition("/")[2] + ".log.gz"),
        ("aws_vpc_flow_log", FLOW.rpartition("/")[2] + ".log"),
        ("aws_cloudtrail_log", "111122223333_CloudTrail_us-east-1_20240301T1000Z_a.json.gz"),
    ],
)
def test_a_file_with_the_name_that_aws_gave_it_is_dated_by_it_without_any_folder(table: str, name: str) -> None:
    assert days(table, Directory, name, f"a/b/{name}") == {name: FIRST, f"a/b/{name}": FIRST}


def test_in_a_directory_the_logs_of_one_load_balancer_are_told_apart() -> None:
    names = (ALB, NLB, CLB, f"conn_log.{ALB}", f"health_check_log.{ALB}")
    taken = {
        table: list(days(f"aws_{table}", Directory, *names))
        for table in ("alb_access_log", "nlb_access_log", "clb_access_log", "alb_connection_log")
    }
    assert list(taken.values()) == [[ALB], [NLB], [CLB], [f"conn_log.{ALB}"]]
    others = ("connections.log", "conn", "c", "health.log", "h/conn_log")
    assert set(days("aws_alb_access_log", Directory, *others)) == set(others)


def test_in_a_directory_files_of_other_names_are_taken_and_files_of_other_logs_are_not() -> None:
    assert days("aws_alb_access_log", Directory, "alb.log", "old/a.log", LB + NLB) == {
        "alb.log": None,
        "old/a.log": None,
    }
    assert days("aws_vpc_flow_log", Directory, "flows.txt", LB + ALB) == {"flows.txt": None}


@pytest.mark.parametrize(
    "path",
    [
        "cur/report/20240301-20240401/1a2b/report-1.csv.gz",
        "cur/report/report/year=2024/month=3/report-00001.snappy.parquet",
        "cur/report/data/BILLING_PERIOD=2024-03/report-00001.csv.gz",
        "report-1.csv.zip",
    ],
)
@pytest.mark.parametrize("table", ["aws_cost_and_usage_report", "aws_cost_and_usage_focus"])
def test_the_data_files_of_an_export_are_taken(table: str, path: str) -> None:
    assert days(table, Bucket, path) == days(table, Directory, path) == {path: None}


def evaluated(expression: str, value: str | None) -> Any:
    return duckdb.execute(f"SELECT {expression} FROM (SELECT $1::VARCHAR AS x)", [value]).fetchall()[0][0]


@pytest.mark.parametrize(
    ("endpoint", "ip", "number"),
    [
        ("192.0.2.1:80", "192.0.2.1", "80"),
        ("[2001:db8::1]:443", "2001:db8::1", "443"),
        ("2001:db8:0:0:0:0:0:1:443", "2001:db8:0:0:0:0:0:1", "443"),
        ("[2001:db8::1]", "2001:db8::1", None),
        ("192.0.2.1", "192.0.2.1", None),
        ("192.0.2.1:", "192.0.2.1", None),
        (None, None, None),
    ],
)
def test_an_endpoint_is_an_address_and_a_port(endpoint: str | None, ip: str | None, number: str | None) -> None:
    assert (evaluated(endpoint_address("x"), endpoint), evaluated(endpoint_port("x"), endpoint)) == (ip, number)


@pytest.mark.parametrize(
    ("request_line", "parts"),
    [
        ("GET http://a:80/ HTTP/1.1", ("GET", "http://a:80/", "HTTP/1.1")),
        ("GET http://a:80/b c d HTTP/1.1", ("GET", "http://a:80/b c d", "HTTP/1.1")),
        ("GET http://a:80/b", ("GET", "http://a:80/b", None)),
        ("GET http://a:80/b c", ("GET", "http://a:80/b c", None)),
        ("- http://a:80- -", (None, "http://a:80-", None)),
        ("- - - ", (None, None, None)),
        ("- http://a:80-/ ", (None, "http://a:80-/", None)),
        ("\\x16\\x03\\x01", (None, "\\x16\\x03\\x01", None)),
        ("GET  HTTP/1.1", ("GET", "", "HTTP/1.1")),
        (None, (None, None, None)),
    ],
)
def test_a_request_line_is_a_method_a_url_and_a_version(
    request_line: str | None, parts: tuple[str | None, ...]
) -> None:
    assert tuple(evaluated(part("x"), request_line) for part in (request_method, request_url, request_version)) == parts


def test_flow_logs_in_parquet_give_the_same_rows_as_in_text() -> None:
    header = "version account-id interface-id srcaddr dstaddr srcport bytes start end action pkt-srcaddr resource-id"
    text = f"{header}\n2 1 eni-1 10.0.0.1 2001:db8::2 443 99999999999 1709287200 1709287260 ACCEPT - r-1\n"
    file = io.BytesIO()
    row = [2, "1", "eni-1", "10.0.0.1", "2001:db8::2", 443, 99999999999, 1709287200, 1709287260, "ACCEPT", "-", "r-1"]
    columns = [name.replace("-", "_") for name in header.split()]
    pq.write_table(pa.table({name: [value] for name, value in zip(columns, row, strict=True)}), file)
    table = TABLES["aws_vpc_flow_log"]
    contents = {"/logs/a.log": text.encode(), "/logs/b.log.parquet": file.getvalue()}
    done = Run(task(contents, of=table, format=table.format))
    assert done.accounts == (2, 2, 0, 0, 0)
    one, other = ({k: v for k, v in row.items() if k not in ("tp_id", "tp_source_location")} for row in done.rows)
    assert one == other
    assert (one["dst_addr"], one["bytes"], one["pkt_src_addr"]) == ("2001:db8::2", 99999999999, None)


def test_a_cost_report_in_parquet_has_its_maps() -> None:
    file = io.BytesIO()
    tags = pa.array([[("user_name", "web-1")]], pa.map_(pa.string(), pa.string()))
    time = pa.array([1709287200000], pa.timestamp("ms"))
    names = {"line_item_usage_start_date": time, "resource_tags": tags, "product_servicecode": ["AmazonEC2"]}
    pq.write_table(pa.table({**names, "line_item_unblended_cost": [0.5], "cost_category_team": ["x"]}), file)
    table = TABLES["aws_cost_and_usage_report"]
    (row,) = Run(task({"/r-00001.snappy.parquet": file.getvalue()}, of=table, format=table.format)).rows
    assert str(row["tp_timestamp"]) == str(row["line_item_usage_start_date"]) == "2024-03-01 10:00:00"
    assert (row["resource_tags"], row["cost_category"]) == ('{"user_name":"web-1"}', '{"team":"x"}')
    assert (row["product_service_code"], row["line_item_unblended_cost"]) == ("AmazonEC2", 0.5)


def test_recommendations_in_parquet_are_taken_and_have_their_time() -> None:
    path = "hub/data/date=2024-03-01/hub-00001.snappy.parquet"
    table, file = TABLES["aws_cost_optimization_recommendation"], io.BytesIO()
    assert days(table.name, Bucket, path) == days(table.name, Directory, path) == {path: None}
    time = pa.array([1709287200000], pa.timestamp("ms"))
    pq.write_table(pa.table({"last_refresh_timestamp": time, "account_id": ["1"], "new": ["x"]}), file)
    (row,) = Run(task({f"/{path}": file.getvalue()}, of=table, format=table.format)).rows
    assert (str(row["tp_timestamp"]), row["additional"]) == ("2024-03-01 10:00:00", '{"new":"x"}')


def test_a_file_of_nothing_but_two_comment_lines_is_read_once_and_has_no_rows() -> None:
    table = TABLES["aws_cloudfront_access_log"]
    done = Run(task(b"#Version: 1.0\n#Fields: date time c-ip\n", of=table, format=table.format))
    assert done.accounts == (0, 0, 0, 0, 0)
    assert done.outcome.results[0].committed_ordinals == 2


@pytest.mark.parametrize(
    ("layout", "message", "hint"),
    [
        ("version srcadr", 'flow logs have no field "srcadr"', 'did you mean "srcaddr"?'),
        ("version tgw-idd", 'flow logs have no field "tgw-idd"', 'did you mean "tgw-id"?'),
        ("version version", 'the field "version" is duplicated', ""),
        (" ", "the layout has no field", "the default is: version account-id"),
    ],
)
def test_a_layout_of_flow_logs_is_checked(layout: str, message: str, hint: str) -> None:
    check = options_of(FlowLogFormat)["layout"].check
    assert check is not None
    with pytest.raises(UsageError) as error:
        check(layout)
    assert str(error.value).startswith(message)
    assert (error.value.hint or "").startswith(hint)
