"""Layouts of the access log of API Gateway that AWS proposes in addition to JSON; fields are named as in its JSON."""

from __future__ import annotations

from tailpipe.formats import Delimited, Regex

_FIELDS = (
    *("ip", "caller", "user", "requestTime", "httpMethod", "resourcePath", "protocol", "status", "responseLength"),
    *("requestId", "extendedRequestId"),
)
_ELEMENTS = (
    *("extendedRequestId", "ip", "caller", "user", "requestTime", "httpMethod", "resourcePath", "status", "protocol"),
    "responseLength",
)

CLF = Regex(
    name="aws_api_gateway_clf",
    description="Access logs of API Gateway in the Common Log Format, as AWS proposes it.",
    layout=(
        r"^(?P<ip>\S+) (?P<caller>\S+) (?P<user>\S+) \[(?P<requestTime>[^\]]*)\] ?"
        r'"(?P<httpMethod>\S+) (?P<resourcePath>.*?) (?P<protocol>[^ "]+)"'
        r" (?P<status>\S+) (?P<responseLength>\S+) (?P<requestId>\S+)(?: (?P<extendedRequestId>\S+))?"
    ),
)
CSV = Delimited(
    name="aws_api_gateway_csv",
    description="Access logs of API Gateway as comma-separated values, as AWS proposes them.",
    header=False,
    fields=_FIELDS,
    min_values=len(_FIELDS) - 1,
    null_if=("-",),
)
XML = Regex(
    name="aws_api_gateway_xml",
    description="Access logs of API Gateway as XML, one request in each line, as AWS proposes it.",
    layout=r'^<request id="(?P<requestId>[^"]*)">\s*'
    + "".join(rf"(?:<{name}>(?P<{name}>[^<]+)?</{name}>)?\s*" for name in _ELEMENTS)
    + r"</request>",
)
