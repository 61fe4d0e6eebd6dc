"""EKS: what was asked of the Kubernetes API of a cluster."""

from __future__ import annotations

from tailpipe.formats import Jsonl
from tailpipe.plugin import Column, Table, camel_case
from tailpipe.plugin.sql import address_or_null, distinct_texts
from tailpipe.plugins.aws.tables.lines import is_arn

__all__ = ["EksAuditLog"]

_USER = "struct(username varchar, uid varchar, groups varchar[], extra json)"
_OBJECT = (
    "struct(resource varchar, namespace varchar, name varchar, uid varchar, api_group varchar, api_version varchar,"
    " resource_version varchar, subresource varchar)"
)
_STATUS = "struct(code integer, status varchar, message varchar, reason varchar, details json, metadata json)"
_EXTRA = "json_extract_string(\"user\".extra, '$.{}[*]')"


class EksAuditLog(Table):
    """One row for each request to the Kubernetes API of an EKS cluster, by its audit policy."""

    name = "aws_eks_audit_log"
    format = Jsonl()
    columns = camel_case(
        Column("stage_timestamp", "timestamp", "When the request came to this stage, in UTC."),
        Column("request_received_timestamp", "timestamp", "When the request came to the API server, in UTC."),
        Column("audit_id", "varchar", "Identity of the request; its stages have the same.", source="auditID"),
        Column("stage", "varchar", "Stage of the request, such as `ResponseComplete`."),
        Column("level", "varchar", "How much was recorded: `Metadata`, `Request` or `RequestResponse`."),
        Column("verb", "varchar", "What was asked, such as `get`, `list` or `create`."),
        Column("request_uri", "varchar", "Path that was asked for.", source="requestURI"),
        Column("user", _USER, "Who asked, with its groups."),
        Column("impersonated_user", _USER, "Who the user acted as."),
        Column("source_ips", "varchar[]", "Addresses that it came from, the client first.", source="sourceIPs"),
        Column("user_agent", "varchar", "Program that asked, as it calls itself."),
        Column("object_ref", _OBJECT, "What was asked for: kind, namespace and name."),
        Column("response_status", _STATUS, "How it was answered."),
        Column("request_object", "json", "What was sent, if that was recorded."),
        Column("response_object", "json", "What was answered, if that was recorded."),
        Column("annotations", "json", "Notes of the API server, such as the decision of the authorizer."),
        Column("kind", "varchar", "Kind of the record, `Event`."),
        Column("api_version", "varchar", "Version of the layout of the record."),
        Column("log_stream", "varchar", "Log stream that it came from.", source="_log_stream"),
        Column("log_group", "varchar", "Log group that it came from.", source="_log_group"),
        Column("additional", "json", "Everything in the record that has no column of its own.", source="*"),
    )
    common = {
        "tp_timestamp": "coalesce(requestReceivedTimestamp, stageTimestamp)",
        "tp_source_ip": address_or_null("sourceIPs[1]"),
        "tp_ips": distinct_texts("sourceIPs"),
        "tp_usernames": distinct_texts(
            '["user".username, impersonatedUser.username]', _EXTRA.format("accessKeyId"), _EXTRA.format("sessionName")
        ),
        "tp_akas": distinct_texts(_EXTRA.format("arn"), _EXTRA.format("canonicalArn"), only=is_arn),
    }
    layouts = {
        # No service writes it to a bucket by itself; a delivery stream dates its folders like this.
        "aws_s3_bucket": "(%{DATA}/)?%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/(%{HOUR:hour}/)?[^/]*",
        "file": "(%{DATA}/)?(%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/(%{HOUR:hour}/)?[^/]*|[^/]*)",
    }
