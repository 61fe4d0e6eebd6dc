"""The home of a workspace: config and plugins, directories, catalog and engine, each opened when it is first needed."""

from __future__ import annotations

import atexit
import os
import tempfile
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tailpipe.catalog.home import is_begun, make_directories, refuse_foreign
from tailpipe.catalog.layout import Layout
from tailpipe.catalog.snapshot import Snapshot, current
from tailpipe.config.config import Config
from tailpipe.config.environment import Environment, Settings
from tailpipe.config.functions import Surroundings
from tailpipe.config.loader import load_config
from tailpipe.detect.hit_table import DETECTION_HIT
from tailpipe.home.stores import HomeStores
from tailpipe.model.detection import HIT_TABLE
from tailpipe.model.nearest import named
from tailpipe.model.option import unresolved_in
from tailpipe.model.selector import Selection, select
from tailpipe.model.store import PARTITION_BY, partition_by_of
from tailpipe.plugin.registry import Registry
from tailpipe.storage.scratch import make_scratch
from tailpipe.stores.version import NOW, Version

if TYPE_CHECKING:  # each operation loads what it needs, so that none waits for the others
    from tailpipe.catalog.catalog import Catalog
    from tailpipe.catalog.read import PartitionTotals
    from tailpipe.catalog.snapshot import LiveFile
    from tailpipe.collect.job import Emit
    from tailpipe.home.detections import Detections
    from tailpipe.home.followers import Followers
    from tailpipe.kernel.engine import Engine
    from tailpipe.model.format import Format
    from tailpipe.model.saved import SavedQuery
    from tailpipe.model.table import Table
    from tailpipe.spark.engine import SparkEngine
    from tailpipe.stores.fetch import Fetched, Limits, Reader
    from tailpipe.stores.landing import Landing

Say = Callable[[str], None]
T = TypeVar("T")


