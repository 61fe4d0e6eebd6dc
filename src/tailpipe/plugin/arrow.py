"""Arrow for parsers of whole columns: runs of lines as a table, and texts that are not copied.

This module imports pyarrow: import it inside the function that makes the parser.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailpipe.model.parsing import Lines

__all__ = ["PADDING", "chosen", "chosen_rows", "line_table", "places_of", "string_views"]

PADDING = bytes(16)
"""What follows the text in a buffer, so that twelve bytes can be read from any place in it."""


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


_INLINE = 12
_MASKS = np.frombuffer(
    b"".join(b"\xff" * length + bytes(_INLINE - length) for length in range(_INLINE + 1)), np.int32
).reshape(_INLINE + 1, 3)


def string_views(text: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> pa.Array:
    """Strings in `text`, which are not copied; `PADDING` follows the last.

    They are Arrow's views of 16 bytes: length and the string itself, if it has up to twelve bytes; otherwise length,
    first four bytes, number of the buffer and place in it.
    """
    words = np.ndarray((len(text) - 3,), np.int32, text, strides=(1,))
    views = np.zeros((len(starts), 4), np.int32)
    views[:, 0] = lengths
    views[:, 1] = words[starts]
    views[:, 3] = starts
    is_short = np.flatnonzero(lengths <= _INLINE)
    if len(is_short):
        places = starts[is_short]
        views[is_short, 2] = words[places + 4]
        views[is_short, 3] = words[places + 8]
        views[is_short, 1:] &= _MASKS[lengths[is_short]]
    return pa.Array.from_buffers(pa.string_view(), len(starts), [None, pa.py_buffer(views), pa.py_buffer(text)])
