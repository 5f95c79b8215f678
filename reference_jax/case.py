"""Common parts of the workloads' cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from device import JaxDevice
from timing import Mark, now_ns

T = TypeVar("T")


class Case:
    """Base class of the cases that implement `workload.OpenCase`.

    Each is written as load(inputs), run() and read(): `load` replaces the inputs of compiled code,
    `run` is what is timed, and `read` returns what the last run left.
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


def poison(outputs: Any) -> None:
    """Leave NaN where outputs of this shape were: JAX reuses freed memory for the next ones.

    The caller must have dropped the outputs themselves.
    """
    jax.block_until_ready(
        jax.tree.map(lambda y: jnp.full(y.shape, jnp.nan, y.dtype, device=y.sharding), outputs)
    )
