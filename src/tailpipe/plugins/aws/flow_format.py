"""The format of VPC flow logs: which fields, in which order."""

from __future__ import annotations

import re

from tailpipe.formats import Delimited
from tailpipe.plugin import Format, UsageError, did_you_mean, option

DEFAULT_LAYOUT = (
    "version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start end action log-status"
)
_LATER = (
    "vpc-id subnet-id instance-id tcp-flags type pkt-srcaddr pkt-dstaddr region az-id sublocation-type sublocation-id"
    " pkt-src-aws-service pkt-dst-aws-service flow-direction traffic-path ecs-cluster-arn ecs-cluster-name"
    " ecs-container-instance-arn ecs-container-instance-id ecs-container-id ecs-second-container-id ecs-service-name"
    " ecs-task-arn ecs-task-definition-arn ecs-task-id reject-reason resource-id encryption-status export-timestamp"
)
_TRANSIT_GATEWAY = (
    "resource-type tgw-id tgw-attachment-id tgw-src-vpc-account-id tgw-dst-vpc-account-id tgw-src-vpc-id tgw-dst-vpc-id"
    " tgw-src-subnet-id tgw-dst-subnet-id tgw-src-eni tgw-dst-eni tgw-src-az-id tgw-dst-az-id tgw-pair-attachment-id"
    " packets-lost-no-route packets-lost-blackhole packets-lost-mtu-exceeded packets-lost-ttl-expired"
)
FIELDS = (*DEFAULT_LAYOUT.split(), *_LATER.split(), *_TRANSIT_GATEWAY.split())
"""All fields of VPC and Transit Gateway flow logs, as AWS spells them; an export from CloudWatch puts a time first."""
_SECONDS = "try_cast({} AS BIGINT) BETWEEN 100000000 AND 9999999999"
_CONDITIONS = {
    "version": "try_cast(version AS BIGINT) BETWEEN 1 AND 99",
    "start": _SECONDS.format("start"),
    "end": _SECONDS.format('"end"'),
}


def _check_layout(layout: str) -> None:
    words = _names(layout)
    if not words:
        raise UsageError("the layout has no field", hint=f"the default is: {DEFAULT_LAYOUT}")
    for word in words:
        if word not in FIELDS:
            hint = did_you_mean(word, FIELDS, "use the names of AWS, such as pkt-srcaddr")
            raise UsageError(f'flow logs have no field "{word}"', hint=hint)
        if words.count(word) > 1:
            raise UsageError(f'the field "{word}" is duplicated')


class FlowLogFormat(Format):
    """Records of VPC and Transit Gateway flow logs. A header line overrides the layout."""

    type = "aws_vpc_flow_log"
    layout: str = option(
        "Names of the fields as AWS spells them, separated by spaces; for logs without a header.",
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
            wrapped_in="message",
            conditions=_CONDITIONS,
        )


def _names(layout: str) -> list[str]:
    """The fields of a layout, which may be written as AWS does it: `${version} ${vpc-id}`."""
    return [re.sub(r"\A\$\{(.*)\}\Z", r"\1", word) for word in layout.split()]


def _snake(field: str) -> str:
    return field.replace("-", "_")


DEFAULT = FlowLogFormat(name="default", description="Flow logs with a header line, or the 14 fields of version 2.")
TRANSIT_GATEWAY = FlowLogFormat(
    name="transit_gateway",
    description="Transit Gateway flow logs without a header line: the 36 fields of version 6.",
    layout=(
        "version resource-type account-id tgw-id tgw-attachment-id tgw-src-vpc-account-id tgw-dst-vpc-account-id"
        " tgw-src-vpc-id tgw-dst-vpc-id tgw-src-subnet-id tgw-dst-subnet-id tgw-src-eni tgw-dst-eni tgw-src-az-id"
        " tgw-dst-az-id tgw-pair-attachment-id srcaddr dstaddr srcport dstport protocol packets bytes start end"
        " log-status type packets-lost-no-route packets-lost-blackhole packets-lost-mtu-exceeded"
        " packets-lost-ttl-expired tcp-flags region flow-direction pkt-src-aws-service pkt-dst-aws-service"
    ),
)
