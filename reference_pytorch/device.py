"""The device that a worker runs on: description, synchronisation, memory statistics."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import Any

import torch

from compute_device import Device as ComputeDevice
from needs import Unavailable, causes, first_line, visible_devices
from operator_fill import Filler
from protocol import DeviceLost
from timing import now_ns

# As they are before a user's file is loaded, which may replace them; the first without what
# torch.cuda.synchronize() does beside it.
_wait_for_all = getattr(torch._C, "_cuda_synchronize", torch.cuda.synchronize)
_wait_for_stream = torch.cuda.Stream.synchronize


class Device(ComputeDevice):
    """What the worker needs of a device; the defaults suit the CPU."""

    torch_device: torch.device
    filler: Filler | None = None
    """What fills inputs of operators on the device; None: the host does."""

    def versions(self) -> dict[str, str]:
        return {"threads": str(torch.get_num_threads())}

    def stream_waiter(self) -> Callable[[], None]:
        """Return what waits for all work on the current stream, with the least Python in it."""
        return self.synchronize


class CpuDevice(Device):
    """The host's processors, with PyTorch's default number of threads."""

    kind = "cpu"
    _GRAIN = 32768  # elements for which PyTorch starts another thread

    def __init__(self) -> None:
        self.torch_device = torch.device("cpu")
        self.once_ns = {}
        self._scratch = torch.zeros(self._GRAIN * torch.get_num_threads())

    def wake(self) -> None:
        # New inputs take so long to make that threads have gone to sleep: the next run took 1 ms more.
        for _ in range(20):
            self._scratch.add_(1)


class CudaDevice(Device):
    """The first GPU that CUDA shows; `CUDA_VISIBLE_DEVICES` chooses among several."""

    kind = "cuda"

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise Unavailable(f"no CUDA device ({_why_no_cuda()})")
        self.torch_device = torch.device("cuda", 0)
        start_ns = now_ns()
        try:
            torch.zeros(1, device=self.torch_device)
            torch.cuda.synchronize()
        except RuntimeError as error:
            raise Unavailable(f"the CUDA device cannot be used: {first_line(error)}") from error
        self.once_ns = {"context": now_ns() - start_ns}
        self.watch_memory()

    def describe(self) -> dict[str, Any]:
        properties = torch.cuda.get_device_properties(self.torch_device)
        description = {
            "kind": self.kind,
            "name": properties.name,
            "arch": f"sm_{properties.major}{properties.minor}",
            "memory_bytes": properties.total_memory,
            "multiprocessors": properties.multi_processor_count,
        }
        # Older versions of PyTorch lack these two.
        if hasattr(properties, "uuid"):
            description["uuid"] = f"GPU-{properties.uuid}"
        if hasattr(properties, "L2_cache_size"):
            description["l2_bytes"] = properties.L2_cache_size
        return description

    def versions(self) -> dict[str, str]:
        return {"cuda": torch.version.cuda or "none", **super().versions()}

    def synchronize(self) -> None:
        _wait_for_all()

    def stream_waiter(self) -> Callable[[], None]:
        return partial(_wait_for_stream, torch.cuda.current_stream())

    def mark(self, name: str) -> AbstractContextManager[Any]:
        return torch.cuda.nvtx.range(name)

    def watch_memory(self) -> None:
        # Other open cases hold memory, too.
        self._allocated_before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()

    def peak_bytes(self) -> int | None:
        return max(0, torch.cuda.max_memory_allocated() - self._allocated_before)

    def expect_alive(self, error: BaseException) -> None:
        # After a kernel fault every CUDA call returns the same error.
        try:
            torch.cuda.synchronize()
        except RuntimeError:
            what = f"{type(error).__name__}: {first_line(error)}"
            raise DeviceLost(f"the device is unusable: {what}") from error

    def release_unused(self) -> None:
        super().release_unused()
        # The error that makes this fail has been reported already.
        with suppress(RuntimeError):
            torch.cuda.empty_cache()


DEVICES = {device.kind: device for device in (CudaDevice, CpuDevice)}


def out_of_memory_reason(error: BaseException) -> str | None:
    """Return a reason with numbers if memory ran out, else None."""
    for cause in causes(error):
        line = (str(cause).splitlines() or ["out of memory"])[0]
        # Drop the advice about other processes and settings after the sizes.
        line = re.sub(r"(is free\.).*", r"\1", line)
        if isinstance(cause, torch.cuda.OutOfMemoryError):
            return f"does not fit into device memory: {line}"
        if isinstance(cause, MemoryError) or "DefaultCPUAllocator: " in line:
            return f"does not fit into host memory: {line}"
    return None


def _why_no_cuda() -> str:
    name = f"PyTorch {torch.__version__}"
    if torch.version.cuda is None:
        return f"{name} is a CPU build"
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        message = first_line(error)
        if "driver on your system is too old" in message:
            return f"NVIDIA's driver is too old for {name}, which needs CUDA {torch.version.cuda}"
        if "no NVIDIA driver" in message:
            return f"{name} finds no NVIDIA driver"
        return f"{name}: {message}{visible_devices()}"
    return f"{name} finds none{visible_devices()}"
