"""What the line logs of load balancers and buckets share: their format, and SQL over their fields."""

from __future__ import annotations

from tailpipe.plugin import Column
from tailpipe.plugin.formats import Delimited

__all__ = [
    "EXTRA",
    "address",
    "layouts",
    "line_format",
    "load_balancer_layouts",
    "method",
    "port",
    "url",
    "version",
]

_ACCOUNT = "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}"
_DAY = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}"
EXTRA = Column("extra", "json", "Fields that AWS has added after those that are known here, by number.", source="*")


def line_format(name: str, fields: str, min_values: int) -> Delimited:
    """Values with a blank between them, some in quotes. AWS adds fields at the end, so older lines have fewer."""
    return Delimited(
        name=name,
        delimiter=" ",
        escape="\\",
        header=False,
        fields=fields.split(),
        null_if=("-", ""),
        min_values=min_values,
        loose_quotes=True,
    )


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
        f" ELSE array_to_string({words}[2:], ' ') END"
    )


def load_balancer_layouts(file: str, before: str = "") -> dict[str, str]:
    """Where Elastic Load Balancing puts files of such names, and what may stand before that in a bucket."""
    below = f"elasticloadbalancing/%{{DATA:region}}/{_DAY}/{file}"
    return layouts(f"{before}{_ACCOUNT}/{below}", below)


def layouts(bucket: str, below: str) -> dict[str, str]:
    """The layout of a bucket, and that of a directory: there, what is below any folder is dated, too, and files
    are taken that have other names than AWS gives, with the number of the account first."""
    return {"aws_s3_bucket": bucket, "file": f"(%{{DATA}}/)?{below}|(%{{DATA}}/)?[^0-9/][^/]*"}
