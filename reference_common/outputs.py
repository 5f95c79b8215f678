"""Compares what runs have left in host memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# As it is before a user's file is loaded, which may replace it.
_array_equal = np.array_equal
_WORD = np.dtype(np.int64)


def difference(found: Array, expected: Array, tolerance: float) -> float | None:
    """Return the largest difference of two outputs, or None if it is small enough.

    `tolerance` is relative to the expected value and absolute to the largest finite one, or 1 if that
    is more: sums that cancel differ by more than a small part of what they come to. Infinity: any
    will do.
    """
    if tolerance == math.inf or same_bytes(_bytes(found), _bytes(expected)):
        return None
    # NumPy takes ten times as long to compare float16 as float32.
    found, expected = (x.astype(np.result_type(x, np.float32)) for x in (found, expected))
    size = np.abs(expected[np.isfinite(expected)]).max(initial=1)
    if np.allclose(found, expected, rtol=tolerance, atol=tolerance * size, equal_nan=True):
        return None
    return float(np.nanmax(np.abs(np.subtract(found, expected, dtype=np.float64))))


def same_bytes(a: Array, b: Array) -> bool:
    """Return whether two contiguous arrays of bytes are equal."""
    if a.size == b.size and a.size % _WORD.itemsize == 0:
        a, b = a.view(_WORD), b.view(_WORD)
    return _array_equal(a, b)


def _bytes(array: Array) -> Array:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)
