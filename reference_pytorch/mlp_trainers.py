"""Ways to run the training steps of a multilayer perceptron, without timing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import grad_and_value
from torch.nn import functional

from capturing import capture, compiled, run_on_side_stream
from mlp_model import build_model, logits_of
from mnist_mlp import DeviceImages, MlpParams

# A replay costs the host some microseconds: negligible next to fifty steps.
_STEPS_AT_ONCE = 50
_IMAGES_AT_ONCE = 8192
# Learning rates that reveal the gradient: the step dwarfs the weights, however small the gradient of
# the first of many layers is. The step fits into float32; in float16, gradients below 16 fit.
_PROBE_RATE = {torch.float32: 2.0**60, torch.float16: 4096.0}


class Task(NamedTuple):
    """What to train on, in device memory; for a loader, images and order in host memory."""

    params: MlpParams
    dtype: torch.dtype
    """The dtype of inputs and products."""
    images: DeviceImages
    order: Tensor
    """Image indices, int32, in the order of the steps."""
    losses: Tensor
    """The loss of each step, before the update."""
    reduction: Literal["mean", "sum"] = "mean"
    """How a batch's losses are combined into the loss that a step minimises and records."""

    @property
    def device(self) -> torch.device:
        return self.losses.device

    @property
    def scale(self) -> int:
        """The factor of losses and gradients relative to those of the mean."""
        return self.params.batch if self.reduction == "sum" else 1

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
    """Training with float32 weights, operation by operation, with autograd and SGD."""

    optimizer_options: Mapping[str, Any] = {}

    def __init__(self, task: Task) -> None:
        self._task = task
        self._model = build_model(task.params.layers, task.device, self._weights_dtype())
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
        self._optimizer.param_groups[0]["lr"] = rate / self._task.scale

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
        return [grad.float() / self._task.scale for grad in grads if grad is not None]

    def release(self) -> None:
        """Free weights and gradients; the trainer cannot be used again.

        The optimiser is part of a reference cycle, and between samples no garbage collector runs.
        """
        self._optimizer.zero_grad()
        self._optimizer.param_groups.clear()
        self._optimizer.state.clear()

    def _start_rate(self) -> float | Tensor:
        return self._task.params.rate / self._task.scale

    def _weights_dtype(self) -> torch.dtype:
        return torch.float32

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
        logits = self._model(x).float()
        return functional.cross_entropy(logits, y, reduction=self._task.reduction)


class FusedTrainer(Trainer):
    """Weights in the products' dtype, updated by one kernel; for capture in a graph.

    The step counter and all other inputs of a step, the learning rate included, are in device
    memory. Several steps gather their images together.
    """

    optimizer_options: Mapping[str, Any] = {"fused": True}

    def __init__(self, task: Task) -> None:
        self._rate = torch.full((), task.params.rate / task.scale, device=task.device)
        super().__init__(task)
        self._next = torch.zeros(1, dtype=torch.int64, device=task.device)
        self._ahead = torch.arange(_STEPS_AT_ONCE, device=task.device)

    def set_rate(self, rate: float) -> None:
        self._rate.fill_(rate / self._task.scale)

    def rewind(self) -> None:
        """Go back to the first step."""
        self._next.zero_()

    def advance(self, steps: int) -> None:
        """Run the next steps, all with full batches."""
        steps_ahead = self._next + self._ahead[:steps]
        self._advance(steps_ahead, self._task.batches.index_select(0, steps_ahead))

    def advance_last(self) -> None:
        """Run the step with the smaller last batch."""
        self._advance(self._next + self._ahead[:1], self._task.rest.view(1, -1))

    def _start_rate(self) -> float | Tensor:
        return self._rate

    def _weights_dtype(self) -> torch.dtype:
        return self._task.dtype

    def _advance(self, steps: Tensor, numbers: Tensor) -> None:
        """Run steps on the images with these indices, one row per step."""
        images, (n_steps, n_images) = self._task.images, numbers.shape
        x = images.train_x.index_select(0, numbers.view(-1)).split(n_images)
        y = images.train_y.index_select(0, numbers.view(-1)).split(n_images)
        losses = [self._step(*batch) for batch in zip(x, y, strict=True)]
        self._task.losses.index_copy_(0, steps, torch.stack(losses))
        self._next.add_(n_steps)


