"""Tables: typed columns, and how the fields of a format become them and the common `tp_` columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from tailpipe.model.format import Format
from tailpipe.model.names import check_name
from tailpipe.model.option import Declared, description_of, fact, label, nested, option
from tailpipe.model.types import ColumnType, parse_type

__all__ = ["COMMON_COLUMNS", "PATH_COLUMNS", "STAMPED_COLUMNS", "Column", "Table"]


class Column(Declared, kw_only=False):
    """One typed column of a table."""

    name: str = label("Name of the column; a common column such as `tp_timestamp` may be mapped too.")
    type: str | None = option(
        "Type of the column. Without one it is that of the common column, or what a sample shows.",
        default=None,
        check=parse_type,
    )
    description: str | None = option("What the column holds, in a sentence.", default=None)
    source: str | None = option(
        "Field of the format it is taken from, if not the one of its own name; `*` for all fields that have no column,"
        " as one object, `x_*` for those whose names begin so.",
        default=None,
    )
    transform: str | None = option("DuckDB SQL expression over the fields that gives the value.", default=None)
    null_if: str | None = option("Text that means null; wins over the table's.", default=None)
    required: bool = option("Whether a row without a value is rejected.", default=False)
    keys: Literal["camel", "pascal"] | None = option(
        "How JSON spells the fields of a struct, if not as the type does: `camel` for userName, `pascal` for UserName."
        " A transform then gives JSON.",
        default=None,
    )

    def __post_init__(self) -> None:
        if self.type is not None:
            object.__setattr__(self, "type", parse_type(self.type).name)

    @property
    def column_type(self) -> ColumnType | None:
        """The type as a value, or None if it is left to a sample."""
        return parse_type(self.type) if self.type is not None else None


class Table(Declared):
    """Typed columns, and the mapping of a format's fields to them.

    A plugin's author subclasses it and states the fields; a `table` block of the config makes an instance.
    """

    name: str = label("Name of the table.", check=check_name)
    description: str = option("What a row of the table is, in a sentence.", default="")
    format: Format | None = option("Format of the logs, unless the source names its own.", default=None)
    columns: Sequence[Column] = nested("The columns of the table.", block="column", default=())
    map_fields: Sequence[str] = option(
        "Fields without a column block that become columns too; wildcards are allowed.",
        default=(),
        config_default=("*",),
    )
    null_if: str | None = option("Text that means null, in every column.", default=None)

    common: Mapping[str, str] = fact(
        "DuckDB SQL expression over the fields for each common column that the table can fill.", default={}
    )
    nested_keys: Mapping[str, str] = fact(
        "Keys of the JSON fields that only expressions take apart, as a struct for each field; other keys go to the"
        " column of `*`. A key `*` says that the expressions keep all keys of that object.",
        default={},
    )
    layouts: Mapping[str, str] = fact("The file layout to expect, for each type of source.", default={})

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "map_fields", tuple(self.map_fields))
        if not self.description:
            object.__setattr__(self, "description", "" if type(self) is Table else description_of(type(self)))

    def column(self, name: str) -> Column | None:
        """The column of that name, if there is one."""
        return next((column for column in self.columns if column.name == name), None)

    @property
    def maps_time(self) -> bool:
        """Whether it says where a row's `tp_timestamp` comes from."""
        return "tp_timestamp" in self.common or self.column("tp_timestamp") is not None

    @property
    def time_column(self) -> Column | None:
        """The only column of a time that the table has, if there is exactly one."""
        times = [column for column in self.columns if column.type == "timestamp" and not column.name.startswith("tp_")]
        return times[0] if len(times) == 1 else None


COMMON_COLUMNS: tuple[Column, ...] = (
    Column("tp_akas", "varchar[]", "Other names of what the row is about, such as ARNs."),
    Column("tp_date", "date", "Day of `tp_timestamp`, in UTC."),
    Column(
        "tp_destination_ip", "varchar", "Address that the traffic or request went to; null if it is not an IP address."
    ),
    Column("tp_domains", "varchar[]", "Domain names in the row."),
    Column("tp_emails", "varchar[]", "E-mail addresses in the row."),
    Column("tp_id", "varchar", "Identity of the row: the same each time it is collected, never twice."),
    Column(
        "tp_index",
        "varchar",
        "Value by which the partition's files are divided; `default` if it names no column.",
    ),
    Column("tp_ingest_timestamp", "timestamp", "When the row was collected, in UTC."),
    Column("tp_ips", "varchar[]", "All IP addresses in the row; other values are left out."),
    Column("tp_partition", "varchar", "Partition that the row was collected into."),
    Column(
        "tp_source_ip", "varchar", "Address that the traffic or request came from; null if it is not an IP address."
    ),
    Column("tp_source_location", "varchar", "Artifact that the row came from: a path, a key, a log stream."),
    Column("tp_source_name", "varchar", "Bucket, log group or folder that the row came from."),
    Column("tp_source_type", "varchar", "Type of the source, such as `file`."),
    Column("tp_table", "varchar", "Table that the row belongs to."),
    Column("tp_tags", "varchar[]", "Tags in the row."),
    Column("tp_timestamp", "timestamp", "When the event happened, in UTC."),
    Column("tp_usernames", "varchar[]", "Names and ids of users in the row."),
)
"""The columns that every table has, beside its own."""

STAMPED_COLUMNS = frozenset({"tp_id", "tp_date", "tp_ingest_timestamp", "tp_table", "tp_partition"})
"""The common columns that tailpipe fills in itself, whatever a table says."""

PATH_COLUMNS = frozenset(
    [
        "tp_akas",
        "tp_destination_ip",
        "tp_domains",
        "tp_emails",
        "tp_ips",
        "tp_source_ip",
        "tp_source_name",
        "tp_tags",
        "tp_usernames",
    ]
)
"""Those that a group of `file_layout` may fill for all rows of a file; a list then has one value."""
