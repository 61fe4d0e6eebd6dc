"""The plugin `aws`: logs of Amazon Web Services."""

from tailpipe.plugin import Plugin
from tailpipe.plugins.aws.cloudwatch import CloudWatchLogGroup
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.flow_format import FlowLogFormat
from tailpipe.plugins.aws.tables.alb_access_log import AlbAccessLog
from tailpipe.plugins.aws.tables.alb_connection_log import AlbConnectionLog
from tailpipe.plugins.aws.tables.clb_access_log import ClbAccessLog
from tailpipe.plugins.aws.tables.cloudfront_access_log import CloudfrontAccessLog
from tailpipe.plugins.aws.tables.cloudtrail_log import CloudtrailLog
from tailpipe.plugins.aws.tables.cost_and_usage_focus import CostAndUsageFocus
from tailpipe.plugins.aws.tables.cost_and_usage_report import CostAndUsageReport
from tailpipe.plugins.aws.tables.cost_optimization_recommendation import CostOptimizationRecommendation
from tailpipe.plugins.aws.tables.eks_audit_log import EksAuditLog
from tailpipe.plugins.aws.tables.guardduty_finding import GuarddutyFinding
from tailpipe.plugins.aws.tables.lambda_log import LambdaLog
from tailpipe.plugins.aws.tables.network_firewall_log import NetworkFirewallLog
from tailpipe.plugins.aws.tables.nlb_access_log import NlbAccessLog
from tailpipe.plugins.aws.tables.route53_resolver_query_log import Route53ResolverQueryLog
from tailpipe.plugins.aws.tables.s3_server_access_log import S3ServerAccessLog
from tailpipe.plugins.aws.tables.securityhub_finding import SecurityhubFinding
from tailpipe.plugins.aws.tables.vpc_flow_log import VpcFlowLog
from tailpipe.plugins.aws.tables.waf_traffic_log import WafTrafficLog

plugin = Plugin(
    name="aws",
    description="Logs of Amazon Web Services.",
    sources=[CloudWatchLogGroup],
    tables=[
        AlbAccessLog,
        AlbConnectionLog,
        ClbAccessLog,
        CloudfrontAccessLog,
        CloudtrailLog,
        CostAndUsageFocus,
        CostAndUsageReport,
        CostOptimizationRecommendation,
        EksAuditLog,
        GuarddutyFinding,
        LambdaLog,
        NetworkFirewallLog,
        NlbAccessLog,
        Route53ResolverQueryLog,
        S3ServerAccessLog,
        SecurityhubFinding,
        VpcFlowLog,
        WafTrafficLog,
    ],
    formats=[FlowLogFormat],
    presets=[FlowLogFormat(name="default", description="Flow logs with a header line, or the 14 fields of version 2.")],
    connections=[Aws],
)
