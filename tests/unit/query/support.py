"""A snapshot over parquet files that a test writes as SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import duckdb

from tailpipe.catalog.snapshot import LiveFile, Snapshot

DAY = date(2024, 1, 31)
TIME = "TIMESTAMP '2024-01-31 10:00' AS tp_timestamp"


@dataclass
class Files:
    """Live files of some tables, below `root/files`."""

    root: Path
    files: list[LiveFile] = field(default_factory=list)
    columns: dict[int, Mapping[str, str]] = field(default_factory=dict)

    def add(self, select: str, partition: str = "app_log.prod", name: str | None = None) -> Path:
        """Write the rows of a query as a file."""
        path = self.root / "files" / (name or f"{partition}-{len(self.files)}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as connection:
            rows = connection.execute(f"DESCRIBE {select}").fetchall()
            connection.execute(f"COPY ({select}) TO '{str(path).replace(chr(39), chr(39) * 2)}' (FORMAT parquet)")
            (count,) = connection.execute(f"SELECT count(*) FROM ({select})").fetchall()[0]
        number = self._number({row[0]: row[1] for row in rows})
        relative = str(path.relative_to(self.root))
        self.files.append(LiveFile(relative, partition, str(DAY), None, DAY, count, 0, None, None, number))
        return path

    def snapshot(self) -> Snapshot:
        """All of it."""
        return Snapshot(self.root, tuple(self.files), self.columns, len(self.files))

    def _number(self, columns: Mapping[str, str]) -> int:
        for number, known in self.columns.items():
            if known == columns:
                return number
        self.columns[len(self.columns) + 1] = columns
        return len(self.columns)
