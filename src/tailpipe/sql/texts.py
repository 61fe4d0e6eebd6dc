"""Conditions and values over texts, as DuckDB SQL: each function takes SQL, mostly a name, and gives SQL."""

from __future__ import annotations

from collections.abc import Callable

from tailpipe.sql.addresses import is_address, plain_address

Condition = Callable[[str], str]
_DOMAIN = r"([A-Za-z0-9_*]([A-Za-z0-9_-]*[A-Za-z0-9_])?\.)+[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])"
_EMAIL = rf"[^@\s]+@{_DOMAIN}"


def is_filled(value: str) -> str:
    """Whether a text is neither null nor empty."""
    return f"{value} <> ''"


def is_domain(value: str) -> str:
    """Whether a text is the name of a host."""
    return f"regexp_full_match({value}, '{_DOMAIN}')"


def is_email(value: str) -> str:
    """Whether a text is an address of e-mail."""
    return f"regexp_full_match({value}, '{_EMAIL}')"


def is_iso_time(field: str) -> str:
    """Whether a value has the form of `2024-03-01T10:00:00`; that it is a time is seen when it is read as one.

    A time may have been read as a number already, as which it would be one of 1970.
    """
    return f"{field}::VARCHAR LIKE '____-__-__T__:__:__%'"


def is_whole_number(field: str) -> str:
    """Whether a value is a whole number."""
    return f"try_cast({field} AS BIGINT) IS NOT NULL"


def is_endpoint(field: str) -> str:
    """Whether a value may be an address, with a port or without, and is neither a name nor a number."""
    return rf"regexp_full_match({field}::VARCHAR, '[0-9a-fA-F.:\[\]]*[.:][0-9a-fA-F.:\[\]]*')"


def address_or_null(value: str) -> str:
    """The value if it is an address, else null."""
    return f"CASE WHEN {is_address(value)} THEN {plain_address(value)} END"


def host_of(x: str) -> str:
    """The address or name without a port, brackets or a zone."""
    ports = f"length({x}) - length(replace({x}, ':', ''))"
    in_brackets, without_zone = f"split_part({x}[2:], ']', 1)", f"regexp_replace({x}, '(%|#| port ).*$', '')"
    return (
        f"CASE WHEN {x}[1] = '[' THEN {plain_address(in_brackets)} WHEN NOT contains({x}, ':') THEN {x}"
        f" WHEN {ports} = 1 THEN split_part({x}, ':', 1) ELSE {plain_address(without_zone)} END"
    )


def without_port(value: str) -> str:
    """A text without the port behind an IPv4 address, or without brackets and port around an IPv6 address."""
    return rf"regexp_replace({value}, '^(?:([0-9.]+)|\[([^\]]*)\])(?::[0-9]*)?$', '\1\2')"


def endpoint_address(endpoint: str) -> str:
    """The address of `10.0.0.1:80`, `[2001:db8::1]:443` or `2001:db8::1:443`."""
    return (
        f"CASE WHEN starts_with({endpoint}, '[') THEN split_part({endpoint}[2:], ']', 1)"
        f" WHEN contains({endpoint}, ':') THEN array_to_string(string_split({endpoint}, ':')[:-2], ':')"
        f" ELSE {endpoint} END"
    )


def endpoint_port(endpoint: str) -> str:
    """The port behind the last colon."""
    return (
        f"CASE WHEN contains({endpoint}, ':') AND NOT ends_with({endpoint}, ']')"
        f" THEN nullif(split_part({endpoint}, ':', -1), '') END"
    )


def request_method(request: str) -> str:
    """The method of a request line, `GET http://host:80/ HTTP/1.1`."""
    return f"CASE WHEN contains({request}, ' ') THEN nullif(split_part({request}, ' ', 1), '-') END"


def request_url(request: str) -> str:
    """The URL between method and version; the whole text if it is no request line. TCP requests log only `- - - `."""
    words, last = f"string_split({request}, ' ')", f"split_part({request}, ' ', -1)"
    return (
        f"CASE WHEN NOT contains({request}, ' ') THEN {request} WHEN starts_with({request}, '- - -') THEN NULL"
        f" WHEN starts_with({last}, 'HTTP/') OR {last} = '-' THEN array_to_string({words}[2:-2], ' ')"
        f" ELSE rtrim(array_to_string({words}[2:], ' ')) END"
    )


def request_version(request: str) -> str:
    """The version of a request line, if it says one."""
    last = f"split_part({request}, ' ', -1)"
    return f"CASE WHEN contains({request}, ' ') AND starts_with({last}, 'HTTP/') THEN {last} END"


def texts(*values: str, only: Condition = is_filled) -> str:
    """The values that are there, or fit a condition, as a list; null if there are none."""
    if len(values) == 1:
        return f"CASE WHEN {only(values[0])} THEN [{values[0]}] END"
    found = f"list_filter([{', '.join(values)}], lambda _value: {only('_value')})"
    # Not nullif(): it would make the list twice, the first one to compare it.
    return f"CASE WHEN {' OR '.join(map(only, values))} THEN {found} END"


def distinct_texts(*lists: str, only: Condition = is_filled) -> str:
    """What is in any of the lists and fits a condition, each once and in order; null if there is nothing."""
    one = lists[0]
    for other in lists[1:]:
        one = f"list_concat({one}, {other})"
    found = f"list_sort(list_distinct(list_filter({one}, lambda _value: {only('_value')})))"
    return f"list_filter([{found}], lambda _values: len(_values) > 0)[1]"


def json_values(field: str, key: str) -> str:
    """The values of a key at any depth of a JSON field, as a list."""
    return f"json_extract_string({field}, '$..{key}')"
