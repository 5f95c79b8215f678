"""Philox4x32-10 in NumPy, bit for bit the numbers of `bench/base/rng.h`.

Counter-based (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11): any position of
a stream can be computed directly, so C, CUDA and Python get the same numbers without exchanging
them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

import native

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_MASK = 0xFFFFFFFF
_LOW = np.uint64(_MASK)
_HALF = np.uint64(32)

# Words per chunk, so that memory use does not grow with the length of the stream. Smaller ones make
# threads wait for the interpreter's lock: on 64 cores eight threads take 2.2 s for 2^27 words in
# chunks of 2^16 and 1.3 s in these, sixteen took 3.2 s.
CHUNK_WORDS = 1 << 18
_MOST_THREADS = 8
_FEW_CHUNKS = 4  # starting threads takes about as long


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


def fill_uniform(
    values: npt.NDArray[np.float32],
    seed: int,
    stream: int,
    low: float,
    high: float,
    first: int = 0,
) -> None:
    """Fill a contiguous array, element 0 first, with uniform float32 in [low, high).

    (word >> 8) · 2^-24 · (high - low) + low, each operation rounded to float32, in that order.
    """
    if not values.flags.c_contiguous:
        raise ValueError("fill_uniform needs a C-contiguous array")
    low32, high32 = np.float32(low), np.float32(high)
    flat = values.reshape(-1)

    def fill(start: int, count: int) -> None:
        part = flat[start : start + count]
        if native.uniform(part, native.Position(seed, stream, first + start), low, high):
            return
        part[:] = words(seed, stream, first + start, count) >> np.uint32(8)
        part *= np.float32(2.0**-24)
        part *= high32 - low32
        part += low32

    in_chunks(flat.size, fill)


def in_chunks(count: int, work: Callable[[int, int], None], chunk: int = CHUNK_WORDS) -> None:
    """Call work(first, n) for elements 0 … count - 1 in parts of `chunk`; many on several cores.

    NumPy computes without the interpreter's lock.
    """
    sizes = {first: min(chunk, count - first) for first in range(0, count, chunk)}
    if len(sizes) <= _FEW_CHUNKS:
        for first, size in sizes.items():
            work(first, size)
        return
    with ThreadPoolExecutor(min(len(os.sched_getaffinity(0)), _MOST_THREADS)) as threads:
        list(threads.map(work, sizes.keys(), sizes.values()))
