"""DuckDB's engine, without the Python package around it.

`import duckdb` also reads what `importlib.metadata` can tell of its version, which takes longer than loading the
engine does. A question that is answered in a tenth of a second has no time for that (ADR 0013).
"""

import _duckdb as duckdb

__all__ = ["duckdb"]
