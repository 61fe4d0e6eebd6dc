"""WAF: web requests that a web ACL has looked at."""

from __future__ import annotations

from tailpipe.formats import Jsonl
from tailpipe.plugin import Column, Table, camel_case
from tailpipe.plugin.sql import address_or_null, distinct_texts, is_domain, texts, without_port
from tailpipe.plugins.aws.tables.lines import is_arn

__all__ = ["WafTrafficLog"]

_REQUEST = (
    "struct(clientIp varchar, country varchar, headers json, uri varchar, args varchar, httpVersion varchar,"
    " httpMethod varchar, requestId varchar, fragment varchar, scheme varchar, host varchar)"
)
_CHALLENGE = "struct(responseCode bigint, solveTimestamp bigint, failureReason varchar)"


def _headers(name: str) -> str:
    """The values of a header, as a list."""
    headers = 'from_json(httpRequest.headers, \'[{"name":"VARCHAR","value":"VARCHAR"}]\')'
    named = f"list_filter({headers}, lambda _header: lower(_header.name) = '{name}')"
    return f"list_transform({named}, lambda _header: _header.value)"


_ENTRIES = f"regexp_split_to_array(array_to_string({_headers('x-forwarded-for')}, ','), ' *, *')"
_FORWARDED = f"list_transform({_ENTRIES}, lambda _one: {without_port('_one')})"


class WafTrafficLog(Table):
    """One row for each web request that AWS WAF has looked at."""

    name = "aws_waf_traffic_log"
    format = Jsonl()
    columns = camel_case(
        Column("timestamp", "timestamp", "When the request came, in UTC."),
        Column("action", "varchar", "What was done with it, such as `ALLOW` or `BLOCK`."),
        Column("web_acl_id", "varchar", "ARN of the web ACL.", source="webaclId"),
        Column("http_source_name", "varchar", "Kind of what was protected, such as `ALB` or `CF`.", null_if="-"),
        Column("http_source_id", "varchar", "What was protected: an ARN or an id.", null_if="-"),
        Column("http_request", _REQUEST, "The request: address, country, headers, path."),
        Column("terminating_rule_id", "varchar", "Rule that decided, or `Default_Action`."),
        Column("terminating_rule_type", "varchar", "Kind of that rule, such as `REGULAR` or `RATE_BASED`."),
        Column("terminating_rule_match_details", "json", "What that rule has found in the request."),
        Column("rule_group_list", "json", "Rule groups that looked at the request, and what they found."),
        Column("rate_based_rule_list", "json", "Rate-based rules that looked at the request."),
        Column("non_terminating_matching_rules", "json", "Rules that matched without deciding."),
        Column("labels", "json", "Labels of the request, as objects with a `name`."),
        Column("request_headers_inserted", "json", "Headers that were added for the application."),
        Column("response_code_sent", "integer", "Status of the answer, if the ACL has its own."),
        Column("captcha_response", _CHALLENGE, "How a CAPTCHA was answered."),
        Column("challenge_response", _CHALLENGE, "How a silent challenge was answered."),
        Column("ja3_fingerprint", "varchar", "JA3 fingerprint of the client's TLS greeting."),
        Column("ja4_fingerprint", "varchar", "JA4 fingerprint of the client's TLS greeting."),
        Column("format_version", "integer", "Version of the layout of the log."),
        Column("additional", "json", "Everything in the record that has no column of its own.", source="*"),
    )
    common = {
        "tp_timestamp": '"timestamp"',
        "tp_source_ip": address_or_null("httpRequest.clientIp"),
        "tp_ips": distinct_texts("[httpRequest.clientIp]", _FORWARDED),
        "tp_domains": distinct_texts("[httpRequest.host]", _headers("host"), only=is_domain),
        "tp_akas": texts("webaclId", "httpSourceId", only=is_arn),
        "tp_tags": distinct_texts("json_extract_string(labels, '$[*].name')"),
    }
    layouts = {
        "aws_s3_bucket": "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}/WAFLogs/%{DATA:region}/%{DATA:web_acl}/"
        "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}/%{HOUR:hour}/%{MINUTE:minute}/%{DATA}.log.gz",
        "file": "(%{DATA}/)?([^/]*_waflogs_[^/]*_%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}T[^/]*|[^/]*)",
    }
