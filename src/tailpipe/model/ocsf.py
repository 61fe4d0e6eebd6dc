"""OCSF: the classes of events that tables of many products have in common, and where a table has their columns.

The Open Cybersecurity Schema Framework names classes and nested attributes. The columns here are its attributes with
`_` instead of a dot: `src_endpoint.ip` is `src_endpoint_ip`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tailpipe.errors import UsageError
from tailpipe.frozen import frozen
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.option import Declared, label, option

OCSF = "ocsf"
"""The schema of the views."""

_LEVELS = (
    "CASE lower(tp_level) WHEN 'low' THEN 2 WHEN 'warn' THEN 3 WHEN 'warning' THEN 3 WHEN 'medium' THEN 3"
    " WHEN 'err' THEN 4 WHEN 'error' THEN 4 WHEN 'high' THEN 4 WHEN 'crit' THEN 5 WHEN 'critical' THEN 5"
    " WHEN 'alert' THEN 5 WHEN 'emerg' THEN 6 WHEN 'emergency' THEN 6 WHEN 'fatal' THEN 6 ELSE 1 END"
)
_OUTCOMES = "CASE tp_outcome WHEN 'success' THEN 1 WHEN 'failure' THEN 2 ELSE 0 END"
_METHODS = (
    "CASE upper({http_method}) WHEN 'CONNECT' THEN 1 WHEN 'DELETE' THEN 2 WHEN 'GET' THEN 3 WHEN 'HEAD' THEN 4"
    " WHEN 'OPTIONS' THEN 5 WHEN 'POST' THEN 6 WHEN 'PUT' THEN 7 WHEN 'TRACE' THEN 8 WHEN 'PATCH' THEN 9 ELSE 99 END"
)


def _texts(*names: str) -> dict[str, str]:
    return dict.fromkeys(names, "VARCHAR")


_EVERY = {
    "status_id": "INTEGER",
    "severity_id": "INTEGER",
    **_texts("message", "user_name", "src_endpoint_ip", "dst_endpoint_ip", "device_hostname", "service_name"),
}
"""The columns of every class that a table may give."""


@frozen
class EventClass:
    """A class of events: its number, its own columns with their types, and the usual activity as SQL over them."""

    name: str
    uid: int
    title: str
    own: Mapping[str, str]
    activity: str

    @property
    def columns(self) -> dict[str, str]:
        """All columns of its view, with their types."""
        head = {"time": "TIMESTAMP", "class_uid": "INTEGER", "activity_id": "INTEGER", "type_uid": "BIGINT"}
        tail = _texts("metadata_product", "tp_id", "tp_table", "tp_partition", "tp_index")
        return {**head, **_EVERY, **self.own, **tail, "tp_date": "DATE", "tp_timestamp": "TIMESTAMP"}

    def default(self, column: str, has: Collection[str]) -> str:
        """The usual SQL for a column, by the common columns that a table `has`; `{name}` is that of another column."""
        status = _OUTCOMES if "tp_outcome" in has else "0"
        if "http_status" in self.own:
            status = "CASE WHEN ({http_status}) < 400 THEN 1 WHEN ({http_status}) >= 400 THEN 2 ELSE 0 END"
        usual = {
            "activity_id": self.activity,
            "status_id": status,
            "severity_id": _LEVELS if "tp_level" in has else "1",
            "user_name": "tp_usernames[1]",
            "src_endpoint_ip": "tp_source_ip",
            "dst_endpoint_ip": "tp_destination_ip",
        }
        optional = {"message": "tp_message", "device_hostname": "tp_host", "service_name": "tp_service"}
        return usual.get(column) or (optional[column] if optional.get(column) in has else "NULL")


_ALL = (
    EventClass(
        "authentication",
        3002,
        "Logins and logouts, and whether they worked.",
        {"auth_protocol": "VARCHAR", "is_mfa": "BOOLEAN", "user_agent": "VARCHAR"},
        "1",
    ),
    EventClass(
        "api_activity",
        6003,
        "Calls of the API of a service: who did what with which resource.",
        _texts("api_operation", "resource_name", "cloud_account_uid", "cloud_region", "user_agent"),
        "99",
    ),
    EventClass(
        "http_activity",
        4002,
        "Requests of web servers, proxies and load balancers.",
        {
            **_texts("http_method", "url"),
            "http_status": "INTEGER",
            **_texts("hostname", "user_agent", "referrer"),
            "bytes_out": "BIGINT",
        },
        _METHODS,
    ),
    EventClass(
        "network_activity",
        4001,
        "Connections and flows.",
        {
            **dict.fromkeys(("src_endpoint_port", "dst_endpoint_port"), "INTEGER"),
            "protocol_name": "VARCHAR",
            "bytes": "BIGINT",
            "packets": "BIGINT",
            "disposition": "VARCHAR",
        },
        "6",
    ),
    EventClass(
        "dns_activity",
        4003,
        "DNS queries and their answers.",
        _texts("query_hostname", "query_type", "rcode", "answers"),
        "1",
    ),
    EventClass(
        "detection_finding",
        2004,
        "What detectors have found.",
        _texts("finding_title", "finding_uid", "rule_name", "resource_name"),
        "1",
    ),
)
CLASSES: Mapping[str, EventClass] = {one.name: one for one in _ALL}


def _check_class(name: str) -> None:
    if name not in CLASSES:
        raise UsageError(f'there is no OCSF class "{name}"', hint=did_you_mean(name, CLASSES, ", ".join(CLASSES)))


def _sql(meaning: str) -> str | None:
    given: str | None = option(f"SQL: {meaning}", default=None)
    return given


class OcsfEvents(Declared):
    """Rows of a table that are events of an OCSF class, with SQL for columns of its view.

    The SQL is over the columns of the table. What is not given is taken from the common columns.
    """

    name: str = label("Name of the class, such as `authentication`.", check=_check_class)
    when: str | None = option("SQL condition: which rows are such events. All, without one.", default=None)
    activity_id: str | None = _sql("number of the activity.")
    status_id: str | None = _sql("1 for success, 2 for failure, 0 if that is unknown.")
    severity_id: str | None = _sql("0 unknown, 1 informational, 2 low, 3 medium, 4 high, 5 critical, 6 fatal.")
    message: str | None = _sql("what happened, for people.")
    user_name: str | None = _sql("the user who acted.")
    src_endpoint_ip: str | None = _sql("address of the client.")
    dst_endpoint_ip: str | None = _sql("address of the server.")
    device_hostname: str | None = _sql("the machine that logged it.")
    service_name: str | None = _sql("the service that was used.")
    auth_protocol: str | None = _sql("how the user logged in (authentication).")
    is_mfa: str | None = _sql("whether a second factor was used (authentication).")
    user_agent: str | None = _sql("program of the client (authentication, api_activity, http_activity).")
    api_operation: str | None = _sql("the operation that was called (api_activity).")
    resource_name: str | None = _sql("what it was done to (api_activity, detection_finding).")
    cloud_account_uid: str | None = _sql("account, subscription or project (api_activity).")
    cloud_region: str | None = _sql("region (api_activity).")
    http_method: str | None = _sql("method of the request (http_activity).")
    url: str | None = _sql("path or URL of the request (http_activity).")
    http_status: str | None = _sql("status of the response (http_activity).")
    hostname: str | None = _sql("host that was asked (http_activity).")
    referrer: str | None = _sql("page that the request came from (http_activity).")
    bytes_out: str | None = _sql("bytes of the response (http_activity).")
    src_endpoint_port: str | None = _sql("port of the client (network_activity).")
    dst_endpoint_port: str | None = _sql("port of the server (network_activity).")
    protocol_name: str | None = _sql("protocol, such as tcp (network_activity).")
    bytes: str | None = _sql("bytes in both directions (network_activity).")
    packets: str | None = _sql("packets in both directions (network_activity).")
    disposition: str | None = _sql("whether it was allowed (network_activity).")
    query_hostname: str | None = _sql("name in the query (dns_activity).")
    query_type: str | None = _sql("type of the query, such as AAAA (dns_activity).")
    rcode: str | None = _sql("result of the query (dns_activity).")
    answers: str | None = _sql("the answers (dns_activity).")
    finding_title: str | None = _sql("what was found (detection_finding).")
    finding_uid: str | None = _sql("id of the finding (detection_finding).")
    rule_name: str | None = _sql("rule that found it (detection_finding).")

    def __post_init__(self) -> None:
        _check_class(self.name)

    @property
    def given(self) -> dict[str, str]:
        """The SQL that is given, by column."""
        return {name: sql for name, sql in vars(self).items() if name not in ("name", "when") and sql is not None}

    def expressions(self, has: Collection[str]) -> dict[str, str]:
        """SQL for every column of the class that is taken from the table; `has` are the table's common columns."""
        kind = CLASSES[self.name]
        given = self.given
        own = {name: given.get(name, "NULL") for name in kind.own}
        for name in ("activity_id", *_EVERY):
            own[name] = given.get(name) or kind.default(name, has).format(**own)
        return own
