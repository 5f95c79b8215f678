"""Ways to run the steps of `mnist_train`: what is timed, without the timing.

All of them minimise the sum of the batch's losses with a rate divided by the batch, which is the
mean and the rate in other units. In float16 that is a constant loss scale: gradients stay away from
the end of its range, where the mean's would lose their digits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.func import grad_and_value
from torch.nn import functional

from capturing import capture, run_on_side_stream, with_code_of_its_own
from mnist_inputs import Params
from mnist_mlp import DeviceImages, build_model, logits_of

# A replay costs the host some microseconds; behind fifty steps nobody sees them.
_STEPS_AT_ONCE = 50
_IMAGES_AT_ONCE = 8192
# So far a step goes whose length is to tell the gradient: the weights' own digits hardly matter
# then, and no gradient below 16 leaves float16's range.
_FAR = 4096.0


class Task(NamedTuple):
    """What there is to train on, in the device's memory."""

    params: Params
    dtype: torch.dtype
    """Of inputs and products."""
    images: DeviceImages
    order: Tensor
    """Numbers of images, int32, a row for each step."""
    losses: Tensor
    """Of each step: the sum over its batch, before the update."""

    def scaled(self, rate: float) -> float:
        """Return the rate for the gradient of a sum."""
        return rate / self.params.batch


class AnyTrainer(Protocol):
    """Weights, and the steps of training on them."""

    @property
    def weights(self) -> list[Tensor]:
        """Return W and b of layer 0, then of layer 1, and so on."""
        ...

    def start(self, weights: Sequence[Tensor]) -> None:
        """Set the weights; does not wait for copies from pinned memory."""
        ...

    def set_rate(self, rate: float) -> None:
        """Change the rate of all further steps, those that are captured too."""
        ...

    def run(self, steps: int) -> None:
        """Run so many steps, from the first one on, and record their losses."""
        ...

    def gradients(self) -> list[Tensor]:
        """Run the first step; return the gradient of its mean loss by each of the weights."""
        ...


