"""Runs of lines as an Arrow table, the beginning of every line parser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tailpipe.kernel.batch import Lines

__all__ = ["line_table", "places_of"]


def places_of(runs: Sequence[Lines]) -> dict[str, pa.Array]:
    """`_artifact` and `_ordinal` of every line, in order."""
    lengths = [len(run.ordinals) for run in runs]
    artifacts = np.repeat(np.array([run.artifact for run in runs], np.int32), lengths)
    ordinals = np.concatenate([np.empty(0, np.int64), *(run.ordinals for run in runs)])
    return {"_artifact": pa.array(artifacts), "_ordinal": pa.array(ordinals, pa.int64())}


def line_table(runs: Sequence[Lines]) -> pa.Table:
    """`_artifact`, `_ordinal` and `_line` of every line, in order; the text is not copied."""
    texts = [run.text.cast(pa.string_view()) for run in runs]
    # One array, because DuckDB takes a chunk at a time, however short; only the views are copied.
    whole = pa.concat_arrays(texts) if texts else pa.array([], pa.string_view())
    return pa.table({**places_of(runs), "_line": whole})
