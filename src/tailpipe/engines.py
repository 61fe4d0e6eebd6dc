"""The engine that runs the jobs of a verb: one that was given, or Spark as the settings say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tailpipe.data import Data
from tailpipe.frozen import frozen

if TYPE_CHECKING:  # each verb loads what it needs, so that none waits for the others
    from tailpipe.catalog.catalog import Catalog
    from tailpipe.collect.job import Emit
    from tailpipe.kernel.engine import Engine
    from tailpipe.spark.engine import SparkEngine

__all__ = ["Engines"]


@frozen
class Engines:
    """Makes engines for a workspace; if it `is_command`, the process ends with the verb."""

    data: Data
    cache_dir: Path
    is_command: bool = False

    @contextmanager
    def working(
        self, given: Engine | None, emit: Emit, *, is_read_only: bool = False
    ) -> Iterator[tuple[Catalog, Engine]]:
        """The catalog, and the given engine, or Spark, which ends with it."""
        with ExitStack() as stack:
            engine = given or stack.enter_context(closing(self.spark(emit)))
            yield stack.enter_context(self.data.catalog(is_read_only=is_read_only)), engine

    def spark(self, emit: Emit = lambda _: None, *, is_kept: bool = False, has_queries: bool = False) -> SparkEngine:
        """Spark, started by its first job."""
        from tailpipe.collect.events import Started
        from tailpipe.spark.engine import SparkEngine

        return SparkEngine.of(
            self.data.settings.workspace.spark,
            self.data.prepare(),
            self.cache_dir,
            lambda: emit(Started("", "starting Spark")),
            is_last=self.is_command and not is_kept,
            is_kept=is_kept,
            has_queries=has_queries,
            depot=self.data.depot,
        )