class Capturable(Protocol):
    """A trainer whose steps ask the device alone which step it is."""

    @property
    def weights(self) -> list[Tensor]: ...

    def start(self, weights: Sequence[Tensor]) -> None: ...

    def set_rate(self, rate: float) -> None: ...

    def rewind(self) -> None:
        """Go back to the first step."""
        ...

    def advance(self, steps: int) -> None:
        """Run the next steps."""
        ...

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients of the step that `run_step` runs."""
        ...


class Trainer:
    """The study's way: float32 weights, autocast where the products are float16, autograd, SGD."""

    optimizer_options: Mapping[str, Any] = {}

    def __init__(self, task: Task) -> None:
        self._task = task
        device = task.images.train_x.device
        self._model = build_model(task.params.layers, device, self._weights_dtype())
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), lr=self._start_rate(), **self.optimizer_options
        )
        self._device_type = device.type

    @property
    def weights(self) -> list[Tensor]:
        return list(self._model.parameters())

    @torch.no_grad()
    def start(self, weights: Sequence[Tensor]) -> None:
        for own, given in zip(self.weights, weights, strict=True):
            own.copy_(given, non_blocking=True)

    def set_rate(self, rate: float) -> None:
        self._optimizer.param_groups[0]["lr"] = self._task.scaled(rate)

    def run(self, steps: int) -> None:
        task = self._task
        for step in range(steps):
            numbers = task.order[step]
            x = task.images.train_x.index_select(0, numbers)
            y = task.images.train_y.index_select(0, numbers)
            task.losses[step].copy_(self._step(x, y))

    def gradients(self) -> list[Tensor]:
        return self.gradients_of(lambda: self.run(1))

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients of the step that `run_step` runs, as autograd left them."""
        run_step()
        grads = [weight.grad for weight in self.weights]
        return [grad.float() / self._task.params.batch for grad in grads if grad is not None]

    def release(self) -> None:
        """Let go of the weights and gradients, not to be used again.

        The optimiser is part of a cycle, and between samples no garbage collector runs.
        """
        self._optimizer.zero_grad()
        self._optimizer.param_groups.clear()
        self._optimizer.state.clear()

    def _start_rate(self) -> float | Tensor:
        return self._task.scaled(self._task.params.rate)

    def _weights_dtype(self) -> torch.dtype:
        return torch.float32

    def _step(self, x: Tensor, y: Tensor) -> Tensor:
        self._optimizer.zero_grad()
        loss = self._loss(x, y)
        loss.backward()
        self._optimizer.step()
        return loss.detach()

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        lower = self._task.dtype != torch.float32
        with torch.autocast(self._device_type, self._task.dtype, enabled=lower):
            return functional.cross_entropy(self._model(x), y, reduction="sum")


class FusedTrainer(Trainer):
    """Weights of the products' dtype, updated by one kernel; made for a graph.

    Which step it is stands in the device's memory, and so does everything that a step needs, the
    rate too. Several steps gather their images together.
    """

    optimizer_options: Mapping[str, Any] = {"fused": True}

    def __init__(self, task: Task) -> None:
        device = task.order.device
        self._rate = torch.full((), task.scaled(task.params.rate), device=device)
        super().__init__(task)
        self._next = torch.zeros(1, dtype=torch.int64, device=device)
        self._ahead = torch.arange(_STEPS_AT_ONCE, device=device)

    def rewind(self) -> None:
        """Go back to the first step."""
        self._next.zero_()

    def advance(self, steps: int) -> None:
        """Run the next steps."""
        task = self._task
        rows = self._next + self._ahead[:steps]
        numbers = task.order.index_select(0, rows).view(-1)
        x = task.images.train_x.index_select(0, numbers).split(task.params.batch)
        y = task.images.train_y.index_select(0, numbers).split(task.params.batch)
        losses = [self._step(*batch) for batch in zip(x, y, strict=True)]
        task.losses.index_copy_(0, rows, torch.stack(losses))
        self._next.add_(steps)

    def set_rate(self, rate: float) -> None:
        self._rate.fill_(self._task.scaled(rate))

    def run(self, steps: int) -> None:
        self.rewind()
        for _ in range(steps):
            self.advance(1)

    def _start_rate(self) -> float | Tensor:
        return self._rate

    def _weights_dtype(self) -> torch.dtype:
        return self._task.dtype

    def _loss(self, x: Tensor, y: Tensor) -> Tensor:
        return functional.cross_entropy(self._model(x).float(), y, reduction="sum")


class Step(nn.Module):
    """A step as one function without arguments, for the compiler.

    What it reads and writes are buffers, which have a fixed place in memory: CUDA graphs use them
    where they are and copy no input. Weights wider than the inputs are rounded to their dtype for
    the products, which is what autocast does.
    """

    def __init__(self, task: Task, weights_dtype: torch.dtype) -> None:
        super().__init__()
        device = task.order.device
        self._names: list[str] = []
        for layer, (n_in, n_out) in enumerate(task.params.layers):
            for kind, shape in (("w", (n_out, n_in)), ("b", (n_out,))):
                name = f"{kind}{layer}"
                empty = torch.empty(shape, dtype=weights_dtype, device=device)
                self.register_buffer(name, empty)
                self._names.append(name)
        self.register_buffer("x", task.images.train_x)
        self.register_buffer("y", task.images.train_y)
        self.register_buffer("order", task.order)
        self.register_buffer("losses", task.losses)
        self.register_buffer("step", torch.zeros(1, dtype=torch.int64, device=device))
        self.register_buffer("rate", torch.full((), task.scaled(task.params.rate), device=device))

    def weights(self) -> list[Tensor]:
        """Return W and b of layer 0, then of layer 1, and so on."""
        return [getattr(self, name) for name in self._names]

    def forward(self) -> None:
        numbers = self.order.index_select(0, self.step).view(-1)
        x, y = self.x.index_select(0, numbers), self.y.index_select(0, numbers)

        def loss_of(weights: list[Tensor]) -> Tensor:
            return functional.cross_entropy(logits_of(x, weights), y, reduction="sum")

        gradients, loss = grad_and_value(loss_of)(self.weights())
        self.losses.index_copy_(0, self.step, loss.view(1))
        self.step.add_(1)
        for weight, gradient in zip(self.weights(), gradients, strict=True):
            weight.copy_(weight.float() - self.rate * gradient.float())


class CompiledTrainer:
    """Batch, model, loss and update are compiled as a whole."""

    def __init__(self, task: Task, weights_dtype: torch.dtype, mode: str) -> None:
        module = Step(task, weights_dtype)

        def step() -> None:
            module()

        self._task = task
        self._module = module
        self._step = torch.compile(
            with_code_of_its_own(step), mode=mode, fullgraph=True, dynamic=False
        )

    @property
    def weights(self) -> list[Tensor]:
        return self._module.weights()

    def start(self, weights: Sequence[Tensor]) -> None:
        for own, given in zip(self.weights, weights, strict=True):
            own.copy_(given, non_blocking=True)

    def set_rate(self, rate: float) -> None:
        self._module.rate.fill_(self._task.scaled(rate))

    def rewind(self) -> None:
        """Go back to the first step."""
        self._module.step.zero_()

    @torch.no_grad()
    def advance(self, steps: int) -> None:
        """Run the next steps."""
        for _ in range(steps):
            self._step()

    def run(self, steps: int) -> None:
        self.rewind()
        self.advance(steps)

    def gradients(self) -> list[Tensor]:
        return self.gradients_of(lambda: self.run(1))

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients of the step that `run_step` runs.

        The compiler keeps none, so they are told from how far the weights go at a high rate.
        """
        before = [weight.float().clone() for weight in self.weights]
        rate = self._module.rate.clone()
        self.set_rate(_FAR)
        run_step()
        self._module.rate.copy_(rate)
        return [(old - new.float()) / _FAR for old, new in zip(before, self.weights, strict=True)]


class CapturedTrainer:
    """Another trainer's steps, captured and replayed: many of them at once, and one by one."""

    def __init__(self, trainer: Capturable, params: Params) -> None:
        self._trainer = trainer
        self._at_once = max(1, min(_STEPS_AT_ONCE, _IMAGES_AT_ONCE // params.batch, params.steps))
        self._many = self._captured(self._at_once)
        # The last to be captured: the gradients that autograd leaves are those of this graph.
        self._one = self._captured(1)

    @property
    def weights(self) -> list[Tensor]:
        return self._trainer.weights

    def start(self, weights: Sequence[Tensor]) -> None:
        self._trainer.start(weights)

    def set_rate(self, rate: float) -> None:
        self._trainer.set_rate(rate)

    def run(self, steps: int) -> None:
        self._trainer.rewind()
        times, rest = divmod(steps, self._at_once)
        for _ in range(times):
            self._many.replay()
        for _ in range(rest):
            self._one.replay()

    def gradients(self) -> list[Tensor]:
        def run_step() -> None:
            self._trainer.rewind()
            self._one.replay()

        return self._trainer.gradients_of(run_step)

    def _captured(self, steps: int) -> torch.cuda.CUDAGraph:
        def from_the_first() -> None:
            self._trainer.rewind()
            self._trainer.advance(steps)

        run_on_side_stream(from_the_first)
        self._trainer.rewind()
        graph, _ = capture(lambda: self._trainer.advance(steps))
        return graph
