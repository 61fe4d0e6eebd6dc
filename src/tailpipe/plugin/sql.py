"""SQL for tables and parsers: conditions and values over the fields of a row, as text of DuckDB's SQL.

Each function takes SQL, mostly the name of a field, and gives SQL.
"""

from __future__ import annotations

from tailpipe.sql.addresses import is_address
from tailpipe.sql.quoting import json_path, literal, quoted, text_list
from tailpipe.sql.texts import (
    address_or_null,
    distinct_texts,
    endpoint_address,
    endpoint_port,
    is_domain,
    is_email,
    is_endpoint,
    is_filled,
    is_iso_time,
    is_whole_number,
    json_values,
    request_method,
    request_url,
    request_version,
    texts,
    without_port,
)

__all__ = [
    "address_or_null",
    "distinct_texts",
    "endpoint_address",
    "endpoint_port",
    "is_address",
    "is_domain",
    "is_email",
    "is_endpoint",
    "is_filled",
    "is_iso_time",
    "is_whole_number",
    "json_path",
    "json_values",
    "literal",
    "quoted",
    "request_method",
    "request_url",
    "request_version",
    "text_list",
    "texts",
    "without_port",
]
