"""`allocate`: the cost of allocating and freeing device memory for an operator's output.

A change frees one block in use, chosen at random, and allocates one of another size. The sizes are
the output sizes of the operators of one training step; blocks and sizes come from the same random
numbers as on the CUDA side (`bench/workloads/allocate/session.c`).

caching  PyTorch's caching allocator, called through the functions that
         `torch.cuda.caching_allocator_alloc` and `caching_allocator_delete` wrap; the wrappers look
         up device and stream in Python for every call.

`total` is the time of a change, from a batch between two clock readings, minus the time of the same
loop with two built-in functions of as many arguments (`loop_ns` in the results). Of Python's cost
only the extension's argument parsing and the release of the GIL remain. `total` is split into
`allocate` and `free` in the ratio measured in another batch, with the clock read between all calls.
`batch` is all of the first batch with Python's loop, which an audit can see from outside.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np
import torch

import philox
from device import Device
from protocol import CaseSpec
from timing import Mark, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, Skip

START_STREAM, VICTIM_STREAM, SIZE_STREAM = range(3)
CHANGES = 1000
_AUDIT_BATCHES = 16
OUTPUTS = (
    *(200704, 200704, 200704, 2560),  # products and biases, forward
    *(200704, 200704, 200704),  # ReLU
    *(256, 4, 2560),  # loss of each row, their mean, gradient of the logits
    *(200704, 200704, 200704),  # gradients after ReLU
    *(200704, 200704, 200704),  # gradients before it
    *(2458624, 2458624, 2458624, 31360),  # of the weights
    *(3136, 3136, 3136, 40),  # of the biases
)
_MAX_LIVE = 1_000_000


class Change(NamedTuple):
    """The block to free, and the size of its replacement."""

    block: int
    size: int


class Trace:
    """The start sizes of a case's blocks and the endless list of changes."""

    refilled = False

    def __init__(self, live: int, seed: int) -> None:
        self._live, self._seed = live, seed
        self._outputs = np.array(OUTPUTS)

    def start(self) -> list[int]:
        """Return the size of every block at the beginning."""
        chosen = philox.words(self._seed, START_STREAM, 0, self._live) % len(OUTPUTS)
        return self._outputs[chosen].tolist()

    def changes(self, first: int, count: int) -> list[Change]:
        """Return changes `first` … `first + count - 1`."""
        blocks = philox.words(self._seed, VICTIM_STREAM, first, count) % np.uint32(self._live)
        chosen = philox.words(self._seed, SIZE_STREAM, first, count) % len(OUTPUTS)
        return list(map(Change, blocks.tolist(), self._outputs[chosen].tolist()))


class Calls(NamedTuple):
    """The two calls of an allocator."""

    allocate: Callable[[int, int], int]
    """Takes bytes and stream, returns an address."""
    free: Callable[[int], Any]


# Almost free functions with as many integer arguments as the real ones.
NOTHING = Calls(operator.add, operator.index)


