"""Training steps of a multilayer perceptron, captured in CUDA graphs."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from capturing import Captured, capture, run_on_side_stream
from mlp_compiled import CompiledTrainer
from mlp_manual import ManualTrainer
from mlp_trainers import FusedTrainer, Task

# A replay costs the host some microseconds: negligible next to so many steps.
_STEPS_AT_ONCE = 256
_REST = 0


class CapturedTrainer:
    """Another trainer's steps, captured in graphs of as many as a run has, of fewer and of one."""

    def __init__(
        self, trainer: FusedTrainer | CompiledTrainer | ManualTrainer, task: Task, run_steps: int
    ) -> None:
        self._trainer = trainer
        self._task = task
        at_once = max(1, min(_STEPS_AT_ONCE, run_steps))
        # Captured last: one step, because autograd's gradients belong to the last graph.
        self._lengths = sorted({at_once, run_steps % at_once, 1} - {0}, reverse=True)
        self._graphs: dict[tuple[int, float | None], Captured[None]] = {}
        # Two steps call the functions that several steps do.
        self._warm_up(min(2, at_once))
        if task.rest.numel() > 0:
            self._warm_up(_REST)
            self._graph(_REST)
        for steps in self._lengths:
            self._graph(steps)

    @property
    def weights(self) -> Sequence[Tensor]:
        return self._trainer.weights

    def start(self, weights: Sequence[Tensor]) -> None:
        self._trainer.start(weights)

    def set_rate(self, rate: float) -> None:
        self._trainer.set_rate(rate)

    def run(self, steps: int) -> None:
        self._trainer.rewind()
        left = min(steps, self._task.full_steps)
        last = steps > left
        for length in self._lengths:
            for _ in range(left // length):
                self._graph(length).replay()
            left %= length
        if last:
            self._graph(_REST).replay()

    def gradients(self) -> list[Tensor]:
        def run_step() -> None:
            self._trainer.rewind()
            self._graph(1).replay()

        return self._trainer.gradients_of(run_step)

    def _advance(self, steps: int) -> None:
        if steps == _REST:
            self._trainer.advance_last()
        else:
            self._trainer.advance(steps)

    def _warm_up(self, steps: int) -> None:
        def from_the_first() -> None:
            self._trainer.rewind()
            self._advance(steps)

        run_on_side_stream(from_the_first)

    def _graph(self, steps: int) -> Captured[None]:
        """Return the graph of so many steps, captured before unless the rate is a new one."""
        key = steps, self._trainer.captured_rate
        if key not in self._graphs:
            self._graphs[key] = capture(lambda: self._advance(steps))
        return self._graphs[key]
