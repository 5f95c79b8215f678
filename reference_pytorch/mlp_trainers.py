"""Ways to run the training steps of a multilayer perceptron, without timing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from mlp_model import build_model
from mnist_mlp import DeviceImages, MlpParams

_IMAGES_AT_ONCE = 8192
# A learning rate that reveals the gradient: the step dwarfs the weights, however small the gradient of
# the first of many layers is, and fits into float32.
_PROBE_RATE = 2.0**60


class Task(NamedTuple):
    """What to train on, in device memory; for a loader, images and order in host memory."""

    params: MlpParams
    images: DeviceImages
    order: Tensor
    """Image indices, int32, in the order of the steps."""
    losses: Tensor
    """The loss of each step, before the update."""

    @property
    def device(self) -> torch.device:
        return self.losses.device

    @property
    def full_steps(self) -> int:
        """The number of steps with a full batch."""
        return self.order.numel() // self.params.batch

    @property
    def batches(self) -> Tensor:
        """The order of the full batches, one per row."""
        n = self.full_steps * self.params.batch
        return self.order.view(-1)[:n].view(self.full_steps, self.params.batch)

    @property
    def rest(self) -> Tensor:
        """The indices of the smaller last batch; empty if the batch divides the images."""
        return self.order.view(-1)[self.full_steps * self.params.batch :]

    def first_batches(self, steps: int) -> Sequence[Tensor]:
        """Return the image indices of each of the first steps."""
        return self.order.view(-1)[: steps * self.params.batch].split(self.params.batch)


class Trainer:
    """Training operation by operation, with autograd and SGD."""

    optimizer_options: Mapping[str, Any] = {}

    def __init__(self, task: Task) -> None:
        self._task = task
        self._model = build_model(task.params.layers, task.device)
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), lr=self._start_rate(), **self.optimizer_options
        )

    @property
    def weights(self) -> list[Tensor]:
        """Return W and b of layer 0, 1, …."""
        return list(self._model.parameters())

    @torch.no_grad()
    def start(self, weights: Sequence[Tensor]) -> None:
        """Set the weights without waiting for copies from pinned memory."""
        for own, given in zip(self.weights, weights, strict=True):
            own.copy_(given, non_blocking=True)

    def set_rate(self, rate: float) -> None:
        """Change the learning rate of all further steps, captured ones included."""
        self._optimizer.param_groups[0]["lr"] = rate

    def run(self, steps: int) -> None:
        """Run the first `steps` steps and record their losses."""
        for step, (x, y) in enumerate(self._batches(steps)):
            self._task.losses[step].copy_(self._step(x, y))

    def gradients(self) -> list[Tensor]:
        """Run the first step; return the gradients of its mean loss by the weights."""
        return self.gradients_of(lambda: self.run(1))

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients that autograd leaves after `run_step`."""
        run_step()
        grads = [weight.grad for weight in self.weights]
        return [grad for grad in grads if grad is not None]

    def _start_rate(self) -> float | Tensor:
        return self._task.params.rate

    def _batches(self, steps: int) -> Iterator[tuple[Tensor, Tensor]]:
        images = self._task.images
        for numbers in self._task.first_batches(steps):
            x = images.train_x.index_select(0, numbers)
            yield x, images.train_y.index_select(0, numbers)

    def _step(self, x: Tensor, y: Tensor) -> Tensor:
        self._optimizer.zero_grad()
        loss = self._loss(x, y)
        loss.backward()
        self._optimizer.step()
        return loss.detach()

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        return functional.cross_entropy(self._model(x), y)


