"""TLS connections through Network Load Balancers."""

from __future__ import annotations

from tailpipe.plugin import Column, Table
from tailpipe.plugin.sql import endpoint_address, endpoint_port, is_domain, is_endpoint, is_iso_time, texts
from tailpipe.plugins.aws.tables.lines import EXTRA, is_arn, line_format, load_balancer_layouts

__all__ = ["NlbAccessLog"]

_FIELDS = """
    type version timestamp elb listener client destination connection_time tls_handshake_time received_bytes
    sent_bytes incoming_tls_alert chosen_cert_arn chosen_cert_serial tls_cipher tls_protocol_version
    tls_named_group domain_name alpn_fe_protocol alpn_be_protocol alpn_client_preference_list
    tls_connection_creation_time
"""
_CONDITIONS = {"timestamp": is_iso_time("timestamp"), "client": is_endpoint("client")}


class NlbAccessLog(Table):
    """One row for each TLS connection that a Network Load Balancer has ended."""

    name = "aws_nlb_access_log"
    format = line_format("aws_nlb_access_log", _FIELDS, min_values=18, conditions=_CONDITIONS)
    columns = [
        Column("alpn_be_protocol", "varchar", "Application protocol that was agreed on with the target."),
        Column(
            "alpn_client_preference_list",
            "varchar[]",
            "Application protocols that the client offered, the best first.",
            transform="""string_split(replace(alpn_client_preference_list, '"', ''), ',')""",
        ),
        Column("alpn_fe_protocol", "varchar", "Application protocol that was agreed on with the client."),
        Column("chosen_cert_arn", "varchar", "ARN of the certificate that was shown to the client."),
        Column("chosen_cert_serial", "varchar", "Serial number of that certificate, if it has no ARN."),
        Column("client_ip", "varchar", "Address of the client, IPv4 or IPv6.", transform=endpoint_address("client")),
        Column("client_port", "bigint", "Port of the client.", transform=endpoint_port("client")),
        Column("connection_time", "bigint", "How long the connection lasted, in milliseconds."),
        Column(
            "destination_ip",
            "varchar",
            "Address of the load balancer or target, IPv4 or IPv6.",
            transform=endpoint_address("destination"),
        ),
        Column(
            "destination_port", "bigint", "Port of the load balancer or target.", transform=endpoint_port("destination")
        ),
        Column("domain_name", "varchar", "Host that the client named in the TLS handshake."),
        Column("elb", "varchar", "Id of the load balancer."),
        Column("incoming_tls_alert", "varchar", "TLS alert that the client sent."),
        Column("listener", "varchar", "Id of the TLS listener."),
        Column("received_bytes", "bigint", "Bytes from the client, after decryption."),
        Column("sent_bytes", "bigint", "Bytes to the client, before encryption."),
        Column("timestamp", "timestamp", "When the connection ended, in UTC."),
        Column("tls_cipher", "varchar", "Cipher of the TLS connection."),
        Column("tls_connection_creation_time", "timestamp", "When the connection began, in UTC."),
        Column("tls_handshake_time", "bigint", "How long the handshake took, in milliseconds."),
        Column("tls_named_group", "varchar", "Group of the key exchange."),
        Column("tls_protocol_version", "varchar", "Protocol of the TLS connection."),
        Column("type", "varchar", "Kind of the listener, `tls`."),
        Column("version", "varchar", "Version of the log's format."),
        EXTRA,
    ]
    common = {
        "tp_timestamp": "timestamp",
        "tp_source_ip": endpoint_address("client"),
        "tp_destination_ip": endpoint_address("destination"),
        "tp_ips": f"[{endpoint_address('client')}, {endpoint_address('destination')}]",
        "tp_domains": texts("domain_name", only=is_domain),
        "tp_akas": texts("chosen_cert_arn", only=is_arn),
    }
    layouts = load_balancer_layouts("%{NUMBER}_elasticloadbalancing_%{DATA}_net.%{DATA}.log.gz", r"net\.[^/]*")
