"""Network Firewall: alerts, flows and TLS failures of a firewall."""

from __future__ import annotations

from tailpipe.formats import Jsonl
from tailpipe.plugin import Column, OcsfEvents, Table
from tailpipe.plugin.sql import address_or_null, distinct_texts, is_domain

__all__ = ["NetworkFirewallLog"]

_ALERT = (
    "struct(action varchar, signature_id bigint, rev integer, signature varchar, category varchar, severity integer,"
    " gid bigint, metadata json)"
)
_NETFLOW = (
    'struct(pkts bigint, bytes bigint, "start" timestamp, "end" timestamp, age bigint, min_ttl integer,'
    " max_ttl integer, state varchar, reason varchar, alerted boolean, tx_cnt integer)"
)
_TLS = (
    "struct(sni varchar, version varchar, subject varchar, issuerdn varchar, fingerprint varchar, serial varchar,"
    " notbefore varchar, notafter varchar, ja3 json, ja3s json, session_resumed boolean)"
)
_HTTP = (
    "struct(hostname varchar, url varchar, http_user_agent varchar, http_content_type varchar, http_method varchar,"
    " http_refer varchar, protocol varchar, status integer, redirect varchar, length bigint)"
)
_EVENT = (
    "struct(timestamp timestamp, event_type varchar, flow_id bigint, tx_id bigint, src_ip varchar, src_port integer,"
    " dest_ip varchar, dest_port integer, proto varchar, ip_v integer, app_proto varchar, direction varchar,"
    f" alert {_ALERT}, netflow {_NETFLOW}, tls {_TLS}, http {_HTTP}, verdict json, metadata json, tcp json, dns json,"
    " ssh json, smtp json, smb json, ftp json, dhcp json, ntp json, fileinfo json, icmp_type integer,"
    " icmp_code integer, pkt_src varchar, aws_category varchar, sni varchar, tls_inspected boolean,"
    " leaf_cert_fpr varchar, revocation_check json, tls_error json, community_id varchar, vlan json)"
)


class NetworkFirewallLog(Table):
    """One row for each alert, flow or TLS failure of a Network Firewall."""

    name = "aws_network_firewall_log"
    format = Jsonl()
    columns = [
        Column("event_timestamp", "timestamp", "When the record was made, to the second, in UTC."),
        Column("firewall_name", "varchar", "Name of the firewall."),
        Column("availability_zone", "varchar", "Zone of the endpoint that saw the traffic."),
        Column("event", _EVENT, "What was seen, as Suricata tells it: addresses, protocol, alert or flow."),
        Column("additional", "json", "Everything in the record that has no column of its own.", source="*"),
    ]
    ocsf = [
        OcsfEvents(
            name="network_activity",
            when="event.event_type <> 'alert'",
            src_endpoint_port="event.src_port",
            dst_endpoint_port="event.dest_port",
            protocol_name="lower(event.proto)",
            bytes="event.netflow.bytes",
            packets="event.netflow.pkts",
            service_name="firewall_name",
        ),
        OcsfEvents(
            name="detection_finding",
            when="event.event_type = 'alert'",
            finding_title="event.alert.signature",
            rule_name="event.alert.signature_id",
            severity_id="CASE event.alert.severity WHEN 1 THEN 4 WHEN 2 THEN 3 WHEN 3 THEN 2 ELSE 1 END",
            message="event.alert.category",
            service_name="firewall_name",
        ),
    ]
    common = {
        "tp_timestamp": 'coalesce(event."timestamp", event_timestamp)',
        "tp_source_ip": address_or_null("event.src_ip"),
        "tp_destination_ip": address_or_null("event.dest_ip"),
        "tp_ips": "[event.src_ip, event.dest_ip]",
        "tp_domains": distinct_texts("[event.tls.sni, event.sni, event.http.hostname]", only=is_domain),
    }
    layouts = {
        "aws_s3_bucket": "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/network-firewall/%{WORD:log_type}/"
        "%{DATA:region}/%{DATA:firewall}/%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{HOUR:hour}/%{DATA}.log.gz",
        "file": "(%{DATA}/)?([^/]*_network-firewall_[^/]*_%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}"
        "[0-9T][^/]*|[^/]*)",
    }
