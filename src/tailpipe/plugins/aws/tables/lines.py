"""What several tables of AWS share: the format of line logs, where these lie, and ARNs."""

from __future__ import annotations

from collections.abc import Mapping

from tailpipe.formats import Delimited
from tailpipe.plugin import Column

__all__ = ["EXTRA", "is_arn", "line_format", "load_balancer_layouts", "other_names"]

_ACCOUNT = "AWSLogs/(%{DATA:org_id}/)?%{NUMBER:account_id}"
_DAY = "%{YEAR:year}/%{MONTHNUM:month}/%{MONTHDAY:day}"
_DAY_IN_NAME = "%{YEAR:year}%{MONTHNUM:month}%{MONTHDAY:day}T[0-9]{4}Z_[^/]*"
"""The rest of a file's name as AWS gives it, from its time on."""
EXTRA = Column("extra", "json", "Fields that AWS has added after those that are known here, by number.", source="*")


def is_arn(value: str) -> str:
    """Whether a text is an ARN."""
    return f"starts_with({value}, 'arn:')"


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
