"""The device that a worker runs on: description, memory statistics, errors."""

from __future__ import annotations

import os
import re
import shutil
from typing import Any

import jax
import jax.numpy as jnp

from compute_device import Device
from jax_needs import built_for, pip_install
from needs import Unavailable, causes, first_line, visible_devices
from protocol import DeviceLost
from timing import now_ns


class JaxDevice(Device):
    """What both kinds have in common. Nothing to synchronise: cases wait for their own arrays."""

    jax_device: jax.Device


class CpuDevice(JaxDevice):
    """The host's processors, with XLA's default number of threads."""

    kind = "cpu"

    def __init__(self) -> None:
        # Each call would go to another thread, which takes longer than a short one itself.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        self.jax_device = jax.devices("cpu")[0]
        self.once_ns = {}

    def versions(self) -> dict[str, str]:
        return {"threads": str(len(os.sched_getaffinity(0)))}


class CudaDevice(JaxDevice):
    """The first GPU that CUDA shows; `CUDA_VISIBLE_DEVICES` chooses among several."""

    kind = "cuda"

    def __init__(self) -> None:
        start_ns = now_ns()
        try:
            self.jax_device = jax.devices("cuda")[0]
            jnp.zeros(1, device=self.jax_device).block_until_ready()
        except (RuntimeError, AssertionError) as error:  # the latter without any platform
            raise Unavailable(_why_no_cuda(error)) from error
        self.once_ns = {"context": now_ns() - start_ns}
        self.watch_memory()

    def describe(self) -> dict[str, Any]:
        description = {"kind": self.kind, "name": self.jax_device.device_kind}
        capability = getattr(self.jax_device, "compute_capability", None)
        if capability:
            description["arch"] = f"sm_{capability.replace('.', '')}"
        return description

    def versions(self) -> dict[str, str]:
        return {"cuda": built_for()}

    def watch_memory(self) -> None:
        before = self._memory()
        self._in_use_before = before.get("bytes_in_use", 0)
        self._peak_before = before.get("peak_bytes_in_use", 0)

    def peak_bytes(self) -> int | None:
        """Return the peak above what was in use; None if an earlier case's was higher."""
        peak = self._memory().get("peak_bytes_in_use", 0)
        return peak - self._in_use_before if peak > self._peak_before else None

    def expect_alive(self, error: BaseException) -> None:
        # After a kernel fault every CUDA call returns the same error.
        try:
            jnp.zeros(1, device=self.jax_device).block_until_ready()
        except RuntimeError:
            what = f"{type(error).__name__}: {first_line(error)}"
            raise DeviceLost(f"the device is unusable: {what}") from error

    def _memory(self) -> dict[str, int]:
        return self.jax_device.memory_stats() or {}


DEVICES = {device.kind: device for device in (CudaDevice, CpuDevice)}


def out_of_memory_reason(error: BaseException, device_kind: str) -> str | None:
    """Return a reason with numbers if memory ran out, else None."""
    for cause in causes(error):
        if isinstance(cause, MemoryError):
            return f"does not fit into host memory: {first_line(cause)}"
        if re.match("RESOURCE_EXHAUSTED|Out of memory", first_line(cause)):
            where = "device" if device_kind == "cuda" else "host"
            return f"does not fit into {where} memory: {first_line(cause)}"
    return None


def _why_no_cuda(error: BaseException) -> str:
    name = f"JAX {jax.__version__}"
    if built_for() == "the CPU":
        cure = f": {pip_install('jax[cuda13]')}" if shutil.which("nvidia-smi") else ""
        return f"no CUDA device ({name} is a CPU build){cure}"
    return f"no CUDA device ({name}: {first_line(error)}{visible_devices()})"