class Home:
    """What operations work with.

    `say` gets messages for the user. `engine` runs the jobs of operations, and its owner closes it. Without one it is
    Spark, started by the first job of an operation and stopped with it. If the home `is_command`, the process ends with
    the operation, so nothing waits until Spark has stopped.
    """

    def __init__(
        self,
        environment: Environment,
        registry: Registry,
        say: Say = lambda _: None,
        engine: Engine | None = None,
        *,
        is_command: bool = False,
    ) -> None:
        self.environment = environment
        self.registry = registry
        self.say = say
        self.engine = engine
        self.is_command = is_command
        self.unpushed: list[str] = []
        """The partitions whose changes are committed here, but could not be pushed."""

    @classmethod
    def open(
        cls,
        *,
        config_path: str | None = None,
        workspace: str | None = None,
        env: Mapping[str, str] | None = None,
        say: Say = lambda _: None,
        engine: Engine | None = None,
        is_command: bool = False,
    ) -> Home:
        """The home of the workspace that flags and environment variables name."""
        around = os.environ if env is None else env
        environment = Environment.resolve(around, config_path=config_path, workspace=workspace)
        return cls(environment, Registry.installed(str(environment.packs_dir)), say, engine, is_command=is_command)

    def warn(self, text: str) -> None:
        """Show a warning to the user."""
        self.say(f"warning: {text}")

    # Config

    @cached_property
    def config(self) -> Config:
        """The config; on the first run its directory is made."""
        if self.environment.has_own_config:
            make_directories(self.environment.config_paths, self.say)
        around = Surroundings(now=datetime.now(UTC), env=os.environ, home=str(self.environment.home))
        try:
            return load_config(self.environment.config_paths, self.registry, around)
        finally:
            for warning in self.registry.warnings:
                self.warn(warning)

    @cached_property
    def settings(self) -> Settings:
        """The settings of the workspace."""
        return Settings.resolve(self.environment, self.config)

    @cached_property
    def tables(self) -> Mapping[str, Table]:
        """All declared tables by name: those of the config, those of plugins, each loaded on first use, and hits."""
        own = {HIT_TABLE: DETECTION_HIT}
        return ChainMap(self.config.tables, self.registry.tables, own)  # type: ignore[arg-type] # they are only read

    @cached_property
    def queries(self) -> Mapping[str, SavedQuery]:
        """All saved queries by name. One of the config hides one of a plugin."""
        return ChainMap(self.config.queries, self.registry.queries)  # type: ignore[arg-type] # they are only read

    def format(self, name: str) -> Format:
        """The format that config names `type.name`: one of the config, or a preset."""
        full = f"{name}.default" if name in self.registry.formats else name
        own = self.config.formats  # a hint names them first
        return named("format", full, {**own, **self.registry.presets, **own})

    def table(self, name: str) -> Table:
        """The table of that name: one of the config, or of a plugin."""
        return named("table", name, self.tables)

    @cached_property
    def detections(self) -> Detections:
        """The detections of config, plugins and Sigma rules."""
        from tailpipe.home.detections import Detections

        return Detections(self.config, self.tables, self.registry, self.warn)

    # Directories

    def layout(self) -> Layout:
        """The directories of the workspace, made if they are missing; one with data of another program is refused."""
        directories = (self.settings.location, self.settings.data_dir)
        for directory in set(directories):
            refuse_foreign(directory, self.settings.workspace.name)
        make_directories(directories, self.say)
        return replace(Layout.of(*directories), wanted=self._wanted(), **self._hive())

    def _wanted(self) -> dict[str, Path]:
        """Where the config wants the local files of its partitions; what it does not name stays where it is."""
        stores = {name: self.stores.of(name) for name in self.config.partitions}
        paths = {name: store.here.path if store and store.here else None for name, store in stores.items()}
        return {
            name: Path(path) if path else self.settings.data_dir.absolute()
            for name, path in paths.items()
            if not unresolved_in(path)
        }

    def _hive(self) -> dict[str, Any]:
        """How the directories of the hive are named, if not as usual."""
        names = self.settings.workspace.partition_by
        if tuple(names) == PARTITION_BY:
            return {}
        partitions = self.config.partitions.items()
        hive = {name: partition_by_of(names, partition.tp_index) for name, partition in partitions}
        return {"hive": hive, "hive_of_others": partition_by_of(names, None)}

    @property
    def is_empty(self) -> bool:
        """Whether nothing was ever collected."""
        return not is_begun(self.layout())

    # Catalog

    @contextmanager
    def catalog(self, *, is_read_only: bool = False) -> Iterator[Catalog]:
        """The catalog, opened; the databases of other clients follow its commits."""
        from tailpipe.catalog.catalog import Catalog

        opened = partial(
            Catalog.open, self.layout(), is_read_only=is_read_only, host=self.stores.host, bring=self.bring
        )
        if is_read_only:
            with opened() as catalog:
                yield catalog
            return
        with self.followers.announced() as announce, opened(on_commit=announce) as catalog:
            yield catalog

    def read(self, query: Callable[[Catalog], T], default: T) -> T:
        """The result of a query of the catalog, or the default if nothing was ever collected."""
        if self.is_empty:
            return default
        with self.catalog(is_read_only=True) as catalog:
            return query(catalog)

    def held(self) -> Mapping[str, PartitionTotals]:
        """How much each partition holds, by `table.partition`; also those that no config names any more."""
        return self.read(lambda catalog: {totals.name: totals for totals in catalog.partitions()}, {})

    def select(self, partitions: Selection = ()) -> list[str]:
        """The selected partitions, of those in the config and those that hold data."""
        return select(partitions, sorted({*self.config.partitions, *self.held()}))

    def snapshot(self, version: Version = NOW, warn: Say = lambda _: None) -> Snapshot:
        """The live files now, or those of another version; `warn` is called if that is before all commits."""
        if version == NOW or self.is_empty:
            return current(self.layout())
        from tailpipe.stores.versions import past

        with self.catalog(is_read_only=True) as catalog:
            stores = self.config.stores.values()
            found = past(catalog.database, version, self.stores.of, stores, datetime.now(UTC), warn)
        return replace(found, bring=self.bring)

    @property
    def followers(self) -> Followers:
        """What follows each commit."""
        from tailpipe.home.followers import Followers

        return Followers(self)

    # Stores

    @cached_property
    def stores(self) -> HomeStores:
        """The stores of the config, and which partitions use them."""
        return HomeStores(self.settings.workspace, self.config)

    def reader(self, limits: Limits | None = None, on_fetch: Callable[[Fetched], None] = lambda _: None) -> Reader:
        """Gives files wherever they are; close it."""
        from tailpipe.stores.cache import CACHE_BYTES, Cache
        from tailpipe.stores.fetch import Reader

        directory = self.layout().cache
        if not os.access(directory if directory.exists() else directory.parent, os.W_OK):
            # Somebody else's workspace: what is fetched for this session is kept for it alone.
            directory = make_scratch(Path(tempfile.gettempdir()), "tailpipe-cache-").path
        cache = Cache(directory, self.settings.workspace.cache_bytes or CACHE_BYTES)
        return Reader(cache, self.stores.of, limits, emit=on_fetch, say=self.say)

    def bring(self, files: Sequence[LiveFile], place: Callable[[LiveFile], str]) -> list[str]:
        """The paths of files on this disk until the process ends; those in a store alone are fetched whole."""
        if all(file.is_here for file in files):
            return [place(file) for file in files]
        reader = self.reader()
        atexit.register(reader.close)
        return reader.local(files, place)

    # Engine

    @contextmanager
    def working(self, emit: Emit = lambda _: None, *, is_read_only: bool = False) -> Iterator[tuple[Catalog, Engine]]:
        """The catalog and the engine for one operation; Spark stops with it, an engine that was given does not."""
        with ExitStack() as stack:
            engine = self.engine or stack.enter_context(closing(self.spark(emit)))
            yield stack.enter_context(self.catalog(is_read_only=is_read_only)), engine

    def landing_of(self, engine: Engine) -> Callable[[str], Landing | None]:
        """For each partition, what lands the files that tasks put into its store; None if tasks share this disk."""
        pushing = None if engine.shares_disk else self.stores.pushing()
        if pushing is None:
            return lambda _: None
        pushing.lands = True
        return pushing.landing

    def spark(self, emit: Emit = lambda _: None, *, is_kept: bool = False, has_queries: bool = False) -> SparkEngine:
        """Spark, started by its first job; close it. If it `is_kept`, it serves many operations."""
        from tailpipe.collect.events import Started
        from tailpipe.spark.engine import SparkEngine

        return SparkEngine.of(
            self.settings.workspace.spark,
            self.layout(),
            self.environment.cache_dir,
            lambda: emit(Started("", "starting Spark")),
            is_last=self.is_command and not is_kept,
            is_kept=is_kept,
            has_queries=has_queries,
            depot=self.stores.depot,
        )
