"""Texts → config: names are gathered over all files, then every block is decoded and checked."""

from __future__ import annotations

import dataclasses
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from tailpipe.config.config import Config, config_field
from tailpipe.config.convert import Reference
from tailpipe.config.dashboard import Dashboard, dashboard_problems
from tailpipe.config.dataset import Dataset
from tailpipe.config.decoder import Decoder
from tailpipe.config.for_each import ForEach, once
from tailpipe.config.former import former_block, former_label
from tailpipe.config.functions import Surroundings
from tailpipe.config.parser import parse
from tailpipe.config.partitions import completed, partition_problems
from tailpipe.config.saved import SavedQueries
from tailpipe.config.scope import LABELS, Located, Scope
from tailpipe.config.settings import WorkspaceSettings
from tailpipe.config.syntax import Block
from tailpipe.config.tables import extended, mapped, path_problems, reversed_names, table_problems
from tailpipe.config.text import ConfigText, Problem
from tailpipe.errors import ConfigError, Diagnostic, Note
from tailpipe.model.detection import HIT_TABLE, Detection, DetectionSet, SigmaRules
from tailpipe.model.format import Format
from tailpipe.model.nearest import did_you_mean
from tailpipe.model.notifier import NOTIFIERS
from tailpipe.model.partition import Partition, Schema
from tailpipe.model.saved import QueryDirectory, SavedQuery
from tailpipe.model.store import Store, index_names
from tailpipe.model.table import Table
from tailpipe.plugin.lazy import LazyMap
from tailpipe.plugin.registry import Registry

if TYPE_CHECKING:
    from tailpipe.config.vocabulary import Vocabulary

_IN_PACKS = ("detection", "format", "table")


def build_config(
    texts: Sequence[ConfigText],
    registry: Registry,
    around: Surroundings,
    found: Sequence[Diagnostic] = (),
    *,
    is_pack: bool = False,
) -> Config:
    """The config that the texts say, or a `ConfigError` with every problem of all of them.

    `found` are problems from before, such as files that could not be read. The texts of a pack have tables, detections
    and formats, which may be its own presets, and nothing else.
    """
    return _Builder(registry, around, list(found), is_pack=is_pack).build(texts)


