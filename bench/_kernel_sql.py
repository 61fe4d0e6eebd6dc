"""The bare transformation in plain DuckDB, as a person would write it who wants the same table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TRAIL_TEXT = [
    *("eventVersion", "eventSource", "eventName", "awsRegion", "sourceIPAddress", "userAgent", "requestID"),
    *("eventID", "eventType", "recipientAccountId", "eventCategory"),
]
TRAIL_JSON = ["requestParameters", "responseElements", "additionalEventData"]
FLOW = [
    ("version", "integer", "version"),
    ("account_id", "varchar", "account-id"),
    ("interface_id", "varchar", "interface-id"),
    ("src_addr", "varchar", "srcaddr"),
    ("dst_addr", "varchar", "dstaddr"),
    ("src_port", "integer", "srcport"),
    ("dst_port", "integer", "dstport"),
    ("protocol", "integer", "protocol"),
    ("packets", "bigint", "packets"),
    ("bytes", "bigint", "bytes"),
    ("start_time", "timestamp", "start"),
    ("end_time", "timestamp", "end"),
    ("action", "varchar", "action"),
    ("log_status", "varchar", "log-status"),
]
NGINX = {
    "remote_addr": "varchar",
    "remote_user": "varchar",
    "time_local": "varchar",
    "method": "varchar",
    "path": "varchar",
    "protocol": "varchar",
    "status": "integer",
    "bytes": "bigint",
    "referer": "varchar",
    "user_agent": "varchar",
}
PATHS = {
    "insert_id": "insertId",
    "severity": "severity",
    "log_name": "logName",
    "resource_type": "resource.type",
    "project_id": "resource.labels.project_id",
    "zone": "resource.labels.zone",
    "service_name": "protoPayload.serviceName",
    "method_name": "protoPayload.methodName",
    "resource_name": "protoPayload.resourceName",
    "principal_email": "protoPayload.authenticationInfo.principalEmail",
    "principal_subject": "protoPayload.authenticationInfo.principalSubject",
    "caller_ip": "protoPayload.requestMetadata.callerIp",
    "user_agent": "protoPayload.requestMetadata.callerSuppliedUserAgent",
    "request_time": "protoPayload.requestMetadata.requestAttributes.time",
    "port": "protoPayload.requestMetadata.destinationAttributes.port",
    "region_code": "protoPayload.requestMetadata.destinationAttributes.regionCode",
    "status_code": "protoPayload.status.code",
    "status_message": "protoPayload.status.message",
    "request_filter": "protoPayload.request.filter",
}
"""Columns of an audit log, each by its path."""
_IDENTITY = dict.fromkeys(["type", "principalId", "arn", "accountId", "accessKeyId"], "VARCHAR")
_TRAIL: dict[str, Any] = {
    **dict.fromkeys(TRAIL_TEXT, "VARCHAR"),
    "eventTime": "TIMESTAMPTZ",
    "userIdentity": {**_IDENTITY, "sessionContext": "JSON"},
    **dict.fromkeys(TRAIL_JSON, "JSON"),
    "readOnly": "BOOLEAN",
    "managementEvent": "BOOLEAN",
}
_WHOLE_LINES = (
    "delim = '\\x01', quote = '', escape = '', header = false, auto_detect = false, max_line_size = 100000000,"
    " strict_mode = false, filename = true"
)


def documents(data: Path) -> str:
    """One text for each document; ten times faster than `read_json` with the columns, if documents are large."""
    shape = json.dumps({"Records": [_TRAIL]})
    texts = f"read_csv('{data}/*.gz', columns = {{'doc': 'VARCHAR'}}, {_WHOLE_LINES})"
    return _trail(f"SELECT unnest(from_json(doc, '{shape}').Records) AS r, filename FROM {texts}")


def documents_by_reader(data: Path) -> str:
    """The reader of JSON, which is faster if documents are small."""
    reader = f"read_json('{data}/*.gz', columns = {{'Records': 'JSON[]'}}, filename = true)"
    records = f"SELECT unnest(Records)::VARCHAR AS record, filename FROM {reader}"
    return _trail(f"SELECT from_json(record, '{json.dumps(_TRAIL)}') AS r, filename FROM ({records})")


def lines(data: Path) -> str:
    columns = ", ".join(f"'{name}': '{_type(kind)}'" for name, kind in _TRAIL.items())
    reader = f"read_json('{data}/*.gz', columns = {{{columns}}}, format = 'newline_delimited', filename = true)"
    time = "eventTime AT TIME ZONE 'UTC'"
    common = _common(f"({time})", "sourceIPAddress", "NULL::VARCHAR", "[sourceIPAddress]")
    return f"SELECT * EXCLUDE (eventTime, filename), {time} AS eventTime, {common} FROM {reader}"


def paths(data: Path) -> str:
    """One `from_json` with the structure of all paths, then each value under its name."""
    shape: dict[str, Any] = {"timestamp": "VARCHAR"}
    for path in PATHS.values():
        *outer, last = path.split(".")
        place = shape
        for key in outer:
            place = place.setdefault(key, {})
        place[last] = "VARCHAR"
    texts = f"read_csv('{data}/*.gz', columns = {{'line': 'VARCHAR'}}, {_WHOLE_LINES})"
    read = f"SELECT from_json(line, '{json.dumps(shape)}') AS r, filename FROM {texts}"
    fields = ", ".join(f"r.{path} AS {name}" for name, path in PATHS.items())
    time = "(r.timestamp::TIMESTAMPTZ AT TIME ZONE 'UTC')"
    address = "r.protoPayload.requestMetadata.callerIp"
    return f"SELECT {fields}, {_common(time, address, 'NULL::VARCHAR', f'[{address}]')} FROM ({read})"


def flows(data: Path) -> str:
    kinds = {name: "BIGINT" if kind == "timestamp" else kind.upper() for name, kind, _ in FLOW}
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in kinds.items())
    reader = (
        f"read_csv('{data}/*.gz', columns = {{{columns}}}, delim = ' ', header = true, nullstr = '-',"
        " auto_detect = false, filename = true)"
    )
    start, end = (f"to_timestamp({name}) AT TIME ZONE 'UTC'" for name in ("start_time", "end_time"))
    common = _common(f"({start})", "src_addr", "dst_addr", "NULL::VARCHAR[]")
    fields = "* EXCLUDE (start_time, end_time, filename)"
    return f"SELECT {fields}, {start} AS start_time, {end} AS end_time, {common} FROM {reader}"


def requests(data: Path) -> str:
    pattern = r'^(\S+) \S+ (\S+) \[([^\]]+)\] "(\S+) (\S+) ([^"]*)" (\d{3}) (\d+|-) "([^"]*)" "([^"]*)"$'
    names = ", ".join(f"'{name}'" for name in NGINX)
    texts = f"read_csv('{data}/*.gz', columns = {{'line': 'VARCHAR'}}, {_WHOLE_LINES})"
    matched = f"SELECT regexp_extract(line, '{pattern}', [{names}]) AS m, filename FROM {texts}"
    fields = ", ".join(f"nullif(m.{name}, '-')::{kind} AS {name}" for name, kind in NGINX.items())
    time = "(strptime(m.time_local, '%d/%b/%Y:%H:%M:%S %z') AT TIME ZONE 'UTC')"
    common = _common(time, "m.remote_addr", "NULL::VARCHAR", "NULL::VARCHAR[]")
    return f"SELECT {fields}, {common} FROM ({matched})"


def _trail(records: str) -> str:
    time = "r.eventTime AT TIME ZONE 'UTC'"
    names = ", ".join(f"r.{name}" for name in _TRAIL if name != "eventTime")
    common = _common(f"({time})", "r.sourceIPAddress", "NULL::VARCHAR", "[r.sourceIPAddress]")
    return f"SELECT {names}, {time} AS eventTime, {common} FROM ({records})"


def _common(time: str, source: str, destination: str, addresses: str) -> str:
    lists = ", ".join(f"NULL::VARCHAR[] AS tp_{name}" for name in ("akas", "domains", "emails", "tags", "usernames"))
    return (
        f"uuid()::VARCHAR AS tp_id, {time} AS tp_timestamp, {time}::DATE AS tp_date,"
        " TIMESTAMP '2024-06-01' AS tp_ingest_timestamp, 'trail' AS tp_table, 'bench' AS tp_partition,"
        " 'default' AS tp_index, 'file' AS tp_source_type, 'logs' AS tp_source_name,"
        f" filename AS tp_source_location, {source} AS tp_source_ip, {destination} AS tp_destination_ip,"
        f" {addresses} AS tp_ips, {lists}"
    )


def _type(kind: Any) -> str:
    if isinstance(kind, dict):
        return "STRUCT(" + ", ".join(f'"{name}" {_type(inner)}' for name, inner in kind.items()) + ")"
    return str(kind)
