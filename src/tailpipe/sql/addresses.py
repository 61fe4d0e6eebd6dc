"""IP addresses: the pattern that recognises them, and SQL that checks and normalises them."""

from __future__ import annotations

_OCTET = "(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
_IPV4 = rf"({_OCTET}\.){{3}}{_OCTET}"
_GROUP = "[0-9a-fA-F]{1,4}"
_IPV6 = "|".join(
    [
        f"({_GROUP}:){{7}}{_GROUP}",
        f"({_GROUP}:){{6}}{_IPV4}",
        *(f"({_GROUP}:){{1,{8 - n}}}(:{_GROUP}){{1,{n}}}" for n in range(1, 7)),
        f"{_GROUP}:(:{_GROUP}){{1,6}}",
        f":((:{_GROUP}){{1,7}}|:)",
        f"({_GROUP}:){{1,7}}:",
        f"::({_GROUP}:){{0,5}}{_IPV4}",
        *(f"({_GROUP}:){{{n}}}(:{_GROUP}){{0,{5 - n}}}:{_IPV4}" for n in range(1, 6)),
    ]
)
ADDRESS = f"({_IPV4}|{_IPV6})"
"""An IPv4 or IPv6 address alone: no port, zone id, brackets or prefix length. DuckDB's INET reads all that match."""
NETWORK = f"({_IPV4}(/([12]?[0-9]|3[0-2]))?|({_IPV6})(/(1[01][0-9]|12[0-8]|[1-9]?[0-9]))?)"
"""The same, perhaps with a prefix length."""


def is_address(value: str) -> str:
    """Whether a text is an IP address and nothing else, as SQL; null for null."""
    return f"regexp_full_match({value}, '{ADDRESS}')"


_MAPPED = "^[0:]*:(?i:ffff):"
_DOTTED = rf"{_MAPPED}([0-9.]+)$"
_HEXADECIMAL = f"{_MAPPED}({_GROUP}):({_GROUP})$"


def may_be_mapped(text: str) -> str:
    """Whether a text may hold an IPv4-mapped address, as SQL; cheap, because few texts do."""
    return f"(contains({text}, ':ffff:') OR contains({text}, ':FFFF:'))"


def plain_address(value: str) -> str:
    """An address with an IPv4-mapped one as IPv4, as SQL: `::ffff:192.0.2.1` is `192.0.2.1`; other texts stay."""
    high, low = (f"TRY_CAST('0x' || regexp_extract({value}, '{_HEXADECIMAL}', {n}) AS INTEGER)" for n in (1, 2))
    octets = f"{high} // 256 || '.' || {high} % 256 || '.' || {low} // 256 || '.' || {low} % 256"
    return (
        f"CASE WHEN NOT {may_be_mapped(value)} THEN {value}"
        f" ELSE coalesce(nullif(regexp_extract({value}, '{_DOTTED}', 1), ''), {octets}, {value}) END"
    )