class _Builder:
    def __init__(self, registry: Registry, around: Surroundings, found: list[Diagnostic], *, is_pack: bool) -> None:
        self.registry = registry
        self.is_pack = is_pack
        classes: dict[str, Mapping[str, type]] = {
            "connection": registry.connections,
            "format": registry.formats,
            "source": registry.sources,
            "notifier": NOTIFIERS,
        }
        single: dict[str, type] = {
            "workspace": WorkspaceSettings,
            "store": Store,
            "table": Table,
            "partition": Partition,
            "schema": Schema,
            "dataset": Dataset,
            "query": SavedQuery,
            "queries": QueryDirectory,
            "detection": Detection,
            "detections": DetectionSet,
            "sigma": SigmaRules,
            "dashboard": Dashboard,
        }
        every = {**classes, **{kind: {"*": declared} for kind, declared in single.items()}}
        makers: dict[Reference, Callable[[], Any]] = {
            Reference("connection", (name, "default")): partial(lambda named: registry.connections[named](), name)
            for name in registry.connections
        }
        for name in registry.presets:
            type_, _, label = name.partition(".")
            makers[Reference("format", (type_, label))] = partial(registry.presets.__getitem__, name)
        made = LazyMap(makers)
        self.single = single
        self.made = made
        self.scope = Scope(around, every, made)
        self.in_sql: dict[tuple[str, str], Reference] = {}
        self.decoder = Decoder(classes, self.scope.evaluate, self._resolve, problems=found)
        self.for_each = ForEach(self.scope, self.decoder.report, self._gather)
        self.scope.members = self.for_each.members
        self.decoded: dict[Reference, Any] = {}
        self.decoding: list[Reference] = []
        self.reversed: set[str] = set()
        self.classes = classes
        self.saved = SavedQueries(around.home, found.append)
        self.from_files: dict[str, SavedQuery] = {}

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names of all blocks and arguments, so that values of others can be hidden."""
        from tailpipe.config.vocabulary import vocabulary_of  # late, because most configs have no problem to show

        types = (declared for by_type in self.classes.values() for declared in by_type.values())
        return vocabulary_of([*types, *self.single.values()], LABELS)

    def build(self, texts: Sequence[ConfigText]) -> Config:
        for text in texts:
            text.hide(lambda: self.vocabulary)
            body, problems = parse(text.text)
            self.decoder.report_all(text, problems)
            for attribute in body.attributes:
                hint = "arguments stand inside a block"
                self.decoder.report(text, Problem(f'"{attribute.name}" must be inside a block', attribute.span, hint))
            for block in body.blocks:
                self._gather(text, block)
        self.for_each.expand(texts)
        for reference in sorted(self.scope.blocks, key=lambda reference: list(LABELS).index(reference.kind)):
            self._resolve(reference)
        for reference, value in self.decoded.items():
            self._check(reference, value)
        self._check_stores()
        self._read_directories()
        self._check_dashboards()
        if self.decoder.problems:
            raise ConfigError(tuple(once(sorted([*self.decoder.problems, *self.decoder.unresolved], key=_order))))
        return self._config(texts)

    def _gather(self, text: ConfigText, block: Block) -> None:
        if self.is_pack and block.type == "plugin":
            return
        if self.is_pack and block.type not in _IN_PACKS:
            hint = "a pack has tables, formats and detections; the rest belongs into the config of whoever uses it"
            self.decoder.report(text, Problem(f'a pack has no block "{block.type}"', block.span, hint))
            return
        if block.type not in LABELS:
            hint = former_block(block.type) or did_you_mean(block.type, LABELS, "there are: " + ", ".join(LABELS))
            self.decoder.report(text, Problem(f'unknown block "{block.type}"', block.span, hint))
            return
        if hint := former_label(block):
            label = block.labels[0]
            self.decoder.report(text, Problem(f'unknown table "{label.text}"', label.span, hint))
            return
        if self.for_each.takes(text, block, is_pack=self.is_pack):
            return
        labels = tuple(label.text for label in block.labels)
        reference = Reference(block.type, labels)
        if len(labels) != LABELS[block.type]:
            # The decoder says what is wrong with them; such a block cannot be referred to.
            reference = Reference(block.type, (*labels, f"#{len(self.scope.blocks)}"))
        elif reference in self.scope.blocks:
            self.for_each.twice(text, block, self.scope.blocks[reference])
            return
        elif reference in self.made and block.type == "format" and not self.is_pack:
            hint = f"presets cannot be changed; give yours another name than {labels[1]}"
            self.decoder.report(text, Problem(f"{reference} is a preset", block.labels[1].span, hint))
            return
        elif reference.kind in ("table", "schema") and (twin := self.in_sql.get((block.type, labels[0].lower()))):
            # DuckDB ignores case.
            first = self.scope.blocks[twin]
            note = Note("first defined here", first.text.place(first.block.span))
            message = f'{block.type} "{labels[0]}" and "{twin.labels[0]}" are the same in SQL, which knows no cases'
            self.decoder.report(text, Problem(message, block.labels[0].span, "give it another name"), note)
            return
        self.scope.blocks[reference] = Located(text, block)
        self.in_sql.setdefault((block.type, reference.labels[0].lower()), reference)

    def _resolve(self, reference: Reference) -> Any:
        """The decoded block, decoded now if it was not yet."""
        located = self.scope.blocks.get(reference)
        if located is None:
            return self.made[reference]
        if reference in self.decoding:
            circle = [*self.decoding[self.decoding.index(reference) :], reference]
            raise ValueError("the block depends on itself: " + " → ".join(map(str, circle)))
        if reference not in self.decoded:
            declared = self.single.get(reference.kind) or self.decoder.type_of(located.text, located.block)
            self.decoding.append(reference)
            value = self.decoder.decode(located.text, located.block, declared, str(reference)) if declared else None
            self.decoded[reference] = self._extended(reference, value) if isinstance(value, Table) else value
            self.decoding.pop()
        return self.decoded[reference]

    # Checks across options

    def _check(self, reference: Reference, value: Any) -> None:
        located = self.scope.blocks[reference]
        if reference.kind == "table":
            if reference.labels[0] == HIT_TABLE:
                hint = "tailpipe detect writes this table; give yours another name"
                problem = Problem(f'table "{HIT_TABLE}" is built in', located.block.labels[0].span, hint)
                self.decoder.report(located.text, problem)
            self.decoder.report_all(located.text, table_problems(value, located.block, self.registry.sources))
            if value is not None:
                self._check_mapping(located, value, value.format)
        elif reference.kind == "partition" and len(located.block.labels) == LABELS["partition"]:
            self._check_partition(reference.labels[0], value, located)
        if isinstance(value, Partition):
            self.decoded[reference] = completed(value, self._table(value.table))
        elif isinstance(value, Table):
            self.decoded[reference] = mapped(value)
        elif isinstance(value, SavedQuery):
            self.decoded[reference] = self.saved.query(located.text, located.block, value)
        elif isinstance(value, Detection | DetectionSet | SigmaRules):
            self._check_detection(located, value)
        if isinstance(value, SigmaRules):
            paths = tuple(str(self.saved.path(located.text, one)) for one in value.paths)
            self.decoded[reference] = dataclasses.replace(value, paths=paths)

    def _check_detection(self, located: Located, value: Detection | DetectionSet | SigmaRules) -> None:
        from tailpipe.config.detections import problems_of  # late, because most configs have none

        found = problems_of(value, located.block, self._known_tables(), self._table, self.registry.detections)
        self.decoder.report_all(located.text, found)

    def _known_tables(self) -> list[str]:
        return [*self.registry.tables, *(one.labels[0] for one in self.scope.blocks if one.kind == "table")]

    def _read_directories(self) -> None:
        """Take the saved queries of all directories; a name that is taken is reported."""
        first = {
            reference.labels[0]: located.text.place(located.block.span)
            for reference, located in self.scope.blocks.items()
            if reference.kind == "query"
        }
        for reference, value in self.decoded.items():
            if not isinstance(value, QueryDirectory):
                continue
            located = self.scope.blocks[reference]
            for place, query in self.saved.directory(located.text, located.block, value):
                if query.name in first:
                    self.saved.twice(query, place, first[query.name])
                else:
                    first[query.name], self.from_files[query.name] = place, query

    def _check_dashboards(self) -> None:
        dashboards = {one: value for one, value in self.decoded.items() if isinstance(value, Dashboard)}
        if not dashboards:
            return
        blocks = {one.labels[0]: self.decoded[one] for one in self.scope.blocks if one.kind == "query"}
        queries = ChainMap(self.from_files, blocks, self.registry.queries)  # type: ignore[arg-type] # only read
        for reference, dashboard in dashboards.items():
            located = self.scope.blocks[reference]
            self.decoder.report_all(located.text, dashboard_problems(dashboard, located.block, queries))

    def _check_stores(self) -> None:
        stores, workspaces, partitions = (self._of_kind(kind) for kind in ("store", "workspace", "partition"))
        if not stores and not any(index_names(one.partition_by) for one in workspaces if one is not None):
            return
        if None in (*workspaces, *partitions):
            return  # who uses a store is not known; the problems of each are told
        from tailpipe.config.stores import store_problems  # late, because most configs have no store

        for problem in store_problems([one for one in stores if one is not None], workspaces, partitions):
            text, span = self.decoder.spans[problem.address]
            notes = []
            if problem.first:
                first, place = self.decoder.spans[problem.first]
                notes = [Note("the other is here", first.place(place))]
            self.decoder.report(text, Problem(problem.message, span, problem.hint), *notes)

    def _of_kind(self, kind: str) -> list[Any]:
        return [value for reference, value in self.decoded.items() if reference.kind == kind]

    def _table(self, name: str) -> Table | None:
        """The table of that name: of the config, or of a plugin."""
        reference = Reference("table", (name,))
        table: Table | None = self._resolve(reference) if reference in self.scope.blocks else None
        return table or self.registry.tables.get(name)

    def _extended(self, reference: Reference, table: Table) -> Table | None:
        """A table with what it takes from the one that it extends; None if there is no such table."""
        if table.extend is None:
            return table
        name, own = table.extend, Reference("table", (table.extend,))
        text, span = self.decoder.spans[f"{reference}.extend"]
        known = self._known_tables()
        if name not in known:
            problem = Problem(f'unknown table "{name}"', span, did_you_mean(name, known, "see: tailpipe table list"))
        elif own == reference and name not in self.registry.tables:
            problem = Problem(f'table "{name}" extends itself', span, "name another table")
        else:
            try:
                base = self.registry.tables[name] if own == reference else self._table(name)
            except ValueError as error:
                problem = Problem(str(error), span)
            else:
                return extended(table, base) if base is not None else None
        self.decoder.report(text, problem)
        return None

    def _check_partition(self, name: str, partition: Partition | None, located: Located) -> None:
        own = Reference("table", (name,))
        declared = self.scope.blocks.get(own)
        table = self.decoded.get(own) or self.registry.tables.get(name)
        if table is None and declared is None:
            hint = did_you_mean(name, self._known_tables(), f'define it: table "{name}" {{ … }}, or install its plugin')
            self.decoder.report(located.text, Problem(f'unknown table "{name}"', located.block.labels[0].span, hint))
        if table is None or partition is None:
            return  # the problems of each are told
        problems = partition_problems(partition, located.block, table, declared.block if declared else None)
        self.decoder.report_all(located.text, problems)
        for source in partition.sources:
            if source.format is not None and declared is not None:
                self._check_mapping(declared, table, source.format)

    def _check_mapping(self, located: Located, table: Table, format: Format | None) -> None:
        """Check the fields that a table names against the format; each problem is reported once."""
        for problem in path_problems(table, format, located.block):
            diagnostic = located.text.diagnostic(problem)
            if diagnostic not in self.decoder.problems:
                self.decoder.problems.append(diagnostic)
        fix = reversed_names(table, format)
        address = f"format.{format.type}.{format.name}.field_map" if format is not None else ""
        if fix and address in self.decoder.spans and address not in self.reversed:
            self.reversed.add(address)
            text, span = self.decoder.spans[address]
            message = f'the table "{table.name}" has columns of these names: the map is the wrong way round'
            self.decoder.report(text, Problem(message, span, f'write name = "field in the log": {fix}'))

    def _config(self, texts: Sequence[ConfigText]) -> Config:
        fields: dict[str, dict[str, Any]] = {config_field(kind): {} for kind in LABELS}
        for reference, value in self.decoded.items():
            fields[config_field(reference.kind)][".".join(reference.labels)] = value
        fields["queries"].update(self.from_files)
        return Config(**fields, files=tuple(text.name for text in texts), spans=self.decoder.spans)


def _order(diagnostic: Diagnostic) -> tuple[str, int, int]:
    return (diagnostic.place.file, diagnostic.place.line, diagnostic.place.column)