class GathersAhead(ABC):
    """Steps that read their position from a counter on the device; for capture in a graph.

    Several steps gather their images together.
    """

    _task: Task

    def _count_steps(self) -> None:
        """Allocate the counter."""
        device = self._task.device
        self._next = torch.zeros(1, dtype=torch.int64, device=device)
        n = max(1, _IMAGES_AT_ONCE // self._task.params.batch)
        self._ahead = torch.arange(n, device=device)

    def rewind(self) -> None:
        """Go back to the first step."""
        self._next.zero_()

    def advance(self, steps: int) -> None:
        """Run the next steps, all with full batches."""
        at_once = len(self._ahead)
        for first in range(0, steps, at_once):
            numbers = self._next + self._ahead[: min(at_once, steps - first)]
            self._advance(numbers, self._task.batches.index_select(0, numbers))

    def advance_last(self) -> None:
        """Run the step with the smaller last batch."""
        self._advance(self._next + self._ahead[:1], self._task.rest.view(1, -1))

    @abstractmethod
    def _step(self, x: Tensor, y: Tensor) -> Tensor:
        """Run a step on these images; return its loss."""

    def _advance(self, steps: Tensor, numbers: Tensor) -> None:
        """Run steps on the images with these indices, one row per step."""
        images, (n_steps, n_images) = self._task.images, numbers.shape
        x = images.train_x.index_select(0, numbers.view(-1)).split(n_images)
        y = images.train_y.index_select(0, numbers.view(-1)).split(n_images)
        losses = [self._step(*batch) for batch in zip(x, y, strict=True)]
        self._task.losses.index_copy_(0, steps, torch.stack(losses))
        self._next.add_(n_steps)


class FusedTrainer(GathersAhead, Trainer):
    """Weights updated by one kernel.

    All inputs of a step, the learning rate included, are in device memory.
    """

    optimizer_options: Mapping[str, Any] = {"fused": True}
    captured_rate = None

    def __init__(self, task: Task) -> None:
        self._rate = torch.full((), task.params.rate, device=task.device)
        super().__init__(task)
        self._count_steps()

    def set_rate(self, rate: float) -> None:
        self._rate.fill_(rate)

    def _step(self, x: Tensor, y: Tensor) -> Tensor:
        return Trainer._step(self, x, y)

    def _start_rate(self) -> float | Tensor:
        return self._rate


class StaticTrainer(ABC):
    """Training without autograd's tensors: compiled, or with a backward pass written by hand."""

    weights: Sequence[Tensor]
    """W and b of layer 0, 1, …."""
    captured_rate: float | None = None
    """The learning rate that a captured graph keeps; None: it reads the rate from memory."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def start(self, weights: Sequence[Tensor]) -> None:
        """Set the weights without waiting for copies from pinned memory."""
        for own, given in zip(self.weights, weights, strict=True):
            own.copy_(given, non_blocking=True)

    def compile(self, runs: int) -> None:
        """Run each step `runs` times as the first one."""
        rest = [self.advance_last] if self._task.rest.numel() > 0 else []
        for step in (lambda: self.advance(1), *rest):
            for _ in range(runs):
                self.rewind()
                step()

    def run(self, steps: int) -> None:
        """Run the first `steps` steps and record their losses."""
        self.rewind()
        full = min(steps, self._task.full_steps)
        self.advance(full)
        if steps > full:
            self.advance_last()

    def gradients(self) -> list[Tensor]:
        """Run the first step; return the gradients of its mean loss by the weights."""
        return self.gradients_of(lambda: self.run(1))

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients of the step that `run_step` runs.

        Such a step keeps no gradients, so compute them from the weights' change at a high rate.
        """
        before = [weight.clone() for weight in self.weights]
        self.set_rate(_PROBE_RATE)
        run_step()
        self.set_rate(self._task.params.rate)
        pairs = zip(before, self.weights, strict=True)
        return [(old - new) / _PROBE_RATE for old, new in pairs]

    @abstractmethod
    def set_rate(self, rate: float) -> None:
        """Change the learning rate of all further steps."""

    @abstractmethod
    def rewind(self) -> None:
        """Go back to the first step."""

    @abstractmethod
    def advance(self, steps: int) -> None:
        """Run the next steps, all with full batches."""

    @abstractmethod
    def advance_last(self) -> None:
        """Run the step with the smaller last batch."""
