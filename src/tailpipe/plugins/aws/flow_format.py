"""The format of VPC flow logs: which fields, in which order."""

from __future__ import annotations

import re

from tailpipe.plugin import Format, UsageError, did_you_mean, option
from tailpipe.plugin.formats import Delimited

__all__ = ["DEFAULT", "DEFAULT_LAYOUT", "FIELDS", "FlowLogFormat"]

DEFAULT_LAYOUT = (
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status"
)
_LATER = (
    "vpc-id subnet-id instance-id tcp-flags type pkt-srcaddr pkt-dstaddr region az-id sublocation-type sublocation-id"
    " pkt-src-aws-service pkt-dst-aws-service flow-direction traffic-path ecs-cluster-arn ecs-cluster-name"
    " ecs-container-instance-arn ecs-container-instance-id ecs-container-id ecs-second-container-id ecs-service-name"
    " ecs-task-arn ecs-task-definition-arn ecs-task-id reject-reason export-timestamp"
)
FIELDS = (*DEFAULT_LAYOUT.split(), *_LATER.split())
"""All fields up to version 8, as AWS spells them; an export from CloudWatch puts a time before them."""


def _check_layout(layout: str) -> None:
    words = _names(layout)
    if not words:
        raise UsageError("the layout has no field", hint=f"the default is: {DEFAULT_LAYOUT}")
    for word in words:
        if word not in FIELDS:
            hint = did_you_mean(word, FIELDS, "use the names of AWS, such as pkt-srcaddr")
            raise UsageError(f'flow logs have no field "{word}"', hint=hint)
        if words.count(word) > 1:
            raise UsageError(f'the field "{word}" is there twice')


class FlowLogFormat(Format):
    """Records of VPC flow logs, with a header line or without; a header wins over the layout."""

    type = "aws_vpc_flow_log"
    layout: str = option(
        "Names of the fields as AWS spells them, with blanks between; for logs without a header.",
        default=DEFAULT_LAYOUT,
        check=_check_layout,
        is_verbatim=True,
    )

    def read_as(self) -> Format:
        """Values with a blank between them."""
        return Delimited(
            name=self.name,
            delimiter=" ",
            quote="",
            null_if=("-",),
            snake_case=True,
            fields=[_snake(field) for field in _names(self.layout)],
            known_fields=[_snake(field) for field in FIELDS],
        )


def _names(layout: str) -> list[str]:
    """The fields of a layout, which may be written as AWS does it: `${version} ${vpc-id}`."""
    return [re.sub(r"\A\$\{(.*)\}\Z", r"\1", word) for word in layout.split()]


def _snake(field: str) -> str:
    return field.replace("-", "_")


DEFAULT = FlowLogFormat(name="default", description="Flow logs with a header line, or the 14 fields of version 2.")
