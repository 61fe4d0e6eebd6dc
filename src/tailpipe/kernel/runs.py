"""Runs of lines as an Arrow table, the beginning of every line parser."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tailpipe.kernel.batch import Lines

__all__ = ["chosen", "chosen_rows", "line_table", "places_of"]


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


def chosen(array: pa.Array, mask: np.ndarray) -> pa.Array:
    """The values for which the mask is true. Arrow cannot yet choose among views; their text is not copied."""
    if array.type != pa.string_view() or array.null_count:
        return array.cast(pa.string()).filter(mask) if array.type == pa.string_view() else array.filter(mask)
    _, views, *texts = array.buffers()
    words = np.frombuffer(views, np.int32).reshape(-1, 4)[array.offset : array.offset + len(array)][mask]
    return pa.Array.from_buffers(pa.string_view(), len(words), [None, pa.py_buffer(words.copy()), *texts])


def chosen_rows(table: pa.Table, mask: np.ndarray) -> pa.Table:
    """The rows for which the mask is true."""
    columns = {}
    for name in table.column_names:
        starts = np.cumsum([0, *(len(chunk) for chunk in table[name].chunks)])
        chunks = [
            chosen(chunk, mask[start : start + len(chunk)])
            for start, chunk in zip(starts, table[name].chunks, strict=False)
        ]
        columns[name] = pa.chunked_array(chunks, chunks[0].type if chunks else table[name].type)
    return pa.table(columns)
