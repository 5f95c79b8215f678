"""Parameters, start values and points of `linreg_train`; all engines use the same bits.

Each operation on x and y is rounded to float32, as NumPy does. Every fifth point is for the test.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import philox
from params import checked, integer, rate
from protocol import CaseSpec
from timing import now_ns

Floats = npt.NDArray[np.float32]

NOISE_STREAM = 1
TEST_EVERY = 5

# The study's start values of w and b.
START = (0.83, 0.7645)
LOSS_EVERY = 10

# A whole number of test intervals.
_CHUNK_POINTS = TEST_EVERY << 16

CHECKS = {
    "points": integer(1, 2**31 - 1),
    "epochs": integer(1, 100_000),
    "rate": rate(1),
}


class Params(NamedTuple):
    """The parameters of a case."""

    points: int
    epochs: int
    rate: float

    @classmethod
    def of(cls, spec: CaseSpec) -> Params:
        """Return the checked parameters of a case."""
        return cls(**checked(spec, CHECKS))


class Points:
    """The data set in host memory, made from the seed; shared by cases and read-only."""

    refilled = ("x_train",)
    """What a refill changes."""

    def __init__(self, points: int, seed: int) -> None:
        start_ns = now_ns()
        n_test = points // TEST_EVERY
        self.x_train, self.y_train = (np.empty(points - n_test, np.float32) for _ in range(2))
        self.x_test, self.y_test = (np.empty(n_test, np.float32) for _ in range(2))
        step = np.float32(10.0 / points)

        def make(first: int, count: int) -> None:
            i = np.arange(first, first + count)
            noise = np.empty(count, dtype=np.float32)
            philox.fill_uniform(noise, seed, NOISE_STREAM, -0.5, 0.5, first)
            x = i.astype(np.float32) * step
            y = (np.float32(2.0) * x + np.float32(1.0)) + noise
            _share_out(x, first, self.x_train, self.x_test)
            _share_out(y, first, self.y_train, self.y_test)

        philox.in_chunks(points, make, _CHUNK_POINTS)
        self.made_ns = now_ns() - start_ns


def _share_out(values: Floats, first: int, train: Floats, test: Floats) -> None:
    """Copy the values of points `first`, `first + 1`, … to their places in the two sets."""
    is_test = np.arange(values.size) % TEST_EVERY == TEST_EVERY - 1
    for chosen, target, start in (
        (values[is_test], test, first // TEST_EVERY),
        (values[~is_test], train, first - first // TEST_EVERY),
    ):
        target[start : start + chosen.size] = chosen
