"""Checks of a pack: what every plugin must hold, and the rows of its samples."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tailpipe.config.packs import read_pack
from tailpipe.errors import ConfigError, TailpipeError
from tailpipe.plugin.registry import Registry

__all__ = ["pack_problems"]

_EXPECTED = ".expected.jsonl"
_QUERIES = ".queries.sql"


def pack_problems(folder: Path, registry: Registry | None = None) -> Iterator[str]:
    """Everything that is wrong with a pack; other plugins may bring formats that it uses."""
    from tailpipe.testing.plugins import plugin_problems

    try:
        plugin = read_pack(str(folder.absolute()))
        others = (registry or Registry.installed()).plugins.values()
        around = Registry([*(one for one in others if one.name != plugin.name), plugin])
        problems = list(plugin_problems(plugin, around))
    except ConfigError as error:
        yield from (f"{one.place.file}:{one.place.line}: {one.message}" for one in error.diagnostics)
        return
    except TailpipeError as error:
        yield error.with_hint
        return
    yield from problems
    if not problems:
        yield from _sample_problems(folder, around, [name for name, _ in plugin.parts("table")])


def _sample_problems(folder: Path, registry: Registry, tables: list[str]) -> Iterator[str]:
    from tailpipe.testing.feeding import sample_problems  # it loads the kernel

    samples = folder / "samples"
    expected = sorted(samples.glob(f"*{_EXPECTED}"))
    cases = [path.name.removesuffix(_EXPECTED) for path in expected]
    for path, name in zip(expected, cases, strict=True):
        table = name.partition(".")[0]
        logs = [one for one in samples.glob(f"{name}.*") if not one.name.endswith((_EXPECTED, _QUERIES))]
        longer = tuple(f"{case}." for case in cases if case.startswith(f"{name}."))  # they have these logs
        logs = [one for one in logs if not one.name.startswith(longer)]
        if table not in tables or len(logs) != 1:
            what = f'there is no table "{table}"' if table not in tables else f"one log {name}.EXTENSION is expected"
            yield f"samples/{path.name}: {what}"
            continue
        yield from sample_problems(f"samples/{logs[0].name}", registry.tables[table], logs[0], path)
    covered = {path.name.partition(".")[0] for path in expected}
    yield from (f'table "{name}": there is no sample samples/{name}.log' for name in tables if name not in covered)
