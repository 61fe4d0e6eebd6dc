"""Route 53 Resolver: questions of a VPC to its name server."""

from __future__ import annotations

from tailpipe.formats import Jsonl
from tailpipe.plugin import Column, OcsfEvents, Table
from tailpipe.plugin.sql import address_or_null, distinct_texts, is_domain

__all__ = ["Route53ResolverQueryLog"]

_ANSWERS = "json_extract_string(answers, '$[*].Rdata')"
_NAMES = f"list_transform({_ANSWERS}, lambda _name: rtrim(_name, '.'))"


class Route53ResolverQueryLog(Table):
    """One row for each question that a VPC has put to its Route 53 Resolver."""

    name = "aws_route53_resolver_query_log"
    format = Jsonl()
    columns = [
        Column("query_timestamp", "timestamp", "When the question was put, in UTC."),
        Column("account_id", "varchar", "Account of the VPC."),
        Column("region", "varchar", "Region of the VPC."),
        Column("vpc_id", "varchar", "VPC that the question came from."),
        Column("query_name", "varchar", "Name that was asked for, with its last dot."),
        Column("query_type", "varchar", "Kind of record that was asked for, such as `A` or `AAAA`."),
        Column("query_class", "varchar", "Class of the question, mostly `IN`."),
        Column("rcode", "varchar", "Code of the answer, such as `NOERROR` or `NXDOMAIN`."),
        Column("answers", "json", "Records of the answer: a list with `Rdata`, `Type` and `Class`."),
        Column("src_addr", "varchar", "Address that asked.", source="srcaddr"),
        Column("src_port", "integer", "Port that asked.", source="srcport"),
        Column("transport", "varchar", "Protocol of the question, `UDP` or `TCP`."),
        Column("src_ids", "json", "Instance and endpoint that asked.", source="srcids"),
        Column("firewall_rule_action", "varchar", "What the DNS Firewall did: `ALERT` or `BLOCK`."),
        Column("firewall_rule_group_id", "varchar", "Rule group of the DNS Firewall that matched."),
        Column("firewall_domain_list_id", "varchar", "Domain list of the DNS Firewall that matched."),
        Column("firewall_protection", "varchar", "Kind of attack that the DNS Firewall has noticed."),
        Column("version", "varchar", "Version of the layout of the log."),
        Column("additional", "json", "Everything in the record that has no column of its own.", source="*"),
    ]
    ocsf = [
        OcsfEvents(
            name="dns_activity",
            query_hostname="rtrim(query_name, '.')",
            query_type="query_type",
            rcode="rcode",
            answers="array_to_string(answers->>'$[*].Rdata', ', ')",
            status_id="CASE rcode WHEN 'NOERROR' THEN 1 ELSE 2 END",
        ),
    ]
    common = {
        "tp_timestamp": "query_timestamp",
        "tp_source_ip": address_or_null("srcaddr"),
        "tp_ips": distinct_texts("[srcaddr]", _ANSWERS),
        "tp_domains": distinct_texts("[rtrim(query_name, '.')]", _NAMES, only=is_domain),
    }
    layouts = {
        "aws_s3_bucket": "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/vpcdnsquerylogs/%{DATA:vpc_id}/"
        "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{DATA}.log.gz",
        "file": "(%{DATA}/)?([^/]*_vpcdnsquerylogs_[^/]*_%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}T[^/]*|[^/]*)",
    }