class Allocations:
    """An open case with all its blocks allocated."""

    phases: dict[str, ClockDomain] = dict.fromkeys(("allocate", "free", "total", "batch"), "host")
    audited = "batch"

    def __init__(
        self, trace: Trace, calls: Calls, stream: int, synchronize: Callable[[], None], mark: Mark
    ) -> None:
        self._trace, self._calls, self._stream = trace, calls, stream
        self._synchronize = synchronize
        self._mark = mark
        self._next = 0
        self._loop_ns = 0.0
        self._clock_ns = _clock_cost_ns()
        # Drawn once: that takes longer than an audit of them.
        self._audit_batches = [trace.changes(i * CHANGES, CHANGES) for i in range(_AUDIT_BATCHES)]
        self._sizes = trace.start()
        self._blocks: list[int] = []
        # Blocks are not tensors: nothing else frees them.
        weakref.finalize(self, _free_all, self._blocks, calls.free)
        start_ns = now_ns()
        self._blocks.extend(calls.allocate(size, stream) for size in self._sizes)
        self.once_ns: dict[str, int] = {"fill": now_ns() - start_ns}
        self.probes: list[Probe] = [self._change]

    def load(self, inputs: Trace) -> None:
        """Have further changes come from this list."""
        self._trace = inputs

    def leave_random(self) -> None:
        """Do nothing: a change writes no buffer."""

    @contextmanager
    def timed(self) -> Iterator[Callable[[], None]]:
        """Run batches that take turns: the same one again would meet the blocks it freed."""
        batches = cycle(self._audit_batches)
        done: list[list[Change]] = []

        def run() -> None:
            done.append(next(batches))
            _time_batch(self._calls, self._blocks, done[-1], self._stream)

        yield run
        for batch in done[-_AUDIT_BATCHES:]:
            self._keep_sizes(batch)

    def read(self) -> dict[str, np.ndarray]:
        """Return nothing: a change computes nothing."""
        return {}

    def output(self, *, compares: bool = True) -> dict[str, np.ndarray]:
        """Check that no two blocks overlap after some changes; there are no arrays."""
        self._change()
        blocks = sorted(zip(self._blocks, self._sizes, strict=True))
        for (address, size), (following, _) in zip(blocks, blocks[1:], strict=False):
            if address + size > following:
                raise CaseError(f"output: {size} bytes at {address:#x} overlap {following:#x}")
        return {}

    def results(self) -> dict[str, Any]:
        return {"changes": CHANGES, "loop_ns": self._loop_ns, "clock_ns": self._clock_ns}

    def _change(self) -> Sample:
        batch, timed_calls = self._draw(), self._draw()
        with self._mark("changes"):
            self._loop_ns = _time_batch(NOTHING, list(self._blocks), batch, self._stream)
            change_ns = _time_batch(self._calls, self._blocks, batch, self._stream)
            allocate_ns, free_ns = _time_calls(self._calls, self._blocks, timed_calls, self._stream)
        self._synchronize()
        self._keep_sizes(batch + timed_calls)
        total_ns = max(change_ns - self._loop_ns, 0.0)
        allocate_ns = max(allocate_ns - self._clock_ns, 1.0)
        free_ns = max(free_ns - self._clock_ns, 1.0)
        share = allocate_ns / (allocate_ns + free_ns)
        return Sample(
            {
                "allocate": total_ns * share,
                "free": total_ns * (1 - share),
                "total": total_ns,
                "batch": change_ns * CHANGES,
            }
        )

    def _keep_sizes(self, batch: list[Change]) -> None:
        for block, size in batch:
            self._sizes[block] = size

    def _draw(self) -> list[Change]:
        changes = self._trace.changes(self._next, CHANGES)
        self._next += CHANGES
        return changes


class Allocate:
    """The workload, as `workload.Workload` describes one."""

    modes = ("caching",)

    def make_inputs(self, spec: CaseSpec, seed: int) -> Trace:
        """Return the trace of a case with these parameters."""
        if spec.dtype != "f32":
            raise Skip(f"dtype {spec.dtype}: blocks have no dtype, cases are listed as f32")
        return Trace(_live_of(spec), seed)

    def open(self, spec: CaseSpec, inputs: Trace, device: Device, mark: Mark) -> Allocations:
        """Make a case ready."""
        if device.kind != "cuda":
            raise Skip("PyTorch's caching allocator manages device memory: needs a GPU")
        if torch.cuda.get_allocator_backend() != "native":
            raise Skip("PYTORCH_CUDA_ALLOC_CONF selects another allocator")
        calls = Calls(
            torch._C._cuda_cudaCachingAllocator_raw_alloc,
            torch._C._cuda_cudaCachingAllocator_raw_delete,
        )
        stream = torch.cuda.current_stream().cuda_stream
        return Allocations(inputs, calls, stream, device.synchronize, mark)


def _live_of(spec: CaseSpec) -> int:
    for name in spec.params:
        if name != "live":
            raise CaseError(f"params.{name}: unknown; known: live")
    live = spec.params.get("live")
    # In Python, bool is a subclass of int.
    if not isinstance(live, int) or isinstance(live, bool) or not 1 <= live <= _MAX_LIVE:
        raise CaseError(f"params.live: expected an integer from 1 to {_MAX_LIVE}, found {live!r}")
    return live


def _time_batch(calls: Calls, blocks: list[int], changes: list[Change], stream: int) -> float:
    """Return the mean time of a change."""
    allocate, free = calls
    start_ns = now_ns()
    for block, size in changes:
        free(blocks[block])
        blocks[block] = allocate(size, stream)
    return (now_ns() - start_ns) / len(changes)


def _time_calls(
    calls: Calls, blocks: list[int], changes: list[Change], stream: int
) -> tuple[float, float]:
    """Return the mean times of allocating and freeing, each including one clock reading."""
    allocate, free = calls
    allocate_ns = free_ns = 0
    for block, size in changes:
        start_ns = now_ns()
        free(blocks[block])
        between_ns = now_ns()
        blocks[block] = allocate(size, stream)
        allocate_ns += now_ns() - between_ns
        free_ns += between_ns - start_ns
    return allocate_ns / len(changes), free_ns / len(changes)


def _clock_cost_ns() -> float:
    spent_ns = 0
    for _ in range(CHANGES):
        start_ns = now_ns()
        spent_ns += now_ns() - start_ns
    return spent_ns / CHANGES


def _free_all(blocks: list[int], free: Callable[[int], Any]) -> None:
    while blocks:
        free(blocks.pop())
