"""Requests to CloudFront distributions."""

from __future__ import annotations

from tailpipe.formats import Delimited
from tailpipe.plugin import Column, OcsfEvents, Table
from tailpipe.plugin.sql import is_domain, texts, without_port

__all__ = ["CloudfrontAccessLog"]

_FIELDS = """
    date time x_edge_location sc_bytes c_ip cs_method cs_host cs_uri_stem sc_status cs_referer cs_user_agent
    cs_uri_query cs_cookie x_edge_result_type x_edge_request_id x_host_header cs_protocol cs_bytes time_taken
    x_forwarded_for ssl_protocol ssl_cipher x_edge_response_result_type cs_protocol_version fle_status
    fle_encrypted_fields c_port time_to_first_byte x_edge_detailed_result_type sc_content_type sc_content_len
    sc_range_start sc_range_end
"""
_TIME = "coalesce(date::VARCHAR || ' ' || time::VARCHAR, timestamp_ms::VARCHAR, timestamp::VARCHAR)"
_FORWARDED = (
    f"""list_transform(string_split(url_decode(x_forwarded_for), ','), lambda _one: {without_port("trim(_one)")})"""
)
_ADDRESSES = (
    f"CASE WHEN x_forwarded_for IS NULL THEN [c_ip]"
    f" ELSE list_concat([c_ip], list_filter({_FORWARDED}, lambda _one: _one IS DISTINCT FROM c_ip)) END"
)


class CloudfrontAccessLog(Table):
    """One row for each request that a CloudFront edge location has answered."""

    name = "aws_cloudfront_access_log"
    format = Delimited(
        name="aws_cloudfront_access_log",
        delimiter="\\t",
        quote="",
        header=False,
        header_prefix="#Fields:",
        comment="#",
        snake_case=True,
        fields=_FIELDS.split(),
        null_if=("-", ""),
        min_values=10,
        conditions={"date": "date LIKE '____-__-__'", "time": "time LIKE '__:__:__%'"},
    )
    columns = [
        Column("c_ip", "varchar", "Address of the client, IPv4 or IPv6."),
        Column("c_port", "bigint", "Port of the client."),
        Column("cs_bytes", "bigint", "Size of the request with its headers, in bytes."),
        Column("cs_cookie", "varchar", "Cookie header of the request, if the distribution logs cookies."),
        Column("cs_host", "varchar", "Domain name of the distribution."),
        Column("cs_method", "varchar", "Method of the request, such as `GET`."),
        Column("cs_protocol", "varchar", "`http`, `https`, `ws`, `wss`, `grpc` or `grpcs`."),
        Column("cs_protocol_version", "varchar", "Protocol that the client named, such as `HTTP/2.0`."),
        Column("cs_referer", "varchar", "Page that the client says it came from."),
        Column("cs_uri_query", "varchar", "Query string of the URL."),
        Column("cs_uri_stem", "varchar", "Path of the URL."),
        Column(
            "cs_user_agent",
            "varchar",
            "What the client calls itself, URL-decoded.",
            transform="url_decode(cs_user_agent)",
        ),
        Column("fle_encrypted_fields", "bigint", "How many fields were encrypted on the way to the origin."),
        Column("fle_status", "varchar", "Whether the encryption of fields worked."),
        Column("sc_bytes", "bigint", "Size of the answer with its headers, in bytes."),
        Column("sc_content_len", "bigint", "Content length of the answer, in bytes."),
        Column("sc_content_type", "varchar", "Content type of the answer."),
        Column("sc_range_end", "bigint", "Last byte of the range that was asked for."),
        Column("sc_range_start", "bigint", "First byte of the range that was asked for."),
        Column("sc_status", "bigint", "HTTP status of the answer; 0 if the client was gone before."),
        Column("ssl_cipher", "varchar", "Cipher of the TLS connection."),
        Column("ssl_protocol", "varchar", "Protocol of the TLS connection."),
        Column("time_taken", "double", "Seconds from the request to the last byte of the answer."),
        Column("time_to_first_byte", "double", "Seconds from the request to the first byte of the answer."),
        Column("timestamp", "timestamp", "When the answer was finished, in UTC.", transform=_TIME),
        Column("x_edge_detailed_result_type", "varchar", "The result in more detail, such as `OriginShieldHit`."),
        Column("x_edge_location", "varchar", "Edge location: code of the airport and a number, such as `DFW3`."),
        Column("x_edge_request_id", "varchar", "Id of the request."),
        Column("x_edge_response_result_type", "varchar", "The result just before the answer went out."),
        Column("x_edge_result_type", "varchar", "The result after the last byte: `Hit`, `Miss`, `Error` and others."),
        Column(
            "x_forwarded_for",
            "varchar",
            "Addresses of proxies before the edge location, and of the client.",
            transform="url_decode(x_forwarded_for)",
        ),
        Column("x_host_header", "varchar", "Host that the client asked for."),
        Column("additional", "json", "Fields of the log that have no column of their own.", source="*"),
    ]
    ocsf = [
        OcsfEvents(
            name="http_activity",
            http_method="cs_method",
            url="cs_uri_stem",
            http_status="sc_status",
            hostname="x_host_header",
            user_agent="cs_user_agent",
            referrer="cs_referer",
            bytes_out="sc_bytes",
            service_name="'cloudfront'",
        ),
    ]
    common = {
        "tp_timestamp": _TIME,
        "tp_source_ip": "c_ip",
        "tp_ips": _ADDRESSES,
        "tp_domains": texts("x_host_header", "nullif(cs_host, x_host_header)", only=is_domain),
    }
    layouts = {
        "aws_s3_bucket": (
            "(%{GREEDYDATA:folder}/)?%{WORD:distribution_id}[.]%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{HOUR:hour}"
            ".%{DATA}.(gz|parquet)"
        ),
        "file": (
            "(%{DATA}/)?%{WORD:distribution_id}[.]%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-%{HOUR:hour}.%{DATA}"
            "|%{GREEDYDATA}"
        ),
    }
