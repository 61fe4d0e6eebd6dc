"""The pages of tables that are shipped in packs: `python -m tests.table_pages` writes them from the declarations."""

from __future__ import annotations

from pathlib import Path

from tailpipe.plugin import Plugin, Registry, Table

PAGES = Path(__file__).parents[1] / "docs" / "tables"


def pack_tables(registry: Registry) -> dict[str, tuple[Plugin, Table]]:
    """The tables of the built-in packs, by name."""
    packs = [plugin for plugin in registry.plugins.values() if plugin.folder]
    return {name: (plugin, registry.tables[name]) for plugin in packs for name, _ in plugin.parts("table")}


def page(table: Table) -> str:
    """The page of a table."""
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
        f"{where}## Columns\n\n{key}| column | type | from | meaning |\n|---|---|---|---|\n{columns}\n"
        f"## Common columns\n\n| column | from |\n|---|---|\n{common}"
    )


def _origin(source: str | None, transform: str | None, name: str) -> str:
    return f"`{_escaped(transform)}`" if transform else f"`{source or name}`"


def _shown(given: object) -> str:
    parts = [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]
    return ", ".join(f"`{_escaped(part)}`" for part in parts)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the pages."""
    for name, (_, table) in pack_tables(Registry.installed()).items():
        (PAGES / f"{name}.md").write_text(page(table), encoding="utf-8")


if __name__ == "__main__":
    main()
