"""Plausible values: what a column with a usual name, such as `host` or `source_port`, can hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any

from tailpipe.infer.free_text import LEVELS

_LEVEL = re.compile(r"[A-Za-z]+[0-9]?|[0-9]")
_NO_HOST = re.compile(rf"(?i:{LEVELS})|[TDIWEF]|UTC|GMT|CES?T|EES?T|MSK|[ECMP][SD]T|[IJ]ST")
_HOST = re.compile(r"[A-Za-z0-9_:](?:[\w.:%-]*[\w:])?")
_PROGRAM = re.compile(r"[A-Za-z_(/-].*", re.DOTALL)


def is_host(text: str) -> bool:
    """Whether a text can be the name of a host."""
    return _HOST.fullmatch(text) is not None and _NO_HOST.fullmatch(text) is None


def _is_up_to(last: int) -> Callable[[str], object]:
    return lambda text: text.isdecimal() and int(text) <= last


def is_address(text: str) -> bool:
    """Whether a text is an IP address."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _without_port(text: str) -> str:
    """An address without its port or prefix length."""
    match = re.fullmatch(r"\[([^\]]*)\](?::\d+)?", text)
    return match[1] if match else text.partition("/")[0]


_TESTS: tuple[tuple[re.Pattern[str], Callable[[str], object]], ...] = (
    (re.compile(r"(?:.*_)?host(?:name)?"), is_host),
    (re.compile(r"(?:.*_)?(?:ip|ip_address)"), lambda text: is_address(_without_port(text)) or is_host(text)),
    (re.compile(r"(?:.*_)?port"), _is_up_to(65535)),
    (re.compile(r"(?:http_|elb_|response_)?status(?:_code)"), _is_up_to(999)),
    (re.compile(r"(?:request_|http_)?method"), re.compile(r"[A-Za-z][\w/-]*").fullmatch),
    (re.compile(r"program"), _PROGRAM.fullmatch),
    (re.compile(r"level|severity"), _LEVEL.fullmatch),
)


def implausible(column: str, values: Sequence[Any]) -> tuple[float, str]:
    """The part of a column's values that its name rules out, and one of them."""
    test = next((test for name, test in _TESTS if name.fullmatch(column)), None)
    texts = [str(value) for value in values if isinstance(value, str | int) and not isinstance(value, bool)]
    wrong = [text for text in texts if text not in ("", "-") and not test(text)] if test is not None else []
    return (len(wrong) / len(texts), wrong[0]) if wrong else (0.0, "")
