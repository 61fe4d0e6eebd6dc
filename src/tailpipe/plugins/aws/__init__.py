"""The plugin `aws`: logs of Amazon Web Services."""

from pathlib import Path

from tailpipe.plugin import Late, Plugin, table_files

TABLES = {
    "alb_connection_log": "AlbConnectionLog",
    "clb_access_log": "ClbAccessLog",
    "cloudfront_access_log": "CloudfrontAccessLog",
    "cost_and_usage_focus": "CostAndUsageFocus",
    "cost_and_usage_report": "CostAndUsageReport",
    "cost_optimization_recommendation": "CostOptimizationRecommendation",
    "lambda_log": "LambdaLog",
    "network_firewall_log": "NetworkFirewallLog",
    "nlb_access_log": "NlbAccessLog",
    "route53_resolver_query_log": "Route53ResolverQueryLog",
    "s3_server_access_log": "S3ServerAccessLog",
    "securityhub_finding": "SecurityhubFinding",
    "vpc_flow_log": "VpcFlowLog",
}
"""The modules of `tables/` and the table in each, named after the module, behind `aws_`; others are `.tpc` files."""

_HERE = "tailpipe.plugins.aws"

plugin = Plugin(
    name="aws",
    description="Logs of Amazon Web Services.",
    queries=Path(__file__).parent / "queries",
    detections=Path(__file__).parent / "detections",
    sources=[
        Late("aws_cloudwatch_log_group", f"{_HERE}.cloudwatch:CloudWatchLogGroup"),
        Late("aws_s3_bucket", f"{_HERE}.s3:S3Bucket"),
        Late("aws_sqs_s3", f"{_HERE}.sqs:S3Queue"),
    ],
    tables=[
        *(Late(f"aws_{module}", f"{_HERE}.tables.{module}:{declared}") for module, declared in TABLES.items()),
        *table_files(__path__[0]),
    ],
    formats=[Late("aws_vpc_flow_log", f"{_HERE}.flow_format:FlowLogFormat")],
    presets=[
        Late("aws_vpc_flow_log.default", f"{_HERE}.flow_format:DEFAULT"),
        Late("aws_vpc_flow_log.transit_gateway", f"{_HERE}.flow_format:TRANSIT_GATEWAY"),
        Late("delimited.aws_api_gateway_csv", f"{_HERE}.api_gateway:CSV"),
        Late("regex.aws_api_gateway_clf", f"{_HERE}.api_gateway:CLF"),
        Late("regex.aws_api_gateway_xml", f"{_HERE}.api_gateway:XML"),
    ],
    connections=[Late("aws", f"{_HERE}.connection:Aws")],
)
