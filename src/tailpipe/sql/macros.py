"""SQL macros for tables: checked addresses, and lists without blanks and doubles. `docs/reference/tables.md` has them.

A macro is made for SQL that calls it, because making all of them takes longer than many an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tailpipe.sql import texts
from tailpipe.sql.addresses import is_address, plain_address

if TYPE_CHECKING:
    from tailpipe.sql.duck import duckdb


def _address(x: str) -> str:
    return f"CASE WHEN {is_address(x)} THEN {plain_address(x)} WHEN {is_address(f'tp_host({x})')} THEN tp_host({x}) END"


def _once(values: str, condition: str) -> str:
    """The values that fit a condition, each once and in their order; null if there are none."""
    # As the element of a list, so that the values are computed once.
    found = f"list_filter(_all, lambda _x, _n: {condition} AND list_position(_all, _x) = _n)"
    return f"list_filter(list_transform([{values}], lambda _all: {found}), lambda _found: len(_found) > 0)[1]"


def _otlp_value(x: str, depth: int = 3) -> str:
    """A value of OTLP as JSON text; what is nested deeper stays as OTLP has it."""
    plain = (
        f"(json_extract({x}, '$.stringValue'))::VARCHAR",
        f"(json_extract({x}, '$.boolValue'))::VARCHAR",
        f"json_extract_string({x}, '$.intValue')",
        f"(json_extract({x}, '$.doubleValue'))::VARCHAR",
        f"(json_extract({x}, '$.bytesValue'))::VARCHAR",
    )
    if not depth:
        return f"coalesce({', '.join(plain)}, {x})"
    one = f"_v{depth}"
    values = f"from_json(json_extract({x}, '$.arrayValue.values'), '[\"JSON\"]')"
    inside = f"list_transform({values}, lambda {one}: {_otlp_value(one, depth - 1)})"
    pairs = _otlp_attributes(f"json_extract({x}, '$.kvlistValue.values')", depth)
    return f"coalesce({', '.join(plain)}, '[' || array_to_string({inside}, ',') || ']', {pairs}, {x})"


def _otlp_attributes(pairs: str, depth: int = 3) -> str:
    one = f"_p{depth}"
    value = _otlp_value(f"struct_extract({one}, 'value')", depth - 1)
    pair = f"to_json(struct_extract({one}, 'key'))::VARCHAR || ':' || coalesce({value}, 'null')"
    read = f'from_json({pairs}, \'[{{"key":"VARCHAR","value":"JSON"}}]\')'
    return f"'{{' || array_to_string(list_transform({read}, lambda {one}: {pair}), ',') || '}}'"


MACROS: Mapping[str, tuple[str, str, str]] = {
    "tp_host": ("x", texts.host_of("x"), "`x` without a port, brackets or zone: an address or a name."),
    "tp_port": ("x", texts.endpoint_port("x"), "The port at the end of `x`."),
    "tp_address": ("x", _address("x"), "The IP address in `x`, perhaps with a port; null if there is none."),
    "tp_endpoint": (
        "x",
        texts.endpoint_address("x"),
        "The address in `x`, which ends with a port: `10.0.0.1:80`, `2001:db8::1:443`.",
    ),
    "tp_domain": ("x", f"CASE WHEN {texts.is_domain('x')} THEN x END", "`x` if it is a domain name, else null."),
    "tp_email": ("x", f"CASE WHEN {texts.is_email('x')} THEN x END", "`x` if it is an e-mail address, else null."),
    "tp_texts": (
        "list",
        _once("list", texts.is_filled("_x")),
        "The texts in `list`, each once; null if there are none.",
    ),
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
    "tp_domains": ("list", _once("list", texts.is_domain("_x")), "The domain names in `list`, each once."),
    "tp_emails": ("list", _once("list", texts.is_email("_x")), "The e-mail addresses in `list`, each once."),
    "tp_request_method": ("x", texts.request_method("x"), "The method of a request line, `GET /path HTTP/1.1`."),
    "tp_request_url": ("x", texts.request_url("x"), "The URL of a request line; all of a text that is none."),
    "tp_otlp_value": ("x", _otlp_value("x"), 'A value of OTLP, `{"stringValue": "a"}`, as plain JSON.'),
    "tp_otlp_attributes": ("list", _otlp_attributes("list"), "The attributes of OTLP in `list` as one JSON object."),
    "tp_request_version": ("x", texts.request_version("x"), "The protocol of a request line, if it names one."),
}
"""The argument, the body and the meaning of each."""

_CALLED = re.compile(rf"\b({'|'.join(MACROS)})\s*\(", re.IGNORECASE)
_NEEDS = {
    "tp_address": ("tp_host",),
    "tp_hosts": ("tp_host", "tp_texts"),
    "tp_addresses": ("tp_host", "tp_address", "tp_texts"),
}


def make_macros(connection: duckdb.DuckDBPyConnection, pieces: Iterable[str | None]) -> None:
    """Make the macros that these pieces of SQL call."""
    called = {name.lower() for text in pieces if text for name in _CALLED.findall(text)}
    called |= {other for name in called for other in _NEEDS.get(name, ())}
    for name in MACROS:  # in this order, because some call others
        if name in called:
            argument, body, _ = MACROS[name]
            connection.execute(f"CREATE OR REPLACE TEMP MACRO {name}({argument}) AS {body}")
