"""The plugin `aws`: logs of Amazon Web Services."""

from tailpipe.plugin import LateTable, Plugin
from tailpipe.plugins.aws.cloudwatch import CloudWatchLogGroup
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.flow_format import FlowLogFormat
from tailpipe.plugins.aws.s3 import S3Bucket

TABLES = {
    "alb_access_log": "AlbAccessLog",
    "alb_connection_log": "AlbConnectionLog",
    "clb_access_log": "ClbAccessLog",
    "cloudfront_access_log": "CloudfrontAccessLog",
    "cloudtrail_log": "CloudtrailLog",
    "cost_and_usage_focus": "CostAndUsageFocus",
    "cost_and_usage_report": "CostAndUsageReport",
    "cost_optimization_recommendation": "CostOptimizationRecommendation",
    "eks_audit_log": "EksAuditLog",
    "guardduty_finding": "GuarddutyFinding",
    "lambda_log": "LambdaLog",
    "network_firewall_log": "NetworkFirewallLog",
    "nlb_access_log": "NlbAccessLog",
    "route53_resolver_query_log": "Route53ResolverQueryLog",
    "s3_server_access_log": "S3ServerAccessLog",
    "securityhub_finding": "SecurityhubFinding",
    "vpc_flow_log": "VpcFlowLog",
    "waf_traffic_log": "WafTrafficLog",
}
"""The modules of `tables/` and the table in each; its name is that of the module, after `aws_`."""

plugin = Plugin(
    name="aws",
    description="Logs of Amazon Web Services.",
    sources=[CloudWatchLogGroup, S3Bucket],
    tables=[
        LateTable(f"aws_{module}", f"tailpipe.plugins.aws.tables.{module}:{declared}")
        for module, declared in TABLES.items()
    ],
    formats=[FlowLogFormat],
    presets=[FlowLogFormat(name="default", description="Flow logs with a header line, or the 14 fields of version 2.")],
    connections=[Aws],
)
