"""Names of jobs, as Spark's pages and event log show them: the step and the partitions."""

from __future__ import annotations

import re
from collections.abc import Iterable

_MOST = 3
_IN_PATH = re.compile(r"\btp_table=([^/]+)/tp_partition=([^/]+)/")


def named(step: str, subjects: Iterable[str]) -> str:
    """The name of a job, with its partitions or tables: `tailpipe: collect app_log.shop, app_log.blog and 3 more`."""
    names = sorted(set(subjects))
    more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
    return f"tailpipe: {step} {', '.join(names[:_MOST])}".rstrip() + more


def partitions_in(paths: Iterable[str]) -> set[str]:
    """The partitions whose live files these are."""
    return {f"{found[1]}.{found[2]}" for path in paths if (found := _IN_PATH.search(path))}
