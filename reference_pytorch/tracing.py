"""Traces one run of a case with PyTorch's profiler on the harness's clock.

The format is that of `trace` in `docs/worker-protocol.md`: Chrome Trace events in µs since an
origin on CLOCK_MONOTONIC_RAW, in a few categories.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from device import Device
from protocol import TraceRequest
from timing import Mark, Probe, now_ns

WARMUP_RUNS = 3
FIRST_DEVICE_TID = 1000

SOURCE = f"torch.profiler of PyTorch {torch.__version__}"

Event = dict[str, Any]

# The profiler's categories and ours; events of other categories are dropped.
CATEGORIES: Mapping[str, str] = {
    "user_annotation": "range",
    "cpu_op": "op",
    "cuda_runtime": "call",
    "cuda_driver": "call",
    "kernel": "kernel",
    "gpu_memcpy": "copy",
    "gpu_memset": "set",
}
ON_DEVICE = ("kernel", "copy", "set")
ARGUMENTS = (
    "correlation",
    "grid",
    "block",
    "registers per thread",
    "shared memory",
    "bytes",
    "stream",
    "graph node id",
)


def start(device: Device) -> str:
    """Prepare the profiler and return its name, the source of device events.

    CUPTI sees the kernels of a CUDA graph only if it was loaded when the graph was captured. The
    profiler loads it at its first use: here, before a case is opened.
    """
    with _profiler(device):
        torch.zeros(1, device=device.torch_device)
        device.synchronize()
    return SOURCE


def marks(device: Device) -> Mark:
    """Return a mark for both PyTorch's profiler and the device's."""

    @contextmanager
    def mark(name: str) -> Iterator[None]:
        with record_function(name), device.mark(name):
            yield

    return mark


def record(
    request: TraceRequest, probes: Sequence[Probe], output: Callable[[], Any], device: Device
) -> str:
    """Run every probe and `output` once, after a warm-up, and write the trace.

    Returns the source of device events.
    """
    for probe in probes:
        for _ in range(WARMUP_RUNS):
            probe()
    device.synchronize()
    before_ns = _ahead_of_wall_clock_ns()
    with _profiler(device) as profiler:
        with record_function(f"{request.id} sample"):
            for probe in probes:
                probe()
        with record_function("output"):
            output()
        device.synchronize()
    ahead_ns = (before_ns + _ahead_of_wall_clock_ns()) // 2
    with tempfile.TemporaryDirectory() as folder:
        exported = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(exported))
        trace = json.loads(exported.read_text(encoding="utf-8"))
    events = convert(trace, ahead_ns=ahead_ns, origin_ns=request.origin_ns)
    Path(request.path).write_text(json.dumps({"traceEvents": events}), encoding="utf-8")
    saw_device = any(event.get("cat") in ON_DEVICE for event in events)
    return SOURCE if saw_device or device.kind == "cpu" else f"{SOURCE}: saw no device work"


def convert(trace: Mapping[str, Any], *, ahead_ns: int, origin_ns: int) -> list[Event]:
    """Return the profiler's events in the harness's format.

    `ahead_ns` is the harness's clock minus the profiler's wall clock.
    """
    base_ns = int(trace.get("baseTimeNanoseconds", 0)) + ahead_ns - origin_ns
    rows: dict[tuple[bool, str], int] = {}
    events = []
    for event in sorted(_known(trace["traceEvents"]), key=_by_start):
        category = CATEGORIES[event["cat"]]
        row = (category in ON_DEVICE, str(event["tid"]))
        arguments = event.get("args", {})
        events.append(
            {
                "ph": "X",
                "name": event["name"],
                "cat": category,
                "pid": 1,
                "tid": rows.setdefault(row, _tid(row, len(rows))),
                "ts": (base_ns + round(event["ts"] * 1000)) / 1000,
                "dur": event["dur"],
                "args": {key: arguments[key] for key in ARGUMENTS if key in arguments},
            }
        )
    return [*(_row_name(row, tid) for row, tid in rows.items()), *events]


def _profiler(device: Device) -> AbstractContextManager[profile]:
    gpu = [ProfilerActivity.CUDA] if device.kind == "cuda" else []
    return profile(activities=[ProfilerActivity.CPU, *gpu])


def _ahead_of_wall_clock_ns() -> int:
    """Return the harness's clock minus the wall clock, from the tightest of several readings."""
    best_ns, ahead_ns = 1 << 62, 0
    for _ in range(10):
        start_ns = now_ns()
        wall_ns = time.time_ns()
        end_ns = now_ns()
        if end_ns - start_ns < best_ns:
            best_ns, ahead_ns = end_ns - start_ns, (start_ns + end_ns) // 2 - wall_ns
    return ahead_ns


def _known(events: Sequence[Event]) -> Iterator[Event]:
    for event in events:
        # The profiler adds ranges for its own steps.
        is_step = str(event.get("name", "")).startswith("ProfilerStep")
        if event.get("ph") == "X" and event.get("cat") in CATEGORIES and not is_step:
            yield event


def _by_start(event: Event) -> tuple[float, float]:
    """Sort by start; of two events that start together, the longer one contains the other."""
    return event["ts"], -event["dur"]


def _tid(row: tuple[bool, str], number: int) -> int:
    on_device, _ = row
    return FIRST_DEVICE_TID + number if on_device else 1 + number


def _row_name(row: tuple[bool, str], tid: int) -> Event:
    on_device, thread = row
    name = f"GPU, stream {thread}" if on_device else f"thread {thread}"
    return {
        "ph": "M",
        "name": "thread_name",
        "pid": 1,
        "tid": tid,
        "ts": 0,
        "args": {"name": name},
    }