class Step(nn.Module):
    """A step as one function of tensors with fixed addresses, for the compiler.

    It reads and writes buffers, which CUDA graphs use in place without copying inputs. Weights wider
    than the inputs are rounded to their dtype for the products, as autocast does.
    """

    def __init__(self, task: Task, weights_dtype: torch.dtype) -> None:
        super().__init__()
        self._reduction = task.reduction
        self._names: list[str] = []
        for layer, (n_in, n_out) in enumerate(task.params.layers):
            for kind, shape in (("w", (n_out, n_in)), ("b", (n_out,))):
                name = f"{kind}{layer}"
                empty = torch.empty(shape, dtype=weights_dtype, device=task.device)
                self.register_buffer(name, empty)
                self._names.append(name)
        self.register_buffer("x", task.images.train_x)
        self.register_buffer("y", task.images.train_y)
        self.register_buffer("batches", task.batches)
        self.register_buffer("rest", task.rest)
        self.register_buffer("losses", task.losses)
        self.register_buffer("step", torch.zeros(1, dtype=torch.int64, device=task.device))
        rate = torch.full((), task.params.rate / task.scale, device=task.device)
        self.register_buffer("rate", rate)

    def weights(self) -> list[Tensor]:
        """Return W and b of layer 0, 1, …."""
        return [getattr(self, name) for name in self._names]

    def forward(self, last: bool) -> None:
        numbers = self.rest if last else self.batches.index_select(0, self.step).view(-1)
        x, y = self.x.index_select(0, numbers), self.y.index_select(0, numbers)

        def loss_of(weights: list[Tensor]) -> Tensor:
            return functional.cross_entropy(logits_of(x, weights), y, reduction=self._reduction)

        gradients, loss = grad_and_value(loss_of)(self.weights())
        self.losses.index_copy_(0, self.step, loss.view(1))
        self.step.add_(1)
        for weight, gradient in zip(self.weights(), gradients, strict=True):
            weight.copy_(weight.float() - self.rate * gradient.float())


class CompiledTrainer:
    """Batch, model, loss and update compiled as one function per batch size."""

    def __init__(self, task: Task, weights_dtype: torch.dtype, mode: str) -> None:
        module = Step(task, weights_dtype)

        def step() -> None:
            module(False)

        def step_last() -> None:
            module(True)

        self._task = task
        self._module = module
        self._probe_rate = _PROBE_RATE[weights_dtype]
        self._step = compiled(step, mode)
        self._step_last = compiled(step_last, mode)

    @property
    def weights(self) -> list[Tensor]:
        return self._module.weights()

    def start(self, weights: Sequence[Tensor]) -> None:
        for own, given in zip(self.weights, weights, strict=True):
            own.copy_(given, non_blocking=True)

    def set_rate(self, rate: float) -> None:
        self._module.rate.fill_(rate / self._task.scale)

    def compile(self, runs: int) -> None:
        """Run each function `runs` times as the first step."""
        rest = [self.advance_last] if self._task.rest.numel() > 0 else []
        for step in (lambda: self.advance(1), *rest):
            for _ in range(runs):
                self.rewind()
                step()

    def rewind(self) -> None:
        """Go back to the first step."""
        self._module.step.zero_()

    @torch.no_grad()
    def advance(self, steps: int) -> None:
        """Run the next steps, all with full batches."""
        for _ in range(steps):
            self._step()

    @torch.no_grad()
    def advance_last(self) -> None:
        """Run the step with the smaller last batch."""
        self._step_last()

    def run(self, steps: int) -> None:
        self.rewind()
        full = min(steps, self._task.full_steps)
        self.advance(full)
        if steps > full:
            self.advance_last()

    def gradients(self) -> list[Tensor]:
        return self.gradients_of(lambda: self.run(1))

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients of the step that `run_step` runs.

        Compiled code keeps no gradients, so compute them from the weights' change at a high rate.
        """
        before = [weight.float().clone() for weight in self.weights]
        rate = self._module.rate.clone()
        self.set_rate(self._probe_rate)
        run_step()
        self._module.rate.copy_(rate)
        pairs = zip(before, self.weights, strict=True)
        return [(old - new.float()) / self._probe_rate for old, new in pairs]


class CapturedTrainer:
    """Another trainer's steps, captured in graphs of many steps and of one step."""

    def __init__(self, trainer: FusedTrainer | CompiledTrainer, task: Task) -> None:
        self._trainer = trainer
        self._task = task
        at_once = min(_STEPS_AT_ONCE, _IMAGES_AT_ONCE // task.params.batch, task.full_steps)
        self._at_once = max(1, at_once)
        self._many = self._captured(lambda: trainer.advance(self._at_once))
        self._rest = self._captured(trainer.advance_last) if task.rest.numel() > 0 else None
        # Captured last, because autograd's gradients belong to the last graph.
        self._one = self._captured(lambda: trainer.advance(1))

    @property
    def weights(self) -> list[Tensor]:
        return self._trainer.weights

    def start(self, weights: Sequence[Tensor]) -> None:
        self._trainer.start(weights)

    def set_rate(self, rate: float) -> None:
        self._trainer.set_rate(rate)

    def run(self, steps: int) -> None:
        self._trainer.rewind()
        full = min(steps, self._task.full_steps)
        n_many, n_single = divmod(full, self._at_once)
        for _ in range(n_many):
            self._many.replay()
        for _ in range(n_single):
            self._one.replay()
        if steps > full and self._rest is not None:
            self._rest.replay()

    def gradients(self) -> list[Tensor]:
        def run_step() -> None:
            self._trainer.rewind()
            self._one.replay()

        return self._trainer.gradients_of(run_step)

    def _captured(self, advance: Callable[[], None]) -> torch.cuda.CUDAGraph:
        def from_the_first() -> None:
            self._trainer.rewind()
            advance()

        run_on_side_stream(from_the_first)
        self._trainer.rewind()
        graph, _ = capture(advance)
        return graph


AnyTrainer = Trainer | CompiledTrainer | CapturedTrainer
