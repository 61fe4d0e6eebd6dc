"""The pages of tables that are shipped in packs: `python -m tests.table_pages` writes them from the declarations.

The queries of a page are in `samples/TABLE.queries.sql` of the pack: statements, each below a comment that is its
title.
"""

from __future__ import annotations

import re
from pathlib import Path

from tailpipe.model.table import ANY_BUCKET
from tailpipe.plugin import Plugin, Registry, Table
from tailpipe.plugins.http.source import HttpSource

DOCS = Path(__file__).parents[1] / "docs"
PAGES = DOCS / "tables"
CONTAINERS = {
    "azure_activity_log": "insights-activity-logs",
    "azure_audit_log": "insights-logs-auditlogs",
    "azure_graph_activity_log": "insights-logs-microsoftgraphactivitylogs",
    "azure_signin_log": "insights-logs-signinlogs",
    "azure_vnet_flow_log": "insights-logs-flowlogflowevent",
}
"""The containers that diagnostic settings and flow logs write to."""
_TITLE = re.compile(r"^-- (.+)\n", re.MULTILINE)
_LONGEST = 120


def pack_tables(registry: Registry) -> dict[str, tuple[Plugin, Table]]:
    """The tables of the built-in packs, by name."""
    packs = [plugin for plugin in registry.plugins.values() if plugin.folder]
    return {name: (plugin, registry.tables[name]) for plugin in packs for name, _ in plugin.parts("table")}


def presets_of(table: str, registry: Registry) -> dict[str, str]:
    """The sources that request a table from an API, each with the name of its page."""
    found = {}
    for name, source in sorted(registry.sources.items()):
        if issubclass(source, HttpSource) and table in source.tables:
            found[name] = next(one.name for one in (DOCS / "apis").glob("*.md") if f"- `{name}` " in one.read_text())
    return found


def queries(folder: str | None, table: str) -> dict[str, str]:
    """The queries of a table, by their titles."""
    path = Path(folder or "") / "samples" / f"{table}.queries.sql"
    parts = _TITLE.split(path.read_text(encoding="utf-8"))[1:] if path.is_file() else []
    return {title: sql.strip().removesuffix(";") for title, sql in zip(parts[::2], parts[1::2], strict=True)}


def page(table: Table, plugin: Plugin, registry: Registry) -> str:
    """The page of a table."""
    presets = presets_of(table.name, registry)
    apis = ", ".join(f"[`{source}`](../apis/{where})" for source, where in presets.items())
    api = f"Or from the API: {apis}.\n\n" if apis else ""
    api = f"{_bucket(table, plugin.name)}{api}"
    asked = "".join(f"{title}:\n\n```sql\n{sql}\n```\n\n" for title, sql in queries(plugin.folder, table.name).items())
    questions = f"## Queries\n\n{asked}" if asked else ""
    columns = "".join(
        f"| `{column.name}` | {column.type} | {_origin(column.source, column.transform, column.name)}"
        f" | {column.description} |\n"
        for column in table.columns
        if not column.name.startswith("tp_")
    )
    common = "".join(f"| `{name}` | {_shown(given)} |\n" for name, given in table.common.items())
    key = f"A row is identified by {', '.join(f'`{name}`' for name in table.row_key)}.\n\n" if table.row_key else ""
    layouts = "".join(f"- `{source}`: `{layout}`\n" for source, layout in table.layouts.items())
    where = f"## Layouts\n\n{layouts}\n" if layouts else ""
    return (
        f"# {table.name}\n\n{table.description}\n\n## Collect it\n\n```hcl\n"
        f'partition "{table.name}" "files" {{\n'
        f'  source "file" {{\n    paths = ["~/logs/{table.name}"]\n  }}\n}}\n```\n\n'
        f"{api}{where}{questions}## Columns\n\n{key}| column | type | from | meaning |\n|---|---|---|---|\n{columns}\n"
        f"## Common columns\n\n| column | from |\n|---|---|\n{common}"
    )


def _bucket(table: Table, plugin: str) -> str:
    """How to collect a table from a bucket."""
    if ANY_BUCKET not in table.layouts:
        return ""
    match plugin:
        case "gcp":
            block = 'source "gcp_storage_bucket" {\n    bucket = "org-logs"\n  }'
            page = "[Google Cloud](../gcp.md)"
        case "azure":
            container = CONTAINERS.get(table.name, "exports")
            block = 'source "azure_blob_storage" {\n    account_name = "acmelogs"\n'
            block += f'    container    = "{container}"\n  }}'
            page = "[Azure](../azure.md)"
        case _:
            return "Or from a bucket: [AWS](../aws.md), [Google Cloud](../gcp.md), [Azure](../azure.md).\n\n"
    return f'Or from a bucket, see {page}:\n\n```hcl\npartition "{table.name}" "bucket" {{\n  {block}\n}}\n```\n\n'


def _origin(source: str | None, transform: str | None, name: str) -> str:
    return _sql(transform) if transform else f"`{source or name}`"


def _shown(given: object) -> str:
    parts = [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]
    return ", ".join(dict.fromkeys(_sql(part) for part in parts))


def _sql(text: str) -> str:
    """An expression, unless it is too long to be read in a table."""
    return f"`{_escaped(text)}`" if len(text) <= _LONGEST else "an expression"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def index(registry: Registry) -> str:
    """The list of all tables, by the plugin that brings them."""
    groups = [plugin for plugin in registry.plugins.values() if plugin.parts("table")]
    groups.sort(key=lambda plugin: _title(plugin).lower())
    parts = []
    for plugin in groups:
        tables = (registry.tables[name] for name in sorted(name for name, _ in plugin.parts("table")))
        lines = "".join(f"- [{table.name}]({table.name}.md): {_first_sentence(table)}\n" for table in tables)
        parts.append(f"\n## {_title(plugin)}\n\n{lines}")
    count = sum(len(plugin.parts("table")) for plugin in groups)
    return (
        f"# Tables of the built-in plugins\n\n{count} tables, by product. `tailpipe table show NAME` lists the columns"
        " with their types.\nAll tables also have the [common columns](../reference/types.md#common-columns), so that"
        " one query can read all of them.\n" + "".join(parts)
    )


def _first_sentence(table: Table) -> str:
    return table.description.partition(". ")[0].removesuffix(".") + "."


def _title(plugin: Plugin) -> str:
    return plugin.description.removesuffix(".").removesuffix(" logs").removeprefix("Logs of ")


def main() -> None:
    """Write the pages."""
    registry = Registry.installed()
    (PAGES / "README.md").write_text(index(registry), encoding="utf-8")
    for name, (plugin, table) in pack_tables(registry).items():
        (PAGES / f"{name}.md").write_text(page(table, plugin, registry), encoding="utf-8")


if __name__ == "__main__":
    main()
