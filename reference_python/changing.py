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
# Others may need what is free.
_SPARE_PART = 4

_random = random.SystemRandom()


class Changing:
    """Two graphs of copies and runs in turns; the copies of one change what runs read and write.

    A third one is not timed: a run in its middle is on the inputs as opened, and its outputs are kept.
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
        runs = min(max(repeats // _PART_OF_REPEATS, _LEAST_RUNS), _MOST_RUNS)
        each = [
            _amounts(own, runs) if may else [0] * runs
            for own, may in zip(x, may_rotate, strict=True)
        ]
        self._amounts = [[amounts[run] for amounts in each] for run in range(runs)]
        self._changed = capture(lambda: self._in_turns(back=True))
        self._same = capture(lambda: self._in_turns(back=False))
        self._checked = capture(lambda: self._in_turns(back=True, keep_middle=True))
        self._changed.replay()  # the first time takes longer

    def more_ns(self, events: Events) -> float:
        """Return how much longer a run takes if its inputs change."""
        for own, copy in self._pairs:
            copy.copy_(own)
        fill_randomly([*self._left, *self._changed.result])
        changed_ns = _time(self._changed.replay, events)
        _time(self._same.replay, events)  # whose outputs are elsewhere
        same_ns = _time(self._same.replay, events)
        fill_randomly([*self._left, *self.middle, *self._checked.result])
        self._checked.replay()
        for own, copy in self._pairs:
            own.copy_(copy)
        return max(0.0, (changed_ns - same_ns) / len(self._amounts))

    def _in_turns(self, *, back: bool, keep_middle: bool = False) -> Any:
        """Copy `back`, which changes what runs read and write; or the other way: as much work."""
        outputs: list[Tensor] = []
        for run, amounts in enumerate(self._amounts):
            is_middle = keep_middle and run == (len(self._amounts) - 1) // 2  # never the last
            for (own, copy), by in zip(self._pairs, amounts, strict=True):
                rest = len(own) - by
                _copy(own[:rest], copy[by:], back=back)
                _copy(own[rest:], copy[:by], back=back)
            if is_middle:
                for own, opened in zip(self._x, self._opened, strict=True):
                    own.copy_(opened)
            outputs = []  # so that the next ones are in the same memory
            outputs = self._own(listed(self._forward(self._x)))
            if is_middle:
                for y, kept in zip(outputs, self.middle, strict=True):
                    kept.copy_(y)
            for y, left in zip(outputs, self._left, strict=True):
                _copy(y, left, back=back)
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


def _copy(array: Tensor, copy: Tensor, *, back: bool) -> None:
    to, source = (array, copy) if back else (copy, array)
    to.copy_(source)


def _time(work: Forward, events: Events) -> float:
    events.around(work)
    return events.elapsed_ns()
