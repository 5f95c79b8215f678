"""Runs on inputs that change before each, and on inputs that stay: what a file gains by remembering.

`forward_graph` runs a function again and again on the same inputs. One that recognised them, or its
output, could return at once (`docs/cheating.md`, rule 3; `gpu_changing.c` does this for rungs).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from capturing import capture
from case import Events, fill_randomly
from forward import Forward, listed

# As in bench/workloads/common/gpu_changing.c.
_LEAST_RUNS, _MOST_RUNS, _PART_OF_REPEATS = 2, 16, 4
_LARGE_BYTES, _LINE_BYTES = 4096, 128
# One takes 0.1 ms and more, about as long as a launch of such a graph takes on a shared host.
_BUSY_REPLAYS = 3
# Others may need what is free.
_SPARE_PART = 4

_random = random.SystemRandom()


class Changing:
    """Two graphs of copies and runs in turns, equal but for where the copies come from.

    In one they rotate the inputs, by another amount before each run, and outputs are overwritten with
    something else; in the other the copies have the same lengths, and all runs find the same inputs,
    and the outputs of the run before. A third graph is not timed: a
    run in its middle is on the inputs as opened, and its outputs are kept.
    """

    def __init__(
        self,
        forward: Forward,
        x: list[Tensor],
        outputs: Sequence[Tensor],
        *,
        may_rotate: Sequence[bool],
        opened: Sequence[Tensor],
        repeats: int,
    ) -> None:
        self._forward = forward
        self._x = x
        self._pairs = [(own.view(-1), torch.empty_like(own).view(-1)) for own in x]
        self._opened = [source.to(own.device) for own, source in zip(x, opened, strict=True)]
        self._left = [torch.empty_like(y) for y in self._own(outputs)]
        self.middle = [torch.empty_like(y) for y in self._own(outputs)]
        """What the run in the middle left, without outputs that are inputs, too."""
        self._runs = runs = min(max(repeats // _PART_OF_REPEATS, _LEAST_RUNS), _MOST_RUNS)
        each = [
            _amounts(own, runs) if may else [0] * runs
            for own, may in zip(x, may_rotate, strict=True)
        ]
        amounts = [[by[run] for by in each] for run in range(runs)]
        self._changed = capture(lambda: self._in_turns(amounts))
        self._same = capture(lambda: self._in_turns(amounts, rotated=False))
        self._checked = capture(lambda: self._in_turns(amounts, keep_middle=True))
        self._changed.replay()  # the first time takes longer

    def more_ns(self, events: Events) -> float:
        """Return how much longer a run takes if its inputs change.

        Before each graph that is timed others keep the device busy while the host submits it.
        """
        for own, copy in self._pairs:
            copy.copy_(own)
        fill_randomly(self._left)  # waits for the device
        self._keep_busy()
        _copy(self._left, self._changed.result)
        changed_ns = _time(self._changed.replay, events)
        self._same.replay()  # computes, as its outputs are elsewhere
        _copy(self._same.result, self._left)
        self._keep_busy()
        same_ns = _time(self._same.replay, events)
        fill_randomly([*self._left, *self.middle, *self._checked.result])
        self._checked.replay()
        for own, copy in self._pairs:
            own.copy_(copy)
        return max(0.0, (changed_ns - same_ns) / self._runs)

    def _keep_busy(self) -> None:
        for _ in range(_BUSY_REPLAYS if self._runs > _LEAST_RUNS else 1):
            self._same.replay()

    def _in_turns(
        self, amounts: Sequence[Sequence[int]], *, rotated: bool = True, keep_middle: bool = False
    ) -> Any:
        """Return the last run's outputs; all that a run reads or writes is copied before it."""
        outputs: list[Tensor] = []
        for run, each in enumerate(amounts):
            is_middle = keep_middle and run == (len(amounts) - 1) // 2  # never the last
            for (own, copy), by in zip(self._pairs, each, strict=True):
                rest = len(own) - by
                own[:rest].copy_(copy[by:] if rotated else copy[:rest])
                own[rest:].copy_(copy[:by] if rotated else copy[rest:])
            if is_middle:
                _copy(self._opened, self._x)
            if outputs:
                _copy(self._left, outputs)
            outputs = []  # so that the next ones are in the same memory
            outputs = self._own(listed(self._forward(self._x)))
            if is_middle:
                _copy(outputs, self.middle)
        return outputs

    def _own(self, outputs: Sequence[Tensor]) -> list[Tensor]:
        """Return those that are not in the inputs' memory."""
        inputs = {own.untyped_storage().data_ptr() for own in self._x}
        return [y for y in outputs if y.untyped_storage().data_ptr() not in inputs]


def fits(x: Sequence[Tensor], outputs: Sequence[Tensor]) -> bool:
    """Return whether there is memory for the copies, and for the outputs of two graphs."""
    need_bytes = 2 * sum(own.nbytes for own in x) + 5 * sum(y.nbytes for y in outputs)
    return need_bytes <= torch.cuda.mem_get_info()[0] // _SPARE_PART


def _amounts(x: Tensor, runs: int) -> list[int]:
    """Return by how many elements to rotate before each run: each another than the last one."""
    step = 1 if x.nbytes < _LARGE_BYTES else _LINE_BYTES // x.itemsize
    places = -(-x.numel() // step)
    found = [0]
    while places > 1 and len(found) <= runs:
        found.append((found[-1] // step + 1 + _random.randrange(places - 1)) % places * step)
    return found[1:] if places > 1 else found * runs


def _copy(sources: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
    """Copy each; no name that stays here keeps an output's memory from the next run."""
    for source, target in zip(sources, targets, strict=True):
        target.copy_(source)


def _time(work: Forward, events: Events) -> float:
    events.around(work)
    return events.elapsed_ns()
