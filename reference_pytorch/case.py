"""Common parts of the workloads' cases: one-time costs, results, times between CUDA events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, TypeVar

import torch
from torch import Tensor

from device import Device
from refill import random_tile
from timing import Mark, Probe, Sample, now_ns

T = TypeVar("T")

# As they are before a user's file is loaded, which may replace them.
_record, _wait_for = torch.cuda.Event.record, torch.cuda.Event.synchronize
_elapsed_ms = torch.cuda.Event.elapsed_time


class Events:
    """A pair of CUDA events around some work; on the CPU only the work."""

    def __init__(self, device: Device) -> None:
        on_gpu = device.kind == "cuda"
        self._pair = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if on_gpu else []

    def around(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return `work(*arguments)` without waiting for the device."""
        if not self._pair:
            return work(*arguments)
        start, end = self._pair
        _record(start)
        result = work(*arguments)
        _record(end)
        return result

    def elapsed_ns(self) -> float:
        """Wait for the work and return its time on the device; needs a GPU."""
        start, end = self._pair
        _wait_for(end)
        return _elapsed_ms(start, end) * 1e6


class Case:
    """Base class of the cases that implement `workload.OpenCase`."""

    def __init__(self, device: Device, mark: Mark) -> None:
        self.once_ns: dict[str, int] = {}
        self._device = device
        self._mark = mark
        self._on_gpu = device.kind == "cuda"
        self._events = Events(device)
        self._left: Any = None
        """What the last run of a probe computed."""

    def results(self) -> dict[str, Any]:
        return {}

    def _keeping(self, probes: Sequence[Probe]) -> list[Probe]:
        """Return the probes, each of which keeps what its run computes until the next run."""

        def keeping(probe: Probe) -> Probe:
            @wraps(probe)
            def run() -> Sample:
                # Dropped before the run, which can then reuse its memory.
                self._left = None
                sample = probe()
                self._left = sample.output
                return sample

            return run

        return [keeping(probe) for probe in probes]

    def _once(self, name: str, work: Callable[..., T], *arguments: Any) -> T:
        """Return `work(*arguments)` and record its time as the one-time cost `name`."""
        self._device.synchronize()
        start_ns = now_ns()
        result = work(*arguments)
        self._device.synchronize()
        self.once_ns[name] = now_ns() - start_ns
        return result


def fill_randomly(outputs: Iterable[Tensor]) -> None:
    """Fill each tensor with random values."""
    for y in outputs:
        # Detached to bypass autograd.
        flat = y.detach().view(-1)
        tile = torch.from_numpy(random_tile(flat.numel()))
        if not flat.is_floating_point():
            tile = tile > 0 if flat.dtype == torch.bool else (tile.abs() * 128)
        tile = tile.to(y.device, y.dtype)
        whole = flat.numel() // len(tile) * len(tile)
        flat[:whole].view(-1, len(tile)).copy_(tile)
        flat[whole:].copy_(tile[: flat.numel() - whole])
