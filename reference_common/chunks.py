"""Sizes of the chunks of rows in which copies and computation overlap."""

from __future__ import annotations

from itertools import accumulate, pairwise

_UNIT_ROWS = 1024
"""All chunks but the last are multiples, so that memory is aligned: UNIT_ROWS of described/cuda.c."""
_SHRINKING_CHUNKS = 6  # at most
_LEAST_CHUNK_BYTES = 1 << 20


def equal_chunks(rows: int, n: int) -> list[int]:
    """Return the sizes of at most `n` chunks that are equal but for the last."""
    each = -(-rows // (n * _UNIT_ROWS)) * _UNIT_ROWS
    return [min(each, rows - start) for start in range(0, rows, each)]


def shrinking_chunks(rows: int, in_bytes: int, out_bytes: int) -> list[int]:
    """Return the sizes of shrinking chunks of a run with this input and output.

    The bus is busy with the larger copy all the time; what it cannot hide is the last chunk's way
    out (or the first one's way in, where the output is larger). So chunks shrink towards that end,
    as fast as the smaller copy of one still ends before the larger copy of the next: by the ratio
    of the two, less a quarter. `copy=overlapped` of our own kernels divides likewise.
    """
    larger, smaller = max(in_bytes, out_bytes), min(in_bytes, out_bytes)
    ratio = min(max(0.75 * larger / smaller, 1.25), 4)
    parts = [1.0]
    while (
        len(parts) < _SHRINKING_CHUNKS
        and larger / (sum(parts) + ratio ** len(parts)) >= _LEAST_CHUNK_BYTES
    ):
        parts.append(ratio ** len(parts))
    if in_bytes >= out_bytes:
        parts.reverse()
    ends = [int(rows * done / sum(parts)) // _UNIT_ROWS * _UNIT_ROWS for done in accumulate(parts)]
    ends[-1] = rows
    return [end - start for start, end in pairwise([0, *ends]) if end > start]
