"""The layout on disk: the only place that spells a path of a workspace.

    <home>/tp_table=…/tp_partition=…/tp_index=…/tp_date=…/<name>.parquet   the hive, by `partition_by`
    <home>/.tailpipe/catalog.db · locks/                                   always on a local disk
    <data>/.tailpipe/files · staging · manifests · rejected                <data> is <home> by default
    <root>/.tailpipe/files · staging · rejected, and the hive              of a partition that has a root of its own

Values become directory names by percent-encoding, which DuckDB and Spark undo. What no tool would
bring back (an index of more than 120 bytes) becomes `prefix~hash`; the true value is in the file's
own column and in the catalog.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import date
from itertools import islice
from pathlib import Path
from urllib.parse import quote, unquote

from tailpipe.frozen import frozen
from tailpipe.model.store import FILE_COLUMNS, PARTITION_BY
from tailpipe.storage.local import LOCAL
from tailpipe.storage.storage import LocalTree

INTERNAL = ".tailpipe"
MANIFEST = ".manifest"
DROPPED = ".dropped"
CHECKPOINT = ".checkpoint"
NULL = "__HIVE_DEFAULT_PARTITION__"
LONGEST = 120

_OUR_NAME = re.compile(r"(\d{8,}-[0-9a-f]{8}(?:[0-9a-f]{8})?)-\d{4,}(?:-\d+-\d+-[0-9a-f]{8})?")
"""Transactions of earlier versions have 8 random digits, later ones 16. Names that tasks give carry their attempt."""


@frozen
class Layout:
    """Where everything of one workspace is."""

    home: Path
    data: Path
    hive: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The directories of the hive of each partition, from the outside in, where they are not `PARTITION_BY`."""
    hive_of_others: Sequence[str] = PARTITION_BY
    """Those of partitions that the config no longer names."""
    wanted: Mapping[str, Path] = field(default_factory=dict)
    """Where the config wants the local files of partitions, if not in `data`."""
    roots: dict[str, Path] = field(default_factory=dict)
    """Where they are, by the catalog that was opened: see `roots.py`. It follows when a partition moves."""
    database: Path = field(init=False, repr=False, compare=False)
    locks: Path = field(init=False, repr=False, compare=False)
    """The directory of the lock files."""
    catalog_lock: Path = field(init=False, repr=False, compare=False)
    """Of the catalog as a whole; no partition has a name without a dot."""
    listings: Path = field(init=False, repr=False, compare=False)
    """What sources remember of their listings; they list again what is lost."""
    spark_log: Path = field(init=False, repr=False, compare=False)
    clients: Path = field(init=False, repr=False, compare=False)
    """What other clients have requested: one file for each of their databases."""
    internal: Path = field(init=False, repr=False, compare=False)
    """What stored paths are relative to, unless their partition has another root."""
    files: Path = field(init=False, repr=False, compare=False)
    """The tree of the immutable files."""
    rejected: Path = field(init=False, repr=False, compare=False)
    """The tree of the rejected rows."""
    staging: Path = field(init=False, repr=False, compare=False)
    """One directory for each running transaction; see `staging_in`."""
    manifests: Path = field(init=False, repr=False, compare=False)
    """One file for each committed transaction."""
    gaps: Path = field(init=False, repr=False, compare=False)
    """The numbers of commits whose manifests are known to be lost."""
    log: Path = field(init=False, repr=False, compare=False)
    """Copies of the objects of logs that this catalog knows, for a rebuild."""
    head: Path = field(init=False, repr=False, compare=False)
    """The file that names the newest transaction."""
    roots_record: Path = field(init=False, repr=False, compare=False)
    """The roots of partitions, for a rebuild."""
    cache: Path = field(init=False, repr=False, compare=False)
    """Fetched files that are in a store alone."""

    def __post_init__(self) -> None:
        own, shared = self.home / INTERNAL, self.data / INTERNAL
        places = {name: own / name for name in ("locks", "listings", "clients")}
        places |= {name: shared / name for name in ("files", "rejected", "staging", "manifests", "log")}
        places |= {"database": own / "catalog.db", "catalog_lock": own / "locks" / "catalog.lock"}
        places |= {"spark_log": own / "logs" / "spark.log", "gaps": shared / "manifests" / "gaps.json"}
        places |= {"head": shared / "head", "cache": shared / "cache"}
        places |= {"internal": shared, "roots_record": shared / "roots.json"}
        for name, place in places.items():
            object.__setattr__(self, name, place)

    @classmethod
    def of(cls, home: Path | Layout, data: Path | None = None) -> Layout:
        """The layout of a workspace; `data` moves hive, files and staging to another (shared) place."""
        if isinstance(home, Layout):
            return home
        # Absolute, because a snapshot's paths outlive a change of the working directory.
        return cls(home.absolute(), (data or home).absolute())

    def partition_by(self, partition: str) -> tuple[str, ...]:
        """The directories of the hive of a partition."""
        return tuple(self.hive.get(partition, self.hive_of_others))

    def root(self, partition: str) -> Path:
        """The directory of the hive, the stored files and the staging of a partition."""
        return self.roots.get(partition, self.data)

    def all_roots(self) -> tuple[Path, ...]:
        """The directories that partitions have as roots, that of the workspace first."""
        return tuple(dict.fromkeys((self.data, *self.roots.values())))

    def root_above(self, path: Path) -> Path:
        """The root that a path is below."""
        return next((root for root in self.roots.values() if path.is_relative_to(root)), self.data)

    def staging_in(self, root: Path) -> Path:
        """The staging of partitions with this root: on the same disk as their files."""
        return root / INTERNAL / "staging"

    def set_aside(self, root: Path) -> Path:
        """Where a repair puts what it takes out of a root and must not delete."""
        return root / INTERNAL / "set-aside"

    def client_database(self, name: str) -> Path:
        """The database that a client opens."""
        return self.home / f"{name}.duckdb"

    def lock(self, partition: str) -> Path:
        """The lock file of a partition."""
        return self.locks / f"{encoded(partition)}.lock"

    def manifest(self, transaction: str) -> Path:
        """The manifest of a transaction."""
        return self.manifests / f"{transaction}{MANIFEST}"

    def dropped(self, transaction: str) -> Path:
        """The manifest of a transaction that was dropped, because another host was first."""
        return self.manifests / f"{transaction}{DROPPED}"

    def logged_partition(self, directory: Path) -> str:
        """The partition of a directory of copies."""
        return unquote(directory.name)

    def log_of(self, partition: str) -> Path:
        """The directory of the copies of one partition."""
        return self.log / encoded(partition)

    def checkpoint_copy(self, partition: str, version: int) -> Path:
        """The copy of a checkpoint."""
        return self.log_of(partition) / f"{version:010d}{CHECKPOINT}"

    def log_copy(self, partition: str, version: int) -> Path:
        """The copy of one object."""
        return self.log_of(partition) / f"{version:010d}{MANIFEST}"

    def partition_of(self, stored: Path) -> str | None:
        """The partition of a stored file of `files/`, or None if its path is not one that tailpipe gives."""
        files = self.root_above(stored) / INTERNAL / "files"
        table, name, *_ = (*stored.relative_to(files).parts, "", "")
        if not (table.startswith("tp_table=") and name.startswith("tp_partition=")):
            return None
        return f"{_value(table)}.{_value(name)}"

    def swap(self, transaction: str, root: Path) -> Path:
        """Where the projection builds directories before it exchanges them, in the shape of the hive of a root."""
        return self.staging_in(root) / transaction / "swap"

    def stored(self, path: str) -> Path:
        """The place of a stored file."""
        return self._root_of(path.partition("/")[2]) / INTERNAL / path

    def stored_path(self, place: Path) -> str:
        """The stored path of a place."""
        return place.relative_to(self.root_above(place) / INTERNAL).as_posix()

    def _root_of(self, plain: str) -> Path:
        """The root of a file whose directories begin with those of its table and partition."""
        if not self.roots:
            return self.data
        table, name, *_ = (*plain.split("/", 2), "", "")
        return self.root(f"{_value(table)}.{_value(name)}")

    def public(self, path: str) -> Path:
        """The place in the hive of a stored file of `files/`."""
        directory, _, name = path.rpartition("/")
        return self.public_directory(directory) / f"{name}.parquet"

    def public_directory(self, directory: str) -> Path:
        """The directory in the hive that mirrors a directory of `files/`."""
        plain = directory.removeprefix("files/")
        root, parts = self._root_of(plain), plain.split("/")
        if len(parts) != len(PARTITION_BY):
            return root / plain
        table, name, index, day = (part.partition("=")[2] for part in parts)
        names = self.partition_by(f"{unquote(table)}.{unquote(name)}")
        if names == PARTITION_BY:
            return root / plain
        return root / _segments(names, table, name, index, day)

    def mirrored(self, public: Path) -> Path:
        """The stored file of a file in the hive, by whatever directories the hive has or had."""
        root = self.root_above(public)
        relative, files = public.relative_to(root), root / INTERNAL / "files"
        values = dict(part.split("=", 1) for part in relative.parent.parts if "=" in part)
        if "tp_day" in values and "tp_date" not in values:
            values["tp_date"] = "-".join(values.get(part, "") for part in ("tp_year", "tp_month", "tp_day"))
        index = next((value for column, value in values.items() if column not in FILE_COLUMNS), "")
        values.setdefault("tp_index", index)
        if not all(name in values for name in PARTITION_BY):
            return files / relative.with_suffix("")  # none of ours
        return files / _segments(PARTITION_BY, *(values[name] for name in PARTITION_BY)) / public.stem


