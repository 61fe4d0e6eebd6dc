"""Arrow arrays from their bytes.

Before its first conversion of Python objects, Arrow imports pandas if installed, which takes longer than a commit.
Arrays that are made of buffers need no conversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def numbers(values: Sequence[int | None], type_: pa.DataType) -> pa.Array:
    """Whole numbers, some of which may be missing."""
    import numpy as np
    import pyarrow as pa

    plain = np.fromiter((value or 0 for value in values), f"i{type_.bit_width // 8}", len(values))
    return pa.Array.from_buffers(type_, len(values), [_validity(values), pa.py_buffer(plain)])


def strings(values: Sequence[str | None]) -> pa.Array:
    """Texts, some of which may be missing; together they have less than 2 GB."""
    import numpy as np
    import pyarrow as pa

    encoded = [(value or "").encode() for value in values]
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise OverflowError("the texts are too long for one array")
    places, text = pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(values), places, text, _validity(values))


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    """Which values are there, one bit each; None if all are."""
    import numpy as np
    import pyarrow as pa

    if not any(value is None for value in values):
        return None
    is_there = np.fromiter((value is not None for value in values), bool, len(values))
    return pa.py_buffer(np.packbits(is_there, bitorder="little"))
