"""What the line logs of load balancers and buckets share: their format, and SQL over their fields."""

from __future__ import annotations

from collections.abc import Mapping

from tailpipe.plugin import Column
from tailpipe.plugin.formats import Delimited

__all__ = [
    "EXTRA",
    "address",
    "is_endpoint",
    "is_iso_time",
    "is_whole_number",
    "line_format",
    "load_balancer_layouts",
    "method",
    "other_names",
    "port",
    "url",
    "version",
]

_ACCOUNT = "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}"
_DAY = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}"
_DAY_IN_NAME = "%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}T[0-9]{4}Z_[^/]*"
"""The rest of a file's name as AWS gives it, from its time on."""
EXTRA = Column("extra", "json", "Fields that AWS has added after those that are known here, by number.", source="*")


def line_format(name: str, fields: str, min_values: int, conditions: Mapping[str, str] | None = None) -> Delimited:
    """Values with a blank between them, some in quotes. AWS adds fields at the end, so older lines have fewer.

    Another log may have lines with as many values; the conditions check the fields that tell the two apart.
    """
    return Delimited(
        name=name,
        delimiter=" ",
        escape="\\",
        header=False,
        fields=fields.split(),
        null_if=("-", ""),
        min_values=min_values,
        loose_quotes=True,
        conditions=conditions or {},
    )


def is_iso_time(field: str) -> str:
    """Whether a value has the form of `2024-03-01T10:00:00`; that it is a time is seen when it is read as one.

    A time may have been read as a number already, as which it would be one of 1970.
    """
    return f"{field}::VARCHAR LIKE '____-__-__T__:__:__%'"


def is_endpoint(field: str) -> str:
    """Whether a value may be an address, with a port or without, and is neither a name nor a number."""
    return rf"regexp_full_match({field}::VARCHAR, '[0-9a-fA-F.:\[\]]*[.:][0-9a-fA-F.:\[\]]*')"


def is_whole_number(field: str) -> str:
    """Whether a value is a whole number."""
    return f"try_cast({field} AS BIGINT) IS NOT NULL"


def address(endpoint: str) -> str:
    """The address of `10.0.0.1:80`, `[2001:db8::1]:443` or `2001:db8::1:443`."""
    return (
        f"CASE WHEN starts_with({endpoint}, '[') THEN split_part({endpoint}[2:], ']', 1)"
        f" WHEN contains({endpoint}, ':') THEN array_to_string(string_split({endpoint}, ':')[:-2], ':')"
        f" ELSE {endpoint} END"
    )


def port(endpoint: str) -> str:
    """The port behind the last colon."""
    return (
        f"CASE WHEN contains({endpoint}, ':') AND NOT ends_with({endpoint}, ']')"
        f" THEN nullif(split_part({endpoint}, ':', -1), '') END"
    )


def method(request: str) -> str:
    """The method of a request line, `GET http://host:80/ HTTP/1.1`."""
    return f"CASE WHEN contains({request}, ' ') THEN nullif(split_part({request}, ' ', 1), '-') END"


def version(request: str) -> str:
    """The version of a request line, if it says one."""
    last = f"split_part({request}, ' ', -1)"
    return f"CASE WHEN contains({request}, ' ') AND starts_with({last}, 'HTTP/') THEN {last} END"


def url(request: str) -> str:
    """What stands between method and version; all of a request line that is none. Of TCP there is only `- - - `."""
    words, last = f"string_split({request}, ' ')", f"split_part({request}, ' ', -1)"
    return (
        f"CASE WHEN NOT contains({request}, ' ') THEN {request} WHEN starts_with({request}, '- - -') THEN NULL"
        f" WHEN starts_with({last}, 'HTTP/') OR {last} = '-' THEN array_to_string({words}[2:-2], ' ')"
        f" ELSE rtrim(array_to_string({words}[2:], ' ')) END"
    )


def load_balancer_layouts(file: str, name: str, before: str = "") -> dict[str, str]:
    """Where Elastic Load Balancing puts files of such names, and what may stand before that in a bucket.

    In a directory, `name` is how the name of a file goes on behind the region, up to its time. It is dated by its name,
    wherever it lies; and files are taken that have other names than AWS gives.
    """
    begin = "conn_log." if file.startswith("conn_log.") else ""
    named = f"{begin}%{{NUMBER:account_id}}_elasticloadbalancing_(?P<region>[^/_]*)_{name}_{_DAY_IN_NAME}"
    others = other_names(*(prefix for prefix in ("conn_log.", "health_check_log.") if prefix != begin))
    return {
        "aws_s3_bucket": f"{before}{_ACCOUNT}/elasticloadbalancing/%{{DATA:region}}/{_DAY}/{file}",
        "file": f"(%{{DATA}}/)?{named}|{others}",
    }


def other_names(*prefixes: str) -> str:
    """A layout of files whose names begin neither with a digit, as those do that AWS gives, nor with a prefix.

    The prefixes begin with different characters.
    """
    first = "".join(prefix[0] for prefix in prefixes)
    ends = "".join(f"|{prefix[0]}({_not_beginning(prefix[1:])})?" for prefix in prefixes)
    return f"(%{{DATA}}/)?([^0-9{first}/][^/]*{ends})"


def _not_beginning(prefix: str) -> str:
    """A pattern for texts that do not begin with the prefix."""
    other = f"[^{prefix[0]}/][^/]*"
    return other if len(prefix) == 1 else f"{other}|[{prefix[0]}]({_not_beginning(prefix[1:])})?"
