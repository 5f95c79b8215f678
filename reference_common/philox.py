"""Philox4x32-10 in NumPy, bit for bit the numbers of `bench/base/rng.h`.

Counter-based (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11): any position of
a stream can be computed directly, so C, CUDA and Python get the same numbers without exchanging
them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import native

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_MASK = 0xFFFFFFFF
_LOW = np.uint64(_MASK)
_HALF = np.uint64(32)


def philox4x32_10(counters: npt.ArrayLike, key: tuple[int, int]) -> npt.NDArray[np.uint32]:
    """Return the output blocks, shape (n, 4), of `counters`, shape (n, 4), under one `key`."""
    c0, c1, c2, c3 = np.asarray(counters, dtype=np.uint32).astype(np.uint64).reshape(-1, 4).T
    k0, k1 = key
    for _ in range(_ROUNDS):
        # 32 × 32 bits fit into 64: one multiplication gives both halves of the product.
        p0 = c0 * _MULTIPLIERS[0]
        p1 = c2 * _MULTIPLIERS[1]
        c0 = (p1 >> _HALF) ^ c1 ^ np.uint64(k0)
        c2 = (p0 >> _HALF) ^ c3 ^ np.uint64(k1)
        c1 = p1 & _LOW
        c3 = p0 & _LOW
        k0 = (k0 + _WEYL[0]) & _MASK
        k1 = (k1 + _WEYL[1]) & _MASK
    blocks = np.empty((c0.size, 4), dtype=np.uint32)
    for column, values in enumerate((c0, c1, c2, c3)):
        blocks[:, column] = values
    return blocks


def words(seed: int, stream: int, first: int, count: int) -> npt.NDArray[np.uint32]:
    """Return words `first` … `first + count - 1` of a stream.

    Element i is word i % 4 of the block with counter {i / 4 low, i / 4 high, stream, 0} and key
    {seed low, seed high}.
    """
    found = np.empty(count, dtype=np.uint32)
    if count == 0 or native.words(found, native.Position(seed, stream, first)):
        return found
    first_block, skip = divmod(first, 4)
    n_blocks = (skip + count + 3) // 4
    block = np.uint64(first_block) + np.arange(n_blocks, dtype=np.uint64)
    counters = np.zeros((n_blocks, 4), dtype=np.uint32)
    counters[:, 0] = block & _LOW
    counters[:, 1] = block >> _HALF
    counters[:, 2] = stream
    blocks = philox4x32_10(counters, (seed & _MASK, seed >> 32))
    return blocks.reshape(-1)[skip : skip + count]
