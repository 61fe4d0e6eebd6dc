"""Partitions: checks that need the table, and the defaults that the table gives."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from tailpipe.config.syntax import Block, Span
from tailpipe.config.tables import says
from tailpipe.config.text import Problem
from tailpipe.model.option import construct
from tailpipe.model.partition import Partition
from tailpipe.model.source import Source
from tailpipe.model.table import Table


def partition_problems(
    partition: Partition, block: Block, table: Table, table_block: Block | None
) -> Iterable[Problem]:
    """What is wrong with a partition; `table_block` is that of its table, if the config has it."""
    inner = block.inner("source")
    names: dict[str, Span] = {}
    for source, source_block in zip(partition.sources, inner, strict=True):
        span = source_block.labels[-1].span
        if source.name and source.name in names:
            note = ("first here", names[source.name])
            yield Problem(f'two sources are named "{source.name}"', span, "give each its own name", note)
        names.setdefault(source.name, span)
    if partition.dedupe and not partition.dedupe_key and not table.row_key:
        span = (block.attribute("dedupe") or block).span
        yield Problem(f'table "{table.name}" has no row_key', span, 'name the columns: dedupe_key = ["…"]')
    for source, source_block in zip(partition.sources, inner, strict=True):
        if source.format is None and table.format is None and not _says_format(source_block, table_block):
            hint = "add one to the source, or to the table: format = format.jsonl.default"
            yield Problem(f'neither the source nor table "{table.name}" has a format', source_block.span, hint)


def _says_format(*blocks: Block | None) -> bool:
    """Whether a format is named that could not be made; its own block reports why."""
    return any(says(block, "format") or block.inner("format") for block in blocks if block)


def completed(partition: Partition, table: Table | None) -> Partition:
    """The partition with names for its sources, and with what it does not say itself as its table says it."""
    index = table.tp_index if partition.tp_index is None and table is not None else partition.tp_index
    key = partition.dedupe_key
    if partition.dedupe and not key and table is not None:
        key = table.row_key
    return dataclasses.replace(partition, sources=_named(partition.sources), tp_index=index, dedupe_key=key)


def _named(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Give each source without a name its type's, then `type_2` and so on."""
    taken = {source.name for source in sources if source.name}
    named: list[Source] = []
    for source in sources:
        name, count = source.name or source.type, 1
        while not source.name and name in taken:
            count += 1
            name = f"{source.type}_{count}"
        taken.add(name)
        fields = {field.name: getattr(source, field.name) for field in dataclasses.fields(source)}
        named.append(construct(type(source), {**fields, "name": name}))
    return tuple(named)
