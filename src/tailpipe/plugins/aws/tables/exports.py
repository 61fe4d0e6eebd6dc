"""What the exports of billing data share: their format, where they lie, and SQL over their fields."""

from __future__ import annotations

from tailpipe.formats import Delimited
from tailpipe.plugin import Column

__all__ = ["EXPORT", "export_layouts", "first_time", "labelled"]

EXPORT = Delimited(name="aws_export", header=True, snake_case=True)
"""CSV with a header, or parquet: the names are spelt alike in both."""


def labelled(name: str, description: str) -> Column:
    """A map: of a field `resource_tags`, as newer exports have it, or of all fields `resource_tags_…`."""
    return Column(name, "json", description, transform=f'coalesce(CAST({name} AS JSON), "{name}_*")')


def first_time(*fields: str) -> str:
    """The first time that is there; in parquet it is no text."""
    return f"coalesce({', '.join(f'{field}::VARCHAR' for field in fields)})"


def export_layouts() -> dict[str, str]:
    """Data files of an export, wherever they lie; the manifests beside them are left alone."""
    layout = "(%{GREEDYDATA:folder}/)?%{DATA:file}[.](csv|csv.gz|csv.zip|parquet)"
    return {"aws_s3_bucket": layout, "file": layout}
