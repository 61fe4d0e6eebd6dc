"""Requests through Application Load Balancers."""

from __future__ import annotations

from tailpipe.plugin import Column, Table
from tailpipe.plugin.sql import (
    endpoint_address,
    endpoint_port,
    is_domain,
    is_endpoint,
    is_iso_time,
    request_method,
    request_url,
    request_version,
    texts,
)
from tailpipe.plugins.aws.tables.lines import EXTRA, is_arn, line_format, load_balancer_layouts

__all__ = ["AlbAccessLog"]

_FIELDS = """
    type timestamp elb client target request_processing_time target_processing_time response_processing_time
    elb_status_code target_status_code received_bytes sent_bytes request user_agent ssl_cipher ssl_protocol
    target_group_arn trace_id domain_name chosen_cert_arn matched_rule_priority request_creation_time
    actions_executed redirect_url error_reason target_list target_status_list classification
    classification_reason conn_trace_id transformed_host transformed_uri request_transform_status
"""
_CONDITIONS = {"timestamp": is_iso_time("timestamp"), "client": is_endpoint("client")}


class AlbAccessLog(Table):
    """One row for each request that reached an Application Load Balancer."""

    name = "aws_alb_access_log"
    format = line_format("aws_alb_access_log", _FIELDS, min_values=18, conditions=_CONDITIONS)
    columns = [
        Column(
            "actions_executed",
            "varchar[]",
            "What the load balancer did with the request, such as `forward` or `waf`, in order.",
            transform="string_split(actions_executed, ',')",
        ),
        Column("chosen_cert_arn", "varchar", "ARN of the certificate that was shown to the client."),
        Column("classification", "varchar", "How well the request keeps to the RFCs, such as `Ambiguous`."),
        Column("classification_reason", "varchar", "Code of the reason for the classification."),
        Column("client_ip", "varchar", "Address of the client, IPv4 or IPv6.", transform=endpoint_address("client")),
        Column("client_port", "bigint", "Port of the client.", transform=endpoint_port("client")),
        Column("conn_trace_id", "varchar", "Id of the connection, which the connection log has too."),
        Column("domain_name", "varchar", "Host that the client named in the TLS handshake."),
        Column("elb", "varchar", "Id of the load balancer."),
        Column("elb_status_code", "bigint", "HTTP status that the load balancer gave to the client."),
        Column("error_reason", "varchar", "Code of the reason why the request failed."),
        Column(
            "matched_rule_priority",
            "bigint",
            "Priority of the rule that matched; 0 for the default rule, -1 if evaluating the rules failed.",
        ),
        Column("received_bytes", "bigint", "Size of the request, in bytes."),
        Column("redirect_url", "varchar", "Where the client was redirected to."),
        Column("request_creation_time", "timestamp", "When the request came in, in UTC."),
        Column(
            "request_http_method",
            "varchar",
            "Method of the request, such as `GET`.",
            transform=request_method("request"),
        ),
        Column("request_http_version", "varchar", "Protocol of the request.", transform=request_version("request")),
        Column(
            "request_processing_time",
            "double",
            "Seconds until the request was sent to a target; null if it never was.",
            null_if="-1",
        ),
        Column("request_transform_status", "varchar", "Whether rewriting the host and the path worked."),
        Column(
            "request_url",
            "varchar",
            "URL of the request; all of a request line that is none.",
            transform=request_url("request"),
        ),
        Column(
            "response_processing_time",
            "double",
            "Seconds from the target's answer until it was sent to the client; null if there was none.",
            null_if="-1",
        ),
        Column("sent_bytes", "bigint", "Size of the answer, in bytes."),
        Column("ssl_cipher", "varchar", "Cipher of the TLS connection."),
        Column("ssl_protocol", "varchar", "Protocol of the TLS connection."),
        Column("target_group_arn", "varchar", "ARN of the target group."),
        Column("target_ip", "varchar", "Address of the target, IPv4 or IPv6.", transform=endpoint_address("target")),
        Column("target_list", "varchar", "Addresses and ports of all targets that were tried."),
        Column("target_port", "bigint", "Port of the target.", transform=endpoint_port("target")),
        Column(
            "target_processing_time",
            "double",
            "Seconds until the target began to answer; null if it did not.",
            null_if="-1",
        ),
        Column("target_status_code", "bigint", "HTTP status that the target gave."),
        Column("target_status_list", "varchar", "HTTP status of all targets that were tried."),
        Column("timestamp", "timestamp", "When the answer was given, in UTC."),
        Column("trace_id", "varchar", "Content of the header `X-Amzn-Trace-Id`."),
        Column("transformed_host", "varchar", "Host header after it was rewritten."),
        Column("transformed_uri", "varchar", "Path after it was rewritten."),
        Column("type", "varchar", "Kind of the request: `http`, `https`, `h2`, `grpcs`, `ws` or `wss`."),
        Column("user_agent", "varchar", "What the client calls itself."),
        EXTRA,
    ]
    common = {
        "tp_timestamp": "timestamp",
        "tp_source_ip": endpoint_address("client"),
        "tp_destination_ip": endpoint_address("target"),
        "tp_ips": f"[{endpoint_address('client')}, {endpoint_address('target')}]",
        "tp_domains": texts("domain_name", only=is_domain),
        "tp_akas": texts("target_group_arn", "chosen_cert_arn", only=is_arn),
    }
    layouts = load_balancer_layouts("%{NUMBER}_elasticloadbalancing_%{DATA}_app.%{DATA}.log.gz", r"app\.[^/]*")
