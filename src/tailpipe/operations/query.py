"""Query: sessions of DuckDB, queries on Spark, and databases for other clients."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.catalog.live import newer_live, open_live
from tailpipe.home.home import Home
from tailpipe.query.request import Query
from tailpipe.query.session import Session
from tailpipe.stores.version import NOW

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from tailpipe.query.databases import ClientViews
    from tailpipe.query.on_spark import SparkQueries

__all__ = ["Query", "connect", "frame", "open_session", "spark_queries"]


def open_session(home: Home, query: Query | None = None) -> Session:
    """A session over the requested data; close it."""
    query, layout = query or Query(), home.layout()
    is_past = query.version != NOW
    snapshot = home.snapshot(query.version, home.say) if is_past else open_live(layout)
    query.narrowing.check(snapshot, home.config.partitions)
    return Session(
        snapshot,
        home.tables,
        replace(query, has_copies=query.has_copies and not is_past),  # copies are of the newest version
        schemas=home.config.schemas.values(),
        newer=(lambda _: None) if is_past else partial(newer_live, layout),
        open_reader=lambda: home.reader(query.limits, query.on_fetch),
    )


def spark_queries(home: Home, query: Query) -> AbstractContextManager[SparkQueries]:
    """Queries on Spark over the requested data; Spark is started by the first of them."""
    from tailpipe.query.on_spark import queries

    session = open_session(home, replace(query, has_copies=False))
    return queries(home.spark(has_queries=True), session, home.stores.address)


def frame(home: Home, table: str) -> DataFrame:
    """The rows of a table, or of `schema.table`, as a lazy Spark DataFrame; its session stays open."""
    from tailpipe.query.on_spark import frame_of

    spark = home.spark()
    with open_session(home, Query(has_copies=False)) as session:
        return frame_of(session, table, lambda: spark.session, home.bring)


def connect(home: Home, views: ClientViews | None = None) -> Path:
    """A DuckDB database with views over the live files, which every later commit replaces."""
    return home.followers.databases().make(views)
