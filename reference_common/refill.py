"""What buffers hold before a run: other inputs, and outputs at random.

A run must not know its inputs in advance, nor find its outputs in its buffers
(`docs/worker-protocol.md`, refill).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from workload import CaseError, OpenCase

# Elements after which random values repeat.
TILE = 65536

Array = npt.NDArray[Any]

# The process's own random source: a run cannot know it.
_random = np.random.default_rng()


class Refill:
    """Gives an open case the inputs of a seed, in its own copy of the shared inputs.

    `inputs.own()` makes that copy, and its `refill(seed, left)` gives it the values of a seed in
    place, or those that a run has left.
    Inputs of which nothing changes have `refilled` false.
    """

    def __init__(self, case: OpenCase, inputs: Any) -> None:
        self._case = case
        self._opened = inputs
        self._own: Any = None
        self._seed = 0

    def __call__(self, seed: int, left: Mapping[str, Array] | None = None) -> None:
        """Have further runs use the inputs of this seed; 0: those as opened.

        Of those in place what a run has `left`, if it is given.
        """
        if seed == self._seed or not self._opened.refilled:
            return
        if left is not None and 0 in (seed, self._seed):
            raise CaseError("continues: expected inputs of a refill, which may change")
        self._case.load(self._opened if seed == 0 else self._refilled(seed, left))
        self._seed = seed

    def _refilled(self, seed: int, left: Mapping[str, Array] | None) -> Any:
        if self._own is None:
            self._own = self._opened.own()
        self._own.refill(seed, left)
        return self._own


def random_tile(size: int = TILE) -> npt.NDArray[np.float32]:
    """Return at most `TILE` numbers in [-1, 1), others each time: they look like outputs."""
    return _random.random(min(max(size, 1), TILE), np.float32) * np.float32(2) - np.float32(1)


def random_nans(size: int, dtype: npt.DTypeLike) -> Array:
    """Return the bits of NaNs of this dtype (float16 or float32) with random payload.

    They are negative: arithmetic on a GPU makes positive ones.
    """
    about = np.finfo(dtype)
    word = f"u{about.bits // 8}"
    payloads = _random.integers(1, 1 << about.nmant, size, word)
    return np.array(-np.inf, dtype).view(word) | payloads