def data_path(partition: str, tp_index: str | None, tp_date: date, name: str) -> str:
    """The stored path of a data file."""
    return f"files/{partition_segment(partition)}/{index_segment(tp_index)}/tp_date={tp_date.isoformat()}/{name}"


def below(directory: str) -> tuple[str, str]:
    """The bounds of all paths below a stored directory, as texts: "0" follows "/"."""
    return f"{directory}/", f"{directory}0"


def rejected_directory(partition: str, unit: str | None) -> str:
    """The stored directory of the rejected rows of a unit, or of a whole partition."""
    whole = f"rejected/{partition_segment(partition)}"
    return whole if unit is None else f"{whole}/unit={encoded(unit)}"


def partition_segment(partition: str) -> str:
    """The two directories of a `table.partition`."""
    table, _, name = partition.partition(".")
    return f"tp_table={encoded(table)}/tp_partition={encoded(name)}"


def segments(partition_by: Sequence[str], partition: str, tp_index: str | None, tp_date: date) -> str:
    """The directories of a file; a name that is none of the common ones is the column of the index."""
    table, _, name = partition.partition(".")
    index = index_segment(tp_index).partition("=")[2]
    return _segments(partition_by, encoded(table), encoded(name), index, tp_date.isoformat())


def _segments(partition_by: Sequence[str], table: str, name: str, index: str, day: str) -> str:
    """The directories of a file whose values are encoded."""
    year, month, number = day.split("-")
    values = {"tp_table": table, "tp_partition": name, "tp_date": day}
    values |= {"tp_year": year, "tp_month": month, "tp_day": number}
    return "/".join(f"{encoded(column)}={values.get(column, index)}" for column in partition_by)


