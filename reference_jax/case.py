"""Common parts of the workloads' cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import numpy as np

from device import JaxDevice
from refill import random_tile
from timing import Mark, now_ns

T = TypeVar("T")


class Case:
    """Base class of the cases that implement `workload.OpenCase`.

    Each is written as load(inputs), timed() and read(): `load` replaces the inputs of compiled code,
    `timed` gives what is timed, and `read` returns what the last run left.
    """

    def __init__(self, device: JaxDevice, mark: Mark) -> None:
        self.once_ns: dict[str, int] = {}
        self._device = device.jax_device
        self._mark = mark
        self._on_gpu = device.kind == "cuda"

    def results(self) -> dict[str, Any]:
        return {}

    def _once(self, name: str, work: Callable[..., T], *arguments: Any) -> T:
        """Return `work(*arguments)` when it is done; record its time as one-time cost `name`."""
        start_ns = now_ns()
        result = jax.block_until_ready(work(*arguments))
        self.once_ns[name] = now_ns() - start_ns
        return result


def nothing_to_wait_for() -> None:
    """Synchronise a `PhaseClock` whose work waits for its own arrays."""


def leave_random(outputs: Any) -> None:
    """Leave random values where outputs of this shape were: JAX reuses freed memory for the next.

    The caller must have dropped the outputs themselves.
    """

    def filled(y: Any) -> jax.Array:
        tile = random_tile(math.prod(y.shape))
        tile = tile > 0 if y.dtype == np.bool_ else tile * 128 if y.dtype.kind in "iu" else tile
        values = np.resize(tile.astype(y.dtype), y.shape)
        # In memory of JAX's own, also on the CPU; and nothing is compiled for it.
        return jax.device_put(values, y.sharding, may_alias=False)

    jax.block_until_ready(jax.tree.map(filled, outputs))
