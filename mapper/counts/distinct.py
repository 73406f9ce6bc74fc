"""Distinct rows of tables: a row is coded as one integer where that can be, which sorts far faster than whole rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mapper.mapping.loopnest import Ints

Index = NDArray[np.intp]


def distinct(columns: list[Ints]) -> tuple[Index, Index]:
    """Rows of a table of `columns` that differ: where each first stands, and which of them every row is."""
    code = np.zeros(len(columns[0]), dtype=np.int64)
    size = 1
    for column in columns:
        low, high = int(column.min()), int(column.max())
        size *= high - low + 1
        if size >= 2**62:
            # Sorting whole rows is slower, and cannot overflow.
            _, first, inverse = np.unique(np.stack(columns, axis=1), axis=0, return_index=True, return_inverse=True)
            return first, inverse.ravel()
        code = code * (high - low + 1) + (column - low)
    _, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    return first, inverse


def distinct_rows(table: NDArray[np.generic]) -> tuple[Index, Index]:
    """Rows of `table` that differ, in ascending order: where each first stands, and which of them every row is."""
    if not table.size:
        return np.zeros(min(len(table), 1), dtype=np.intp), np.zeros(len(table), dtype=np.intp)
    return distinct([np.unique(column, return_inverse=True)[1] for column in table.T])