def index_segment(value: str | None) -> str:
    """The directory of an index: reversible, safe on any file system, at most 120 bytes of value."""
    if value is None:
        return f"tp_index={NULL}"
    whole = encoded(value)
    if len(whole) <= LONGEST:
        return f"tp_index={whole}"
    prefix = ""
    for character in value:  # cut between characters: half of one would not be text any more
        if len(prefix) + len(encoded(character)) > LONGEST - 17:
            break
        prefix += encoded(character)
    from hashlib import sha256  # late, because few indexes are so long

    return f"tp_index={prefix}~{sha256(value.encode()).hexdigest()[:16]}"


def file_name(transaction: str, number: int) -> str:
    """The name of the nth file of a transaction; names are never used twice."""
    return f"{transaction}-{number:04d}"


def attempt_name(transaction: str, number: int, attempt: str, token: str) -> str:
    """The name that a task gives a file: `attempt` is `task-attempt`, and `token` is 8 random hex digits."""
    return f"{file_name(transaction, number)}-{attempt}-{token}"


def is_our_name(name: str) -> str | None:
    """The transaction in the name of a stored file, or None if tailpipe never gives that name."""
    match = _OUR_NAME.fullmatch(name.removesuffix(".parquet"))
    return match[1] if match else None


def foreign_data(path: Path, tree: LocalTree = LOCAL) -> Path | None:
    """A parquet file or a `metadata.sqlite` in a directory that is not a workspace, if there is one."""
    if tree.is_directory(path / INTERNAL):
        return None
    # A bound, because someone may point us at a home directory with millions of files.
    for entry in islice(tree.objects(path), 100_000):
        if entry.suffix == ".parquet" or entry.name == "metadata.sqlite":
            return entry
    return None


def _value(segment: str) -> str:
    return unquote(segment.partition("=")[2])


def encoded(value: str) -> str:
    """A value as one part of a path or key: percent-encoded, and never a word that means something else there."""
    # `~` stays free to mark what was shortened; `quote` never touches it, so it is done by hand.
    text = quote(value, safe="").replace("~", "%7E")
    # DuckDB reads these bare words as NULL, and a dot alone or in pairs would leave the directory.
    if text.upper() in ("NULL", NULL) or text in (".", ".."):
        return f"%{ord(text[0]):02X}{text[1:]}"
    return text
