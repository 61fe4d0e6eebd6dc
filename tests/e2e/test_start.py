"""What a command loads before it answers: a module that is imported for nothing is time that everybody waits for.

Measured times would fail by chance, so the tests hold the lists of modules and classes (ADR 0013).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Run

PROBE = """
import json, sys
from tailpipe.cli import main
try:
    main({call!r})
except SystemExit as ended:
    code = ended.code
compiled = [
    f"{{name}}.{{one.__qualname__}}"
    for name, module in sys.modules.items()
    for one in vars(module).values()
    if isinstance(one, type) and one.__module__ == name
    and "__dataclass_params__" in vars(one) and one.__dataclass_params__.frozen
]
print(json.dumps([code, sorted(sys.modules), compiled]))
"""
LOGS = """
table "app" {
  format = format.jsonl.default
  column "tp_timestamp" { source = "time" }
}
partition "app" "local" {
  source "file" {
    paths       = ["%s"]
    file_layout = `%%{YEAR:year}-%%{MONTHNUM:month}-%%{MONTHDAY:day}.jsonl`
  }
}
"""
HEAVY = {"duckdb", "pyspark", "pyarrow", "numpy", "pandas", "boto3", "obstore", "prompt_toolkit", "sqlglot", "rich"}
HEAVY |= {"starlette", "uvicorn", "h11", "anyio", "mcp", "tailpipe.mcp_server", "tailpipe.serve"}
FOR_METADATA = {"importlib.metadata", "email", "zipfile"}
FOR_OTHER_QUERIES = {
    "csv",
    "hashlib",
    "importlib.util",
    "shlex",
    "socket",
    "subprocess",
    "tailpipe.catalog.catalog",
    "tailpipe.query.exact",
    "tailpipe.cli.records",
    "tailpipe.collect",
    "tailpipe.config.diagnostics",
    "tailpipe.config.masking",
    "tailpipe.config.vocabulary",
    "tailpipe.formats.delimited",
    "tailpipe.formats.lines",
    "tailpipe.kernel",
    "tailpipe.lifecycle",
    "tailpipe.model.coverage",
    "tailpipe.model.parsing",
    "tailpipe.plugin.functions",
    "tailpipe.plugin.limits",
    "tailpipe.plugin.paging",
    "tailpipe.plugin.retry",
    "tailpipe.query.check",
    "tailpipe.query.materialized",
    "tailpipe.query.on_spark",
    "tailpipe.query.prune",
    "tailpipe.spark",
}
"""What only writing, failing, other formats and outputs, or tables of very many files need."""


@pytest.fixture
def collected(tmp_path: Path, write_config: Callable[..., Path], run_without_spark: Run) -> None:
    """A workspace with one day of one table."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "2024-01-31.jsonl").write_text('{"time": "2024-01-31T10:00:00Z", "a": 1}\n')
    write_config(LOGS % logs)
    assert run_without_spark("collect", "--from", "2024-01-01").code == 0


def loaded_by(install: Path, *call: str) -> tuple[set[str], set[str]]:
    """The modules that a call has loaded, and the frozen dataclasses that compiled their own methods."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("TAILPIPE_")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE.format(call=list(call))],
        env={**env, "TAILPIPE_INSTALL_DIR": str(install)},
        capture_output=True,
        text=True,
        check=True,
    )
    code, modules, compiled = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(modules), set(compiled)


@pytest.mark.usefixtures("collected")
def test_a_query_loads_what_its_answer_needs(install: Path) -> None:
    modules, compiled = loaded_by(install, "query", "SELECT count(*), max(a) FROM app")
    assert {"_duckdb", "tailpipe.query.session", "tailpipe.formats.records"} <= modules
    assert modules & (HEAVY | FOR_METADATA | FOR_OTHER_QUERIES) == set()
    assert compiled == set()


@pytest.mark.usefixtures("collected")
def test_a_query_with_parameters_loads_no_pandas(install: Path) -> None:
    modules, _ = loaded_by(install, "query", "SELECT count(*) FROM app WHERE a = $n", "--param", "n=1")
    assert modules & (HEAVY | FOR_METADATA) == set()


@pytest.mark.usefixtures("collected")
def test_collecting_nothing_new_loads_neither_spark_nor_metadata(install: Path) -> None:
    modules, _ = loaded_by(install, "collect")
    assert {"tailpipe.collect.run", "tailpipe.spark.engine"} <= modules
    assert modules & (HEAVY | FOR_METADATA) == set()


def test_help_loads_no_config(install: Path) -> None:
    modules, compiled = loaded_by(install, "--help")
    assert "tailpipe.cli.app" in modules
    assert modules & (HEAVY | FOR_METADATA | FOR_OTHER_QUERIES) == set()
    assert modules & {"tailpipe.config", "tailpipe.plugin", "tailpipe.home", "tailpipe.workspace"} == set()
    assert compiled == set()
