"""The process that Spark forks its Python workers from: it imports once what every worker needs.

Spark runs it as `python -m tailpipe.spark.daemon pyspark.worker` instead of `pyspark.daemon`, which imports nothing
before it forks, so that each worker imports everything itself. A fork has one thread only. What is imported here must
therefore leave no other thread behind; if it does, the process starts again as Spark's own daemon.
"""

from __future__ import annotations

import gc
import importlib
import importlib.machinery
import os
import re
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from tailpipe.spark.surroundings import environment
from tailpipe.sql.without_pandas import without_pandas

TASKS_ONLY = "TAILPIPE_TASKS_ONLY"
"""The variable that says that the workers run our tasks and no functions of a user's DataFrames."""
_ARROW = "pyarrow.dataset"  # DuckDB imports it when it is given a table of Arrow
_IMPORTS = (
    "pyspark.worker",
    "tailpipe.kernel.documents",
    "tailpipe.kernel.run",
    "tailpipe.kernel.sample",
    "tailpipe.spark.engine",
    "tailpipe.unpack.unpack",
)
"""What most tasks import; formats and plugins are left to the tasks that use them."""
_NO_THREADS = {"OPENBLAS_NUM_THREADS": "1", "JE_ARROW_MALLOC_CONF": "background_thread:false"}
"""Settings of numpy and Arrow, read when they are imported, with which neither starts a thread."""


def main() -> None:
    """Import, and then wait for Spark's requests to fork a worker."""
    sys.path[:] = without_archives(sys.path)
    import_ahead(has_pandas=not (os.environ.get(TASKS_ONLY) and _has_only_our_plugins()))
    if count_threads() != 1:
        os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *sys.argv[1:]])  # noqa: S606
    gc.freeze()  # collections in the workers would copy the pages of all these objects
    from pyspark.daemon import manager

    manager()


def without_archives(path: Sequence[str]) -> list[str]:
    """The import path without the zip files that Spark puts first, if the packages in them are installed as well.

    Python compiles a module in a zip file each time it is imported.
    """
    rest = [entry for entry in path if not re.search(r"(^|/)lib/(pyspark|py4j-)[^/]*\.zip$", entry)]
    is_installed = all(importlib.machinery.PathFinder.find_spec(name, rest) for name in ("pyspark", "py4j"))
    return rest if is_installed else list(path)


def import_ahead(*, has_pandas: bool) -> None:
    """Import what tasks need; without pandas, Arrow is made to believe that it is not installed."""
    with environment(_NO_THREADS):
        with nullcontext() if has_pandas else without_pandas():
            importlib.import_module(_ARROW)
        for name in _IMPORTS:
            importlib.import_module(name)
    if duckdb := sys.modules.get("duckdb"):  # the package opens a database with threads; who uses it gets a new one
        duckdb.default_connection().close()


def count_threads() -> int:
    """How many threads this process has."""
    return len(list(Path("/proc/self/task").iterdir()))


def _has_only_our_plugins() -> bool:
    """Whether no plugin of another author, which may use pandas, is installed."""
    from tailpipe.plugin.discovery import entry_points
    from tailpipe.plugin.registry import ENTRY_POINTS

    return all(entry.value.startswith("tailpipe.") for entry in entry_points(ENTRY_POINTS))


if __name__ == "__main__":
    main()
