"""SQL macros for tables: checked addresses, and lists without blanks and doubles. `docs/reference/tables.md` has them.

A macro is made for SQL that calls it, because making all of them takes longer than many an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tailpipe.model.addresses import is_address
from tailpipe.sql.texts import (
    endpoint_address,
    endpoint_port,
    host_of,
    is_domain,
    is_email,
    is_filled,
    request_method,
    request_url,
    request_version,
)

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb

__all__ = ["MACROS", "make_macros"]


def _address(x: str) -> str:
    return f"CASE WHEN {is_address(x)} THEN {x} WHEN {is_address(f'tp_host({x})')} THEN tp_host({x}) END"


def _once(values: str, condition: str) -> str:
    """The values that fit a condition, each once and in their order; null if there are none."""
    # As the element of a list, so that the values are computed once.
    found = f"list_filter(_all, lambda _x, _n: {condition} AND list_position(_all, _x) = _n)"
    return f"list_filter(list_transform([{values}], lambda _all: {found}), lambda _found: len(_found) > 0)[1]"


MACROS: Mapping[str, tuple[str, str, str]] = {
    "tp_host": ("x", host_of("x"), "`x` without a port, brackets or zone: an address or a name."),
    "tp_port": ("x", endpoint_port("x"), "The port at the end of `x`."),
    "tp_address": ("x", _address("x"), "The IP address in `x`, perhaps with a port; null if there is none."),
    "tp_endpoint": (
        "x",
        endpoint_address("x"),
        "The address in `x`, which ends with a port: `10.0.0.1:80`, `2001:db8::1:443`.",
    ),
    "tp_domain": ("x", f"CASE WHEN {is_domain('x')} THEN x END", "`x` if it is a domain name, else null."),
    "tp_email": ("x", f"CASE WHEN {is_email('x')} THEN x END", "`x` if it is an e-mail address, else null."),
    "tp_texts": ("list", _once("list", is_filled("_x")), "The texts in `list`, each once; null if there are none."),
    "tp_hosts": (
        "list",
        "tp_texts(list_transform(list, lambda _one: tp_host(_one)))",
        "The texts in `list` as `tp_host` gives them, each once.",
    ),
    "tp_addresses": (
        "list",
        "tp_texts(list_transform(list, lambda _one: tp_address(_one)))",
        "The IP addresses in `list`, each once; all else is left out.",
    ),
    "tp_domains": ("list", _once("list", is_domain("_x")), "The domain names in `list`, each once."),
    "tp_emails": ("list", _once("list", is_email("_x")), "The e-mail addresses in `list`, each once."),
    "tp_request_method": ("x", request_method("x"), "The method of a request line, `GET /path HTTP/1.1`."),
    "tp_request_url": ("x", request_url("x"), "The URL of a request line; all of a text that is none."),
    "tp_request_version": ("x", request_version("x"), "The protocol of a request line, if it names one."),
}
"""The argument, the body and the meaning of each."""

_CALLED = re.compile(rf"\b({'|'.join(MACROS)})\s*\(", re.IGNORECASE)
_NEEDS = {
    "tp_address": ("tp_host",),
    "tp_hosts": ("tp_host", "tp_texts"),
    "tp_addresses": ("tp_host", "tp_address", "tp_texts"),
}


def make_macros(connection: duckdb.DuckDBPyConnection, texts: Iterable[str | None]) -> None:
    """Make the macros that these pieces of SQL call."""
    called = {name.lower() for text in texts if text for name in _CALLED.findall(text)}
    called |= {other for name in called for other in _NEEDS.get(name, ())}
    for name in MACROS:  # in this order, because some call others
        if name in called:
            argument, body, _ = MACROS[name]
            connection.execute(f"CREATE OR REPLACE TEMP MACRO {name}({argument}) AS {body}")
