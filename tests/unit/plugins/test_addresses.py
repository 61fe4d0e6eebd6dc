"""The pattern of addresses takes what Python takes for one, and nothing that DuckDB cannot cast to INET."""

from __future__ import annotations

import ipaddress
import random
import re

import duckdb

from tailpipe.sql.addresses import ADDRESS, is_address
from tailpipe.sql.inet import load_statement

PARTS = ["1", "25", "f", ":", ":", "::", ".", "0", "ffff", "1.2.3.4", "300", "%", "/8"]


def is_valid(text: str) -> bool:
    try:
        return "%" not in text and ipaddress.ip_address(text) is not None
    except ValueError:
        return False


def test_it_agrees_with_python_and_with_duckdb() -> None:
    chance = random.Random(7)
    texts = {"".join(chance.choices(PARTS, k=chance.randrange(1, 12))) for _ in range(20_000)}
    texts |= {str(ipaddress.IPv6Address(chance.getrandbits(128) & chance.getrandbits(128))) for _ in range(2_000)}
    texts |= {f"{text}::{chance.randrange(256)}.0.0.1" for text in ("", "64:ff9b", "::ffff", "1:2:3:4:5")}
    connection = duckdb.connect()
    connection.execute(load_statement())
    rows = connection.execute(
        f"SELECT v, {is_address('v')}, try_cast(v AS INET) IS NOT NULL FROM (SELECT unnest($1) AS v)", [sorted(texts)]
    ).fetchall()
    assert sum(found for _, found, _ in rows) > 1_000
    assert [text for text, found, is_inet in rows if found and not is_inet] == []
    assert [text for text, found, _ in rows if is_valid(text) and not found] == []
    assert [text for text, found, _ in rows if found != bool(re.fullmatch(ADDRESS, text))] == []
