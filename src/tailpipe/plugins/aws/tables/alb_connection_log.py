"""Connections to Application Load Balancers."""

from __future__ import annotations

from tailpipe.plugin import Column, Table
from tailpipe.plugin.sql import is_endpoint, is_iso_time, is_whole_number
from tailpipe.plugins.aws.tables.lines import EXTRA, line_format, load_balancer_layouts

__all__ = ["AlbConnectionLog"]

_FIELDS = """
    timestamp client_ip client_port listener_port tls_protocol tls_cipher tls_handshake_latency
    leaf_client_cert_subject leaf_client_cert_validity leaf_client_cert_serial_number tls_verify_status
    conn_trace_id
"""
_CLIENT = "trim(client_ip, '[]')"
_CONDITIONS = {
    "timestamp": is_iso_time("timestamp"),
    "client_ip": is_endpoint("client_ip"),
    "client_port": is_whole_number("client_port"),
}


class AlbConnectionLog(Table):
    """One row for each attempt to connect to an Application Load Balancer."""

    name = "aws_alb_connection_log"
    format = line_format("aws_alb_connection_log", _FIELDS, min_values=11, conditions=_CONDITIONS)
    columns = [
        Column("client_ip", "varchar", "Address of the client, IPv4 or IPv6.", transform=_CLIENT),
        Column("client_port", "bigint", "Port of the client."),
        Column("conn_trace_id", "varchar", "Id of the connection, which the access log has too."),
        Column("leaf_client_cert_serial_number", "varchar", "Serial number of the client's certificate."),
        Column("leaf_client_cert_subject", "varchar", "Subject of the client's certificate."),
        Column("leaf_client_cert_validity", "varchar", "From when until when the client's certificate holds."),
        Column("listener_port", "bigint", "Port of the listener."),
        Column("timestamp", "timestamp", "When the connection was made or failed, in UTC."),
        Column("tls_cipher", "varchar", "Cipher of the TLS connection."),
        Column("tls_handshake_latency", "double", "Seconds that the handshake took."),
        Column("tls_protocol", "varchar", "Protocol of the TLS connection."),
        Column("tls_verify_status", "varchar", "`Success`, or `Failed:` and why the connection was refused."),
        EXTRA,
    ]
    common = {
        "tp_timestamp": "timestamp",
        "tp_source_ip": _CLIENT,
        "tp_ips": f"[{_CLIENT}]",
    }
    layouts = load_balancer_layouts("conn_log.%{DATA}.log.gz", r"app\.[^/]*", before="(%{DATA:logging_prefix}/)?")
