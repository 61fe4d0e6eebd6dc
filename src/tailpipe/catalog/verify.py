"""Verify what was staged before it becomes live: size, footer, columns, bounds, accounts."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tailpipe.model.staged import Kind, Staged, StagedFile


def account_problems(staged: Staged, kind: Kind) -> list[str]:
    """Reasons not to commit, without a look at the files: wrong names, kinds or row counts."""
    found = []
    if len({file.path for file in staged.files}) != len(staged.files):
        found.append("a staged file is named twice")
    if staged.retires and kind != "rewrite":
        found.append(f"single files are retired by a rewrite, not by {kind}")
    if staged.drops and kind != "rewrite":
        found.append(f"single artifacts are dropped by a rewrite, not by {kind}")
    for one in staged.artifacts:
        accounts = one.accounts
        if not accounts.is_balanced:
            found.append(
                f'the accounts of "{one.entry.origin}" do not balance: read {accounts.read},'
                f" kept {accounts.kept}, filtered {accounts.filtered}, rejected {accounts.rejected},"
                f" out of window {accounts.out_of_window}, duplicate {accounts.duplicate}"
            )
    total = staged.accounts
    kept = sum(file.rows for file in staged.files if file.role == "data")
    if kept != total.kept + staged.carried:
        found.append(f"the files hold {kept} rows, but the accounts say {total.kept} kept and {staged.carried} carried")
    rejected = sum(file.rows for file in staged.files if file.role == "rejected")
    if rejected != total.rejected + staged.carried_rejected:
        found.append(
            f"the files hold {rejected} rejected rows, but the accounts say {total.rejected}"
            f" and {staged.carried_rejected} carried"
        )
    return found


def file_problems(file: StagedFile, staging: Path) -> list[str]:
    """Reasons not to commit a staged file: its size, its footer, or that it is not a file in staging."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = staging / file.path
    if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(staging.resolve()):
        return [f"{file.path} is not a file in staging"]
    if (size := path.stat().st_size) != file.size:
        return [f"{file.path} has {size} bytes instead of {file.size}"]
    try:
        footer = pq.read_metadata(path)
    except (OSError, pa.ArrowException) as problem:
        return [f"{file.path} is not a parquet file: {problem}"]
    return footer_problems(file, footer)


def footer_problems(file: StagedFile, footer: Any) -> list[str]:
    """Differences between the facts of a staged file and its footer."""
    found = []
    if footer.num_rows != file.rows:
        found.append(f"{file.path} holds {footer.num_rows} rows instead of {file.rows}")
    if file.role == "data":
        if file.tp_date is None:
            found.append(f"{file.path} has no date")
        names = set(footer.schema.to_arrow_schema().names)
        if names != set(file.columns):
            found.append(f"{file.path} has other columns than it says: {', '.join(sorted(names ^ set(file.columns)))}")
        found += _bound_problems(file, footer)
    return found


def _bound_problems(file: StagedFile, footer: Any) -> list[str]:
    """Differences between the bounds of a staged file and the statistics of its footer, if it has them."""
    expected = (_naive(file.min_timestamp), _naive(file.max_timestamp))
    lows, highs = [], []
    for group in range(footer.num_row_groups):
        for number in range(footer.num_columns):
            column = footer.row_group(group).column(number)
            if column.path_in_schema != "tp_timestamp":
                continue
            if column.statistics is None or not column.statistics.has_min_max:
                return []
            lows.append(_naive(column.statistics.min))
            highs.append(_naive(column.statistics.max))
    if not lows or not isinstance(lows[0], datetime) or (min(lows), max(highs)) == expected:
        return []
    low, high = expected
    return [f"{file.path} has timestamps from {min(lows)} to {max(highs)} instead of {low} to {high}"]


def _naive(moment: datetime | None) -> Any:
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment.astimezone(UTC).replace(tzinfo=None)
    return moment
