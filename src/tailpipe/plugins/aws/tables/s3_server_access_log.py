"""Requests to S3 buckets."""

from __future__ import annotations

from tailpipe.plugin import Column, OcsfEvents, Table
from tailpipe.plugin.sql import is_domain, texts
from tailpipe.plugins.aws.tables.lines import EXTRA, is_arn, line_format

__all__ = ["S3ServerAccessLog"]

_FIELDS = """
    bucket_owner bucket time zone remote_ip requester request_id operation key request_uri http_status error_code
    bytes_sent object_size total_time turn_around_time referer user_agent version_id host_id signature_version
    cipher_suite authentication_type host_header tls_version access_point_arn acl_required source_region
"""
_CONDITIONS = {"time": "time LIKE '[__/___/____:__:__:__'", "zone": "zone LIKE '_____]'"}
_TIME = "try_strptime(time || ' ' || zone, '[%d/%b/%Y:%H:%M:%S %z]')"
_ARN = "CASE WHEN starts_with(requester, 'arn:') THEN requester END"


class S3ServerAccessLog(Table):
    """One row for each request to an S3 bucket."""

    name = "aws_s3_server_access_log"
    format = line_format("aws_s3_server_access_log", _FIELDS, min_values=18, conditions=_CONDITIONS)
    columns = [
        Column("access_point_arn", "varchar", "ARN of the access point that the request went through."),
        Column(
            "acl_required",
            "boolean",
            "Whether the request needed an access control list; null if the log does not say so.",
            transform="acl_required = 'Yes'",
        ),
        Column(
            "authentication_type", "varchar", "`AuthHeader`, `QueryString` for a presigned URL, or null if anonymous."
        ),
        Column("bucket", "varchar", "Bucket that the request was for."),
        Column("bucket_owner", "varchar", "Canonical id of the bucket's owner."),
        Column("bytes_sent", "bigint", "Bytes of the answer, without the protocol's own."),
        Column("cipher_suite", "varchar", "Cipher of the TLS connection."),
        Column("error_code", "varchar", "Error that S3 gave, such as `AccessDenied`."),
        Column("host_header", "varchar", "Endpoint that the request named."),
        Column("host_id", "varchar", "Second id of the request, which AWS support asks for."),
        Column("http_status", "bigint", "HTTP status of the answer."),
        Column("key", "varchar", "Key of the object, URL-encoded as it stands in the log."),
        Column("object_size", "bigint", "Size of the whole object, in bytes."),
        Column("operation", "varchar", "What was asked for, such as `REST.GET.OBJECT`."),
        Column("referer", "varchar", "Page that the client says it came from."),
        Column("remote_ip", "varchar", "Address of the client, IPv4 or IPv6."),
        Column("request_id", "varchar", "Id that S3 gave to the request."),
        Column("request_uri", "varchar", "Request line, with method and protocol."),
        Column("requester", "varchar", "Canonical id, ARN or service that made the request; null if anonymous."),
        Column("signature_version", "varchar", "Version of the signature, such as `SigV4`."),
        Column("source_region", "varchar", "Region that the request came from; null if that cannot be told."),
        Column("timestamp", "timestamp", "When the request came in, in UTC.", transform=_TIME),
        Column("tls_version", "varchar", "Protocol of the TLS connection."),
        Column("total_time", "bigint", "How long the request took from S3's side, in milliseconds."),
        Column("turn_around_time", "bigint", "How long S3 took to begin its answer, in milliseconds."),
        Column("user_agent", "varchar", "What the client calls itself."),
        Column("version_id", "varchar", "Version of the object that was asked for."),
        EXTRA,
    ]
    ocsf = [
        OcsfEvents(
            name="http_activity",
            http_method="split_part(request_uri, ' ', 1)",
            url="split_part(request_uri, ' ', 2)",
            http_status="http_status",
            hostname="host_header",
            user_agent="user_agent",
            referrer="referer",
            bytes_out="bytes_sent",
            user_name="requester",
            service_name="bucket",
        ),
    ]
    common = {
        "tp_timestamp": _TIME,
        "tp_source_ip": "remote_ip",
        "tp_ips": "[remote_ip]",
        "tp_usernames": texts(
            "requester", f"nullif(split_part({_ARN}, '/', -1), requester)", "nullif(bucket_owner, requester)"
        ),
        "tp_domains": texts("host_header", only=is_domain),
        "tp_akas": texts("requester", "access_point_arn", only=is_arn),
    }
    layouts = {
        "aws_s3_bucket": (
            "(%{NUMBER:account_id}/%{DATA:region}/%{DATA:bucket_name}/"
            "%{YEAR:partition_year}/%{MONTHNUM:partition_month}/%{MONTHDAY:partition_day}/)?"
            "%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{HOUR:hour}-%{MINUTE:minute}-%{SECOND:second}-[^/]+"
        ),
        "file": ("(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{HOUR:hour}-%{DATA}|%{GREEDYDATA}"),
    }
