"""The engines that read a published table here: DuckDB, deltalake and Polars, in a directory and in a bucket."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import deltalake
import duckdb
import polars

from tailpipe.sql.quoting import literal
from tests.aws.server import ACCESS_KEY, SECRET_KEY
from tests.delta.lake import Row, ordered


@dataclass(frozen=True)
class Place:
    """Where the Delta table is, and how to reach it."""

    uri: str
    endpoint: str | None = None
    options: dict[str, str] = field(default_factory=dict)

    def table(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self.uri, storage_options=self.options)


def s3_options(endpoint: str) -> dict[str, str]:
    return {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
    }


def extension(name: str) -> str:
    """The statement that loads an extension of DuckDB from the package that has it: nothing is downloaded."""
    spec = find_spec(f"duckdb_extension_{name}")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0]) / f"extensions/v{duckdb.__version__}/{name}.duckdb_extension"
    return f"LOAD {literal(str(path))}"


def connected(place: Place) -> duckdb.DuckDBPyConnection:
    """DuckDB with the Delta extension, in the time zone of the process."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": False, "autoload_known_extensions": False})
    connection.execute(extension("delta"))
    connection.execute(f"SET TimeZone = {literal(os.environ.get('TZ', 'UTC'))}")
    if place.endpoint is not None:
        connection.execute(extension("httpfs"))
        connection.execute(
            f"CREATE SECRET (TYPE s3, KEY_ID {literal(ACCESS_KEY)}, SECRET {literal(SECRET_KEY)}, REGION 'us-east-1',"
            f" ENDPOINT {literal(urlsplit(place.endpoint).netloc)}, URL_STYLE 'path', USE_SSL false)"
        )
    return connection


def by_duckdb(place: Place, where: str = "true") -> list[Row]:
    with connected(place) as connection:
        answer = connection.sql(f"SELECT * FROM delta_scan({literal(place.uri)}) WHERE {where}").to_arrow_table()
    return ordered(answer.to_pylist())


def by_deltalake(place: Place) -> list[Row]:
    return ordered(place.table().to_pyarrow_table().to_pylist())


def by_polars(place: Place) -> list[Row]:
    """By its own reader of parquet."""
    return ordered(polars.scan_delta(place.uri, storage_options=place.options).collect().to_dicts())


def by_polars_with_arrow(place: Place) -> list[Row]:
    frame = polars.scan_delta(place.uri, storage_options=place.options, use_pyarrow=True).collect()
    return ordered(frame.to_dicts())


def keys_by_deltalake(place: Place) -> set[str]:
    """The live files, as keys below the table."""
    return {uri.removeprefix(f"{place.uri}/") for uri in place.table().file_uris()}


READERS: dict[str, Callable[[Place], list[Row]]] = {
    "duckdb": by_duckdb,
    "deltalake": by_deltalake,
    "polars": by_polars,
    "polars-arrow": by_polars_with_arrow,
}


def types_of(place: Place) -> dict[str, Any]:
    with connected(place) as connection:
        rows = connection.execute(f"DESCRIBE SELECT * FROM delta_scan({literal(place.uri)})").fetchall()
    return {name: kind for name, kind, *_ in rows}
