"""The layouts of the JSON tables date what AWS writes, and leave alone what is something else."""

from __future__ import annotations

import pytest

from tailpipe.formats.grok import compile_layout
from tests.aws_tables.golden import TABLES

DAY = ("2024", "01", "31")
LOGS = "AWSLogs/111122223333"
TRAIL = "111122223333_CloudTrail_eu-central-1_20240131T1005Z_abc.json.gz"


def day(table: str, source: str, path: str) -> tuple[str, ...] | None:
    """What the layout says of a path: its day, nothing of that, or None if it is not wanted."""
    match = compile_layout(TABLES[table].layouts[source]).fullmatch(path)
    if match is None:
        return None
    groups = match.groupdict()
    return tuple(value for name in ("year", "month", "day") if (value := groups.get(name)))


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ("aws_cloudtrail_log", f"{LOGS}/CloudTrail/eu-central-1/2024/01/31/{TRAIL}"),
        ("aws_cloudtrail_log", f"AWSLogs/o-abc/111122223333/CloudTrail/eu-central-1/2024/01/31/{TRAIL}"),
        ("aws_eks_audit_log", "audit/2024/01/31/10/prod-1-2024-01-31-10-00-00-abc"),
        ("aws_guardduty_finding", f"{LOGS}/GuardDuty/eu-central-1/2024/01/31/a.jsonl.gz"),
        ("aws_lambda_log", "exports/4c2f/2024-01-31-[$LATEST]0c1d/000000.gz"),
        (
            "aws_network_firewall_log",
            f"{LOGS}/network-firewall/alert/eu-central-1/edge/2024/01/31/10/"
            "111122223333_network-firewall_alert_eu-central-1_edge_202401311005_a.log.gz",
        ),
        (
            "aws_route53_resolver_query_log",
            f"{LOGS}/vpcdnsquerylogs/vpc-1/2024/01/31/vpc-1_vpcdnsquerylogs_111122223333_20240131T1005Z_a.log.gz",
        ),
        ("aws_securityhub_finding", f"{LOGS}/GuardDuty/eu-central-1/2024/01/31/a.json"),
        (
            "aws_waf_traffic_log",
            f"{LOGS}/WAFLogs/eu-central-1/shop/2024/01/31/10/05/"
            "111122223333_waflogs_eu-central-1_shop_20240131T1005Z_a.log.gz",
        ),
    ],
)
def test_an_object_of_a_bucket_is_dated_and_so_is_its_copy_in_a_file(table: str, path: str) -> None:
    assert day(table, "aws_s3_bucket", path) == DAY
    assert day(table, "file", f"copy/{path}") == DAY


@pytest.mark.parametrize("folder", ["CloudTrail-Digest", "CloudTrail-Insight"])
def test_digests_of_a_trail_are_left_out(folder: str) -> None:
    name = TRAIL.replace("CloudTrail", folder)
    assert day("aws_cloudtrail_log", "aws_s3_bucket", f"{LOGS}/{folder}/eu-central-1/2024/01/31/{name}") is None
    assert day("aws_cloudtrail_log", "file", name) is None


@pytest.mark.parametrize(
    "table", ["aws_cloudtrail_log", "aws_guardduty_finding", "aws_lambda_log", "aws_waf_traffic_log"]
)
@pytest.mark.parametrize("path", ["events.json", "a/b/2024_events.log.gz", "7"])
def test_a_file_of_any_name_is_taken_without_a_date(table: str, path: str) -> None:
    assert day(table, "file", path) == ()


def test_recommendations_are_csv_files_and_manifests_are_not() -> None:
    data = "recommendations/data/BILLING_PERIOD=2024-01/2024-01-31T10:00:00.000Z-ab/part-00001.csv.gz"
    assert day("aws_cost_optimization_recommendation", "aws_s3_bucket", data) == ()
    manifest = "recommendations/metadata/BILLING_PERIOD=2024-01/recommendations-Manifest.json"
    for source in ("aws_s3_bucket", "file"):
        assert day("aws_cost_optimization_recommendation", source, manifest) is None
