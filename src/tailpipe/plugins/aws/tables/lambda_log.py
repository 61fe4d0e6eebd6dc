"""Lambda: what functions write, and what the platform says of each call."""

from __future__ import annotations

from tailpipe.formats import Regex
from tailpipe.plugin import Column, Table

__all__ = ["LambdaLog"]

_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.]?\d*Z"
_ID = "[0-9a-f]{8}-[0-9a-f-]{27}"
_LAYOUT = (
    rf"(?s)^(?:(?P<exported_at>{_TIME}) )?(?:\[(?P<first_level>[A-Z]+)\]\t)?"
    rf"(?:(?P<time>{_TIME})[\t ](?P<call>{_ID})[\t ](?:(?P<level>[A-Z]+)\t)?)?(?P<text>.*)$"
)
_IS_JSON = "starts_with(text, '{') AND json_valid(text)"
_JSON = f"CASE WHEN {_IS_JSON} THEN text END"


def _key(*paths: str) -> str:
    """The first of these keys of a message that is JSON."""
    found = ", ".join(f"json_extract_string(text, '$.{path}')" for path in paths)
    return f"CASE WHEN {_IS_JSON} THEN coalesce({found}) END"


def _said(name: str, unit: str, path: str) -> str:
    """A number of the platform's report, as text or as JSON."""
    pattern = rf"(?:^|\t| ){name}: ([0-9.]+) {unit}"
    said = f"CASE WHEN starts_with(text, 'REPORT ') THEN nullif(regexp_extract(text, '{pattern}', 1), '') END"
    return f"coalesce({said}, {_key(f'record.metrics.{path}')})"


_NAMED = rf"^(?:START|END|REPORT) RequestId: (\S+)|^({_ID}) Task timed out"
_TIMED_OUT = f"^(?:{_ID} )?Task timed out after"
_CALL = (
    f"coalesce(call, nullif(regexp_extract(text, '{_NAMED}', 1), ''), nullif(regexp_extract(text, '{_NAMED}', 2), ''),"
    f" {_key('requestId', 'record.requestId', 'AWSRequestId')})"
)
_WORDS = "START|END|REPORT|INIT_START|INIT_REPORT|RESTORE_START|RESTORE_REPORT|EXTENSION|TELEMETRY"
_PLATFORM = rf"regexp_extract({_key('type')}, '^platform[.](.*)$', 1)"
_KIND = (
    rf"coalesce(CASE nullif(regexp_extract(text, '^({_WORDS})\s', 1), '') WHEN 'TELEMETRY' THEN"
    rf" 'telemetry_subscription' ELSE lower(nullif(regexp_extract(text, '^({_WORDS})\s', 1), '')) END,"
    rf" lower(regexp_replace(nullif({_PLATFORM}, ''), '([a-z])([A-Z])', '\1_\2', 'g')), 'function')"
)
"""The platform says `INIT_START` in text and `platform.initStart` in JSON; here both are `init_start`."""
_IS_TIME = r"\d{4}-\d\d-\d\d[Tt ]\d\d:?\d\d.*|\d{10}([.]\d+)?|\d{13}([.]\d+)?|\d{16}|\d{19}"
_OWN_TIMES = ", ".join(
    f"CASE WHEN regexp_full_match({_key(name)}, '{_IS_TIME}') THEN {_key(name)} END" for name in ("timestamp", "time")
)
"""What a function itself calls `time` may be anything, such as a duration; then the platform's time is the better."""
_MOMENT = f'coalesce("time", {_OWN_TIMES}, exported_at, _event_time)'


class LambdaLog(Table):
    """One row for each message of a Lambda function, its own or the platform's."""

    name = "aws_lambda_log"
    format = Regex(layout=_LAYOUT)
    columns = [
        Column("timestamp", "timestamp", "When it was written, in UTC.", transform=_MOMENT),
        Column(
            "function_name",
            "varchar",
            "Name of the function.",
            transform="nullif(regexp_extract(_log_group, '^/aws/lambda/(.+)$', 1), '')",
        ),
        Column("request_id", "varchar", "Call that it belongs to.", transform=_CALL),
        Column(
            "kind",
            "varchar",
            "`function` for its own words, else the platform's: `start`, `report`, …",
            transform=_KIND,
        ),
        Column(
            "level",
            "varchar",
            "How important the writer holds it, such as `ERROR`.",
            transform=f"upper(coalesce(first_level, level, {_key('level', 'log_level')}))",
        ),
        Column("message", "varchar", "The message, without time, call and level.", source="text"),
        Column("message_json", "json", "The message, if it is a JSON object.", transform=_JSON),
        Column("duration_ms", "double", "How long the call took.", transform=_said("Duration", "ms", "durationMs")),
        Column(
            "billed_duration_ms",
            "double",
            "How long the call took as it is billed.",
            transform=_said("Billed Duration", "ms", "billedDurationMs"),
        ),
        Column(
            "init_duration_ms",
            "double",
            "How long the start took, if the call was a cold one.",
            transform=_said("Init Duration", "ms", "initDurationMs"),
        ),
        Column(
            "memory_size_mb", "integer", "Memory of the function.", transform=_said("Memory Size", "MB", "memorySizeMB")
        ),
        Column(
            "max_memory_used_mb",
            "integer",
            "Memory that was used at most.",
            transform=_said("Max Memory Used", "MB", "maxMemoryUsedMB"),
        ),
        Column(
            "status",
            "varchar",
            "How the call ended, if the platform says so: `success`, `error`, `timeout`.",
            transform=f"coalesce(nullif(regexp_extract(text, '\\tStatus: (\\w+)', 1), ''),"
            f" CASE WHEN regexp_matches(text, '{_TIMED_OUT}') THEN 'timeout' END, {_key('record.status')})",
        ),
        Column(
            "error_type",
            "varchar",
            "Kind of the error.",
            transform=f"coalesce(nullif(regexp_extract(text, '\\tError Type: (\\S+)', 1), ''),"
            f" {_key('record.errorType', 'errorType')})",
        ),
        Column(
            "xray_trace_id",
            "varchar",
            "Trace of X-Ray.",
            transform=f"coalesce(nullif(regexp_extract(text, 'XRAY TraceId: (\\S+)', 1), ''),"
            f" {_key('record.tracing.value', 'xray_trace_id')})",
        ),
        Column("log_group", "varchar", "Log group that it came from.", source="_log_group"),
        Column("log_stream", "varchar", "Log stream that it came from.", source="_log_stream"),
    ]
    common = {"tp_timestamp": _MOMENT}
    layouts = {
        # An export of CloudWatch Logs: a folder for each stream, whose name begins with its first day.
        "aws_s3_bucket": r"(%{DATA}/)?%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-\[[^/]*/[^/]*",
        "file": r"(%{DATA}/)?(%{YEAR:year}-%{MONTHNUM:month}-%{MONTHDAY:day}-\[[^/]*/[^/]*|[^/]*)",
    }
