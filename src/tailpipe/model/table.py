"""Tables: typed columns, and how the fields of a format become them and the common `tp_` columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from tailpipe.model.format import Format
from tailpipe.model.names import Spelling, check_name, spelt
from tailpipe.model.ocsf import OcsfEvents
from tailpipe.model.option import Declared, description_of, fact, label, nested, option
from tailpipe.model.times import check_time_formats
from tailpipe.model.types import ColumnType, parse_type

if TYPE_CHECKING:
    from tailpipe.model.source import Source

ANY_BUCKET = "any_bucket"
"""The layout of objects in every kind of bucket that has none of its own."""
_REST = "Everything in the record that has no column of its own."


class Column(Declared, kw_only=False):
    """One typed column of a table."""

    name: str = label("Name of the column; a common column such as `tp_timestamp` may be mapped too.")
    type: str | None = option(
        "Type of the column. Without one it is that of the common column, or what a sample shows.",
        default=None,
        check=parse_type,
    )
    description: str | None = option("Description of the column, in a sentence.", default=None)
    source: str | None = option(
        "Field of the format; defaults to the field of the same name. In JSON it may be a path: `actor.name`,"
        " `target[*].id`. `*` is all fields that have no column, as one object, `x_*` those whose names begin so.",
        default=None,
    )
    transform: str | None = option("DuckDB SQL expression over the fields that computes the value.", default=None)
    null_if: str | None = option("Text that means null; wins over the table's.", default=None)
    required: bool = option("Whether a row without a value is rejected.", default=False)
    keys: Literal["camel", "pascal"] | None = option(
        "Case of the keys in JSON: `camel` for userName, `pascal` for UserName. A transform then returns JSON.",
        default=None,
    )
    time_format: str | Sequence[str] | None = option(
        "How the time is written, or a list of ways, tried in order: a format of strptime such as `%d/%b/%Y %H:%M:%S`,"
        " `iso`, `epoch_s`, `epoch_ms`, `epoch_us` or `epoch_ns`.",
        default=None,
        check=check_time_formats,
    )

    def __post_init__(self) -> None:
        if self.time_format is not None:
            formats = (self.time_format,) if isinstance(self.time_format, str) else tuple(self.time_format)
            object.__setattr__(self, "time_format", formats[0] if len(formats) == 1 else formats)
            if self.type is None and not self.name.startswith("tp_"):
                object.__setattr__(self, "type", "timestamp")
        if self.type is not None:
            object.__setattr__(self, "type", parse_type(self.type).name)

    @property
    def column_type(self) -> ColumnType | None:
        """The type as a value, or None if it is left to a sample."""
        return parse_type(self.type) if self.type is not None else None


def spelt_column(column: Column, keys: Spelling) -> Column:
    """The column with its field spelt in camel case or Pascal case, `event_name` as `eventName`, unless it says one."""
    source = column.source if column.source or column.transform else spelt(column.name, keys)
    is_nested = "struct(" in (column.type or "") and column.transform is None
    return replace(column, source=source, keys=column.keys or (keys if is_nested else None))


def _common(meaning: str) -> str | Sequence[str] | None:
    given: str | Sequence[str] | None = option(meaning, default=None, takes_paths=True)
    return given


class CommonColumns(Declared):
    """Where the common columns come from: paths into the record, or SQL in quotes.

    A list column takes a list of them: each value that is there, once. Any other column takes the first that is there.
    """

    tp_timestamp: str | Sequence[str] | None = _common("When the event happened; required.")
    tp_source_ip: str | Sequence[str] | None = _common("Address that the traffic or request came from.")
    tp_destination_ip: str | Sequence[str] | None = _common("Address that the traffic or request went to.")
    tp_ips: str | Sequence[str] | None = _common("All IP addresses in the row.")
    tp_usernames: str | Sequence[str] | None = _common("Names and ids of users in the row.")
    tp_emails: str | Sequence[str] | None = _common("E-mail addresses in the row.")
    tp_domains: str | Sequence[str] | None = _common("Domain names in the row.")
    tp_akas: str | Sequence[str] | None = _common("Other names of what the row is about, such as ARNs.")
    tp_tags: str | Sequence[str] | None = _common("Tags in the row.")
    tp_source_name: str | Sequence[str] | None = _common("Bucket, log group or folder that the row came from.")
    tp_source_location: str | Sequence[str] | None = _common("Artifact that the row came from.")
    tp_source_type: str | Sequence[str] | None = _common("Type of the source.")
    tp_host: str | Sequence[str] | None = _common("Machine or resource that wrote the row.")
    tp_service: str | Sequence[str] | None = _common("Product or program that wrote the row.")
    tp_level: str | Sequence[str] | None = _common("Level or severity of the row, in lower case.")
    tp_message: str | Sequence[str] | None = _common("Text of the row for people.")
    tp_outcome: str | Sequence[str] | None = _common("Whether it worked: `success`, `failure` or `unknown`.")

    @property
    def given(self) -> dict[str, str | tuple[str, ...]]:
        """What is given, by the name of the column."""
        values = {name: getattr(self, name) for name in type(self).__dataclass_fields__}
        return {name: one if isinstance(one, str) else tuple(one) for name, one in values.items() if one is not None}


def _check_types(types: Mapping[str, str]) -> None:
    for kind in types.values():
        parse_type(kind)


class Table(Declared):
    """Typed columns, and the mapping of a format's fields to them.

    A plugin's author subclasses it and states the fields; a `table` block of the config makes an instance.
    """

    name: str = label("Name of the table.", check=check_name)
    description: str = option("What a row of the table is, in a sentence.", default="")
    extend: str | None = option(
        "Table to extend: columns of the same name are changed, others are added.", default=None
    )
    format: Format | None = option("Format of the logs, unless the source names its own.", default=None, block="format")
    keys: Literal["camel", "pascal"] | None = option(
        "How the log spells the names of columns: `camel` if `event_name` is eventName there, `pascal` if it is"
        " EventName. A column with a `source` is taken from there.",
        default=None,
    )
    columns: Sequence[Column] = nested("The columns of the table.", block="column", default=())
    additional: str | None = option("Name of a JSON column for all fields of a record without a column.", default=None)
    map_fields: Sequence[str] = option(
        "Fields without a column block that become columns too; wildcards are allowed. None, if there is `additional`.",
        default=(),
        config_default=("*",),
    )
    null_if: str | None = option("Text that means null, in every column.", default=None)
    common: Mapping[str, str | Sequence[str]] = nested(
        "Where the common columns come from.", block="common", default={}, element=CommonColumns
    )
    nested_keys: Mapping[str, str] = option(
        "Keys of the JSON fields that only expressions take apart, as a struct for each field; other keys go to the"
        " column of `*`. A key `*` says that the expressions keep all keys of that object.",
        default={},
        check=_check_types,
    )
    layouts: Mapping[str, str] = option(
        "The file layout to expect, for each type of source; `any_bucket` for objects in every kind of bucket.",
        default={},
    )
    ocsf: Sequence[OcsfEvents] = nested(
        "Rows that are events of an OCSF class, for the views of the schema `ocsf`.", block="ocsf", default=()
    )
    row_key: Sequence[str] = option("Columns that identify a row; a partition can `dedupe` by them.", default=())
    tp_index: str | None = option(
        "Column by whose value the files of a partition are divided, unless the partition names one.", default=None
    )

    is_shipped: bool = fact("Whether a plugin brings it, in Python or as a file.", default=False)

    def __post_init__(self) -> None:
        if type(self) is not Table:
            object.__setattr__(self, "is_shipped", True)
        columns = list(self.columns)
        if self.keys is not None:
            columns = [one if one.name.startswith("tp_") else spelt_column(one, self.keys) for one in columns]
        if self.additional is not None:
            if not any(column.name == self.additional for column in columns):
                columns.append(Column(self.additional, "json", _REST, source="*"))
            object.__setattr__(self, "map_fields", tuple(name for name in self.map_fields if name != "*"))
        object.__setattr__(self, "columns", tuple(columns))
        for name in ("map_fields", "row_key", "ocsf"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if isinstance(self.common, CommonColumns):
            object.__setattr__(self, "common", self.common.given)
        if not self.description:
            object.__setattr__(self, "description", "" if type(self) is Table else description_of(type(self)))

    def column(self, name: str) -> Column | None:
        """The column of that name, if there is one."""
        return next((column for column in self.columns if column.name == name), None)

    def layout(self, source: Source) -> str | None:
        """The file layout to expect of a source."""
        own = self.layouts.get(source.type) or self.layouts.get(source.layouts_of)
        return own or (self.layouts.get(ANY_BUCKET) if source.is_bucket else None)

    @property
    def common_columns(self) -> tuple[Column, ...]:
        """The common columns that the table has, by name: those of every table, and the optional ones that it maps."""
        mapped = {*self.common, *(column.name for column in self.columns)}
        optional = [column for column in OPTIONAL_COLUMNS if column.name in mapped]
        return tuple(sorted((*COMMON_COLUMNS, *optional), key=lambda column: column.name))

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
    Column("tp_index", "varchar", "Value by which the partition's files are divided; `default` if it names no column."),
    Column("tp_ingest_timestamp", "timestamp", "When the row was collected, in UTC."),
    Column("tp_ips", "varchar[]", "All IP addresses in the row; other values are dropped."),
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
"""The columns that every table has in addition to its own."""

OPTIONAL_COLUMNS: tuple[Column, ...] = (
    Column("tp_host", "varchar", "Machine or resource that wrote the row."),
    Column("tp_level", "varchar", "Level or severity of the row, in lower case."),
    Column("tp_message", "varchar", "Text of the row for people."),
    Column("tp_outcome", "varchar", "Whether it worked: `success`, `failure` or `unknown`."),
    Column("tp_service", "varchar", "Product or program that wrote the row."),
)
"""The common columns that only those tables have that map them."""

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
