"""What buffers hold before a run: other inputs, as a rule with other signs, and outputs at random.

A run must not know its inputs in advance, nor find its outputs in its buffers
(`docs/worker-protocol.md`, refill).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

import philox
from workload import CaseError, OpenCase

SIGN_STREAM = 203
_MASK_WORDS = 2048
# Elements after which the mask repeats.
PERIOD = 32 * _MASK_WORDS
# Elements after which random values repeat.
TILE = 65536

Array = npt.NDArray[Any]

# The process's own random source: a run cannot know it.
_random = np.random.default_rng()


def sign_mask(seed: int) -> npt.NDArray[np.uint8]:
    """Return for the first `PERIOD` elements whether (1) their signs change; seed 0: none does."""
    if seed == 0:
        return np.zeros(PERIOD, np.uint8)
    words = philox.words(seed, SIGN_STREAM, 0, _MASK_WORDS)
    return np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")


def flip_signs(array: Array, mask: npt.NDArray[np.uint8]) -> None:
    """Change the signs of a contiguous array of floats in place, by a mask that repeats."""
    word = f"u{array.itemsize}"
    signs = mask.astype(word) << (8 * array.itemsize - 1)
    bits = array.view(word).reshape(-1)
    whole = bits.size // PERIOD * PERIOD
    for part, flipped in (
        (bits[:whole].reshape(-1, PERIOD), signs),
        (bits[whole:], signs[: bits.size - whole]),
    ):
        np.bitwise_xor(part, flipped, out=part)


class Refill:
    """Gives an open case the inputs of a seed, in its own copy of the shared inputs.

    `inputs.refilled` names the attributes that change. Their signs do, unless the inputs have a
    method `refill(before, after)`, which turns those of one seed into those of another in place. They
    are in a copy, which a method `own()` of the inputs makes if there is one.
    """

    def __init__(self, case: OpenCase, inputs: Any) -> None:
        self._case = case
        self._opened = inputs
        self._own: Any = None
        self._own_seed = self._seed = 0

    def __call__(self, seed: int) -> None:
        """Have further runs use the inputs of this seed; 0: those as opened."""
        if seed == self._seed or not self._opened.refilled:
            return
        self._case.load(self._opened if seed == 0 else self._refilled(seed))
        self._seed = seed

    def continue_from(self, outputs: Mapping[str, Array]) -> None:
        """Have further runs, until another refill, use these arrays for those in place."""
        if self._seed == 0:
            raise CaseError("continues: expected inputs of a refill, which may change")
        self._own.replace(outputs)
        self._case.load(self._own)

    def _refilled(self, seed: int) -> Any:
        if self._own is None:
            self._own = getattr(self._opened, "own", self._copied)()
        change = getattr(self._own, "refill", self._change_signs)
        change(self._own_seed, seed)
        self._own_seed = seed
        return self._own

    def _copied(self) -> Any:
        own = copy.copy(self._opened)
        for name in own.refilled:
            setattr(own, name, copy.deepcopy(getattr(own, name)))
        return own

    def _change_signs(self, before: int, after: int) -> None:
        mask = sign_mask(before) ^ sign_mask(after)
        for name in self._own.refilled:
            for array in _arrays(getattr(self._own, name)):
                flip_signs(array, mask)


def _arrays(value: Any) -> list[Array]:
    """Return an attribute's memory: of an array or tensor, or of a list of them."""
    return [np.asarray(part) for part in (value if isinstance(value, list) else [value])]


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
