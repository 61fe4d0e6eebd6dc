"""The memory that this process may allocate, if that is limited."""

from __future__ import annotations

import resource

from tailpipe.errors import QueryError
from tailpipe.model.size import shown_size

_SHARE = 0.6
"""What DuckDB may take for what it can spill: texts, threads and freed blocks that are kept need the rest."""


def engine_memory() -> int | None:
    """How many bytes DuckDB should take at most; None if nothing but the machine limits it."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if limit == resource.RLIM_INFINITY else int(limit * _SHARE)


def too_much_memory() -> QueryError:
    """What a statement fails with that has reached the limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    most = "there is" if limit == resource.RLIM_INFINITY else shown_size(limit)
    return QueryError(f"the statement needed more memory than {most}", hint="read fewer rows, or aggregate them")
