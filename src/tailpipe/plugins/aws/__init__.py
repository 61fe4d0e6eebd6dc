"""The plugin `aws`: logs of Amazon Web Services."""

from tailpipe.plugin import Plugin
from tailpipe.plugins.aws.cloudwatch import CloudWatchLogGroup
from tailpipe.plugins.aws.connection import Aws
from tailpipe.plugins.aws.tables.cloudtrail_log import CloudtrailLog
from tailpipe.plugins.aws.tables.cost_optimization_recommendation import CostOptimizationRecommendation
from tailpipe.plugins.aws.tables.eks_audit_log import EksAuditLog
from tailpipe.plugins.aws.tables.guardduty_finding import GuarddutyFinding
from tailpipe.plugins.aws.tables.lambda_log import LambdaLog
from tailpipe.plugins.aws.tables.network_firewall_log import NetworkFirewallLog
from tailpipe.plugins.aws.tables.route53_resolver_query_log import Route53ResolverQueryLog
from tailpipe.plugins.aws.tables.securityhub_finding import SecurityhubFinding
from tailpipe.plugins.aws.tables.waf_traffic_log import WafTrafficLog

plugin = Plugin(
    name="aws",
    description="Logs of Amazon Web Services.",
    sources=[CloudWatchLogGroup],
    tables=[
        CloudtrailLog,
        CostOptimizationRecommendation,
        EksAuditLog,
        GuarddutyFinding,
        LambdaLog,
        NetworkFirewallLog,
        Route53ResolverQueryLog,
        SecurityhubFinding,
        WafTrafficLog,
    ],
    connections=[Aws],
)
