"""Checks of a plugin: names, descriptions, SQL, pickling, imports, and what it does with garbage."""

from __future__ import annotations

import inspect
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tailpipe.errors import UsageError
from tailpipe.model.connection import Connection
from tailpipe.model.event import EVENT_COLUMNS
from tailpipe.model.option import description_of, options_of
from tailpipe.model.outputs import COMMON_TYPES
from tailpipe.model.source import Source
from tailpipe.model.table import Table
from tailpipe.model.window import Window
from tailpipe.plugin import Plugin, Registry
from tailpipe.plugin.plugin import load_part
from tailpipe.sql.check import check_table
from tailpipe.testing.formats import format_problems

__all__ = ["HEAVY", "check_plugin", "plugin_problems"]

HEAVY = ("pyspark", "duckdb", "_duckdb", "pyarrow", "pandas", "numpy", "boto3", "botocore", "obstore", "click", "rich")
"""Modules that a plugin may import only inside the functions that need them."""

_GENERAL = ("core", "http")
"""Built-in plugins for logs of any product: their names begin with that of the product."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_COMMON = frozenset(COMMON_TYPES)


def check_plugin(
    plugin: Plugin | Path, *, sources: Sequence[Source] = (), window: Window | None = None, golden: Path | None = None
) -> None:
    """Raise `AssertionError` with everything that is wrong with a plugin; one call is a whole test.

    Checked are names, descriptions, the SQL of tables, that everything can be pickled to the workers, that
    default connections can be made, that importing the plugin's modules imports nothing heavy, and that its formats
    and tables reject garbage instead of failing.

    The `sources` are listed for the `window`, yesterday if not given, and some of their artifacts are read. `golden` is
    a directory of logs and the rows that become of them: `TABLE/CASE.in.EXTENSION` and `TABLE/CASE.rows.jsonl`.

    For a pack, give its folder: its samples are run, too.
    """
    if isinstance(plugin, Path) or plugin.folder:
        from tailpipe.testing.packs import pack_problems

        folder = plugin if isinstance(plugin, Path) else Path(plugin.folder)
        found = list(pack_problems(folder))
        if found:
            raise AssertionError(f'pack "{folder}":\n  ' + "\n  ".join(found))
        return
    problems = [*plugin_problems(plugin, Registry([plugin])), *_heavy_imports(plugin)]
    if not problems:
        from tailpipe.testing import feeding  # it loads the kernel

        problems += feeding.garbage_problems(plugin)
        for source in sources:
            problems += feeding.source_problems(source, window)
        if golden is not None:
            problems += feeding.golden_problems(plugin, golden)
    if problems:
        raise AssertionError(f'plugin "{plugin.name}":\n  ' + "\n  ".join(problems))


def plugin_problems(plugin: Plugin, registry: Registry) -> Iterator[str]:
    """What is wrong with the names, descriptions and SQL of a plugin; the registry knows what it refers to."""
    if not _NAME.fullmatch(plugin.name):
        yield f'the name "{plugin.name}" is not lower case letters, digits and _'
    if not plugin.description:
        yield "it has no description"
    for declared in _types(plugin):
        yield from _type_problems(plugin, declared)
    for name, _ in plugin.parts("table"):
        yield from _table_problems(plugin, registry.tables[name])
    yield from format_problems(plugin)
    for name, part in plugin.parts("query"):
        try:
            if not load_part("query", part).title:
                yield f'saved query "{name}": it has no title'
        except (OSError, ValueError, UsageError) as error:
            yield f'saved query "{name}": {error}'
    for preset in (registry.presets[name] for name, _ in plugin.parts("preset")):
        if pickle.loads(pickle.dumps(preset)) != preset:  # noqa: S301 - our own bytes
            yield f"the preset {preset.address} does not survive pickling"


def _type_problems(plugin: Plugin, declared: type[Any]) -> Iterator[str]:
    what = f'{declared.__mro__[1].__name__.lower()} "{declared.type}"'
    if not _NAME.fullmatch(declared.type):
        yield f"{what}: the type is not lower case letters, digits and _"
    if (
        issubclass(declared, Source | Connection)
        and plugin.name not in _GENERAL
        and not _has_prefix(declared.type, plugin)
    ):
        yield f'{what}: the name does not begin with "{plugin.name}"'
    if not description_of(declared):
        yield f"{what}: the class has no docstring"
    for option in options_of(declared).values():
        if not option.description.strip():
            yield f'{what}: the option "{option.name}" has no description'
        if issubclass(declared, Connection) and option.is_required:
            yield f'{what}: the option "{option.name}" has no default, so there can be no default connection'
    for name in declared.event_fields if issubclass(declared, Source) else ():
        if not _NAME.fullmatch(name) or f"_{name}" in EVENT_COLUMNS:
            yield f'{what}: the event field "{name}" is taken, or is not lower case letters, digits and _'
    if inspect.isabstract(declared):
        yield f"{what}: it lacks {', '.join(sorted(declared.__abstractmethods__))}"
    pickle.dumps(declared)


def _table_problems(plugin: Plugin, table: Table) -> Iterator[str]:
    what = f'table "{table.name}"'
    if not _NAME.fullmatch(table.name) or not _has_prefix(table.name, plugin):
        yield f'{what}: the name does not begin with "{plugin.name}_"'
    if not table.description:
        yield f"{what}: it has no description"
    if not table.maps_time:
        yield f"{what}: it does not map tp_timestamp"
    names = [column.name for column in table.columns]
    yield from (f'{what}: the column "{name}" is duplicated' for name in set(names) if names.count(name) > 1)
    for column in table.columns:
        if column.type is None and column.name not in _COMMON:
            yield f'{what}: the column "{column.name}" has no type'
        if not column.description and column.name not in _COMMON:
            yield f'{what}: the column "{column.name}" has no description'
    unknown = [name for name in table.common if name not in _COMMON]
    yield from (f'{what}: there is no common column "{name}"' for name in unknown)
    for problem in () if unknown else check_table(table):
        hint = f" ({problem.hint})" if problem.hint else ""
        yield f"{what}: {problem.address}: {problem.message}{hint}"
    if pickle.loads(pickle.dumps(table)) != table:  # noqa: S301 - our own bytes
        yield f"{what}: it does not survive pickling"


def _types(plugin: Plugin) -> list[type[Any]]:
    return [*plugin.loaded("source"), *plugin.loaded("format"), *plugin.loaded("connection")]


def _has_prefix(name: str, plugin: Plugin) -> bool:
    return name == plugin.name or name.startswith(f"{plugin.name}_")


def _heavy_imports(plugin: Plugin) -> Iterator[str]:
    """Import the plugin's modules in a fresh interpreter and look at what came along."""
    parts = (*_types(plugin), *(type(table) for table in plugin.loaded("table")))
    modules = sorted({part.__module__ for part in parts if part.__module__ != "__main__"})
    code = (
        "import importlib, sys\n"
        f"sys.path[:0] = {sys.path!r}\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    if done.returncode:
        yield "its modules cannot be imported: " + done.stderr.strip().splitlines()[-1]
    for name in done.stdout.split():
        yield f"importing it imports {name}; do that inside the function that needs it"
