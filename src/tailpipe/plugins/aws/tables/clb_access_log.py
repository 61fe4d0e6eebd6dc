"""Requests through Classic Load Balancers."""

from __future__ import annotations

from tailpipe.plugin import Column, OcsfEvents, Table
from tailpipe.plugin.sql import (
    endpoint_address,
    endpoint_port,
    is_endpoint,
    is_iso_time,
    request_method,
    request_url,
    request_version,
)
from tailpipe.plugins.aws.tables.lines import EXTRA, line_format, load_balancer_layouts

__all__ = ["ClbAccessLog"]

_FIELDS = """
    timestamp elb client backend request_processing_time backend_processing_time response_processing_time
    elb_status_code backend_status_code received_bytes sent_bytes request user_agent ssl_cipher ssl_protocol
"""
_CONDITIONS = {"timestamp": is_iso_time("timestamp"), "client": is_endpoint("client")}


class ClbAccessLog(Table):
    """One row for each request or connection that reached a Classic Load Balancer."""

    name = "aws_clb_access_log"
    format = line_format("aws_clb_access_log", _FIELDS, min_values=12, conditions=_CONDITIONS)
    columns = [
        Column(
            "backend_ip", "varchar", "Address of the instance, IPv4 or IPv6.", transform=endpoint_address("backend")
        ),
        Column("backend_port", "bigint", "Port of the instance.", transform=endpoint_port("backend")),
        Column(
            "backend_processing_time",
            "double",
            "Seconds until the instance began to answer; null if it did not.",
            null_if="-1",
        ),
        Column("backend_status_code", "bigint", "HTTP status that the instance gave; null for TCP listeners."),
        Column("client_ip", "varchar", "Address of the client, IPv4 or IPv6.", transform=endpoint_address("client")),
        Column("client_port", "bigint", "Port of the client.", transform=endpoint_port("client")),
        Column("elb", "varchar", "Name of the load balancer."),
        Column("elb_status_code", "bigint", "HTTP status that the client got; null for TCP listeners."),
        Column("received_bytes", "bigint", "Size of the request, in bytes."),
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
            "Seconds until the request was sent to an instance; null if it never was.",
            null_if="-1",
        ),
        Column(
            "request_url",
            "varchar",
            "URL of the request; all of a request line that is none.",
            transform=request_url("request"),
        ),
        Column(
            "response_processing_time",
            "double",
            "Seconds from the instance's answer until it was sent to the client; null if there was none.",
            null_if="-1",
        ),
        Column("sent_bytes", "bigint", "Size of the answer, in bytes."),
        Column("ssl_cipher", "varchar", "Cipher of the TLS connection."),
        Column("ssl_protocol", "varchar", "Protocol of the TLS connection."),
        Column("timestamp", "timestamp", "When the request came in, in UTC."),
        Column("user_agent", "varchar", "What the client calls itself."),
        EXTRA,
    ]
    ocsf = [
        OcsfEvents(
            name="http_activity",
            http_method="request_http_method",
            url="request_url",
            http_status="elb_status_code",
            user_agent="user_agent",
            bytes_out="sent_bytes",
            service_name="elb",
        ),
    ]
    common = {
        "tp_timestamp": "timestamp",
        "tp_source_ip": endpoint_address("client"),
        "tp_destination_ip": endpoint_address("backend"),
        "tp_ips": f"[{endpoint_address('client')}, {endpoint_address('backend')}]",
    }
    layouts = load_balancer_layouts("%{NUMBER}_elasticloadbalancing_%{DATA}.log", "[^/_.]*")
