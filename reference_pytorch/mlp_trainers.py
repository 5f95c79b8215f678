"""Ways to run an epoch of `mlp_train`: what is timed, without the timing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.func import grad_and_value
from torch.nn import functional
from torch.utils.data import DataLoader, Sampler, TensorDataset

from capturing import capture, run_on_side_stream, with_code_of_its_own
from mlp_train_inputs import Params
from mnist_mlp import DeviceImages, build_model, logits_of

# A replay costs the host some microseconds; behind fifty steps nobody sees them.
_STEPS_AT_ONCE = 50
_IMAGES_AT_ONCE = 8192
# A step of this length tells the gradient: beside it the weights' own digits do not matter, however
# small the gradient of the first of many layers is, and float32 has room for it.
_FAR = 2.0**60
# The compiler's own graphs: one run to compile, one to warm up, one to record.
_RUNS_TO_RECORD = 3


class Task(NamedTuple):
    """What there is to train on."""

    params: Params
    images: DeviceImages
    """In the device's memory, but for a loader in the host's."""
    order: Tensor
    """Of an epoch: numbers of images, int32, in the device's memory."""
    losses: Tensor
    """Of each step of an epoch, before the update, in the device's memory."""

    @property
    def device(self) -> torch.device:
        return self.losses.device

    @property
    def full_steps(self) -> int:
        """How many steps of an epoch have as many images as a batch."""
        return len(self.order) // self.params.batch

    @property
    def rest(self) -> int:
        """How many images are left for one more step."""
        return len(self.order) % self.params.batch


class AnyTrainer(Protocol):
    """Weights, and the training on them."""

    @property
    def weights(self) -> list[Tensor]:
        """Return W and b of layer 0, then of layer 1, and so on."""
        ...

    def start(self, weights: Sequence[Tensor]) -> None:
        """Set the weights; does not wait for copies from pinned memory."""
        ...

    def run(self, order: Tensor) -> None:
        """Run the steps of an epoch with the images in this order, and record their losses."""
        ...

    def gradients(self, order: Tensor) -> list[Tensor]:
        """Run the first step of an epoch; return the gradient of its loss by each of the weights."""
        ...


class Capturable(Protocol):
    """A trainer whose steps ask the device alone which step it is."""

    @property
    def weights(self) -> list[Tensor]: ...

    def start(self, weights: Sequence[Tensor]) -> None: ...

    def rewind(self) -> None:
        """Go back to the first step."""
        ...

    def advance(self, steps: int, n: int) -> None:
        """Run the next steps, each with `n` images."""
        ...

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients of the step that `run_step` runs."""
        ...


@torch.no_grad()
def validation_of(weights: Sequence[Tensor], images: DeviceImages) -> Tensor:
    """Return the mean loss on the test images and the fraction that is recognised."""
    logits = logits_of(images.test_x, weights)
    right = (logits.argmax(dim=1) == images.test_y).float()
    return torch.stack((functional.cross_entropy(logits, images.test_y), right.mean()))


class Trainer:
    """Operation by operation: autograd and SGD."""

    optimizer_options: Mapping[str, Any] = {}

    def __init__(self, task: Task) -> None:
        self._task = task
        self._model = build_model(task.params.layers, task.device, torch.float32)
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), lr=task.params.rate, **self.optimizer_options
        )

    @property
    def weights(self) -> list[Tensor]:
        return list(self._model.parameters())

    @torch.no_grad()
    def start(self, weights: Sequence[Tensor]) -> None:
        for own, given in zip(self.weights, weights, strict=True):
            own.copy_(given, non_blocking=True)

    def run(self, order: Tensor) -> None:
        self._run(self._batches(order))

    def gradients(self, order: Tensor) -> list[Tensor]:
        return self.gradients_of(lambda: self._run(islice(self._batches(order), 1)))

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients of the step that `run_step` runs, as autograd left them."""
        run_step()
        return [weight.grad for weight in self.weights if weight.grad is not None]

    def _batches(self, order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        task = self._task
        task.order.copy_(order, non_blocking=True)
        for numbers in task.order.split(task.params.batch):
            x = task.images.train_x.index_select(0, numbers)
            yield x, task.images.train_y.index_select(0, numbers)

    def _run(self, batches: Iterator[tuple[Tensor, Tensor]]) -> None:
        for step, (x, y) in enumerate(batches):
            self._task.losses[step].copy_(self._step(x, y))

    def _step(self, x: Tensor, y: Tensor) -> Tensor:
        self._optimizer.zero_grad()
        loss = functional.cross_entropy(self._model(x), y)
        loss.backward()
        self._optimizer.step()
        return loss.detach()


class GivenOrder(Sampler[int]):
    """Hands a loader the images in an order that is given, where its own would be random."""

    def __init__(self, order: Tensor) -> None:
        self.order = order

    def __iter__(self) -> Iterator[int]:
        return iter(self.order.tolist())

    def __len__(self) -> int:
        return len(self.order)


class LoaderTrainer(Trainer):
    """The study's way: a `DataLoader` collects each batch in the host's memory."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        images, batch = task.images, task.params.batch
        self._sampler = GivenOrder(torch.arange(len(task.order)))
        train = TensorDataset(images.train_x, images.train_y)
        self._train = DataLoader(train, batch_size=batch, sampler=self._sampler)
        test = TensorDataset(images.test_x, images.test_y)
        self._test = DataLoader(test, batch_size=batch)

    def _batches(self, order: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        self._sampler.order = order
        return self._on_device(self._train)

    @torch.no_grad()
    def validation(self) -> Tensor:
        """Return what `validation_of` does, batch by batch."""
        sums = torch.zeros(2, device=self._task.device)
        for x, y in self._on_device(self._test):
            logits = self._model(x)
            loss = functional.cross_entropy(logits, y, reduction="sum")
            sums += torch.stack((loss, (logits.argmax(dim=1) == y).float().sum()))
        return sums / len(self._task.images.test_y)

    def _on_device(self, loader: DataLoader[Any]) -> Iterator[tuple[Tensor, Tensor]]:
        for x, y in loader:
            yield x.to(self._task.device), y.to(self._task.device)


class FusedTrainer(Trainer):
    """Weights updated by one kernel; made for a graph.

    Which step it is stands in the device's memory, and so does everything that a step needs.
    Several steps gather their images together.
    """

    optimizer_options: Mapping[str, Any] = {"fused": True}

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._next = torch.zeros(1, dtype=torch.int64, device=task.device)
        self._ahead = torch.arange(len(task.order), device=task.device)

    def rewind(self) -> None:
        """Go back to the first step."""
        self._next.zero_()

    def advance(self, steps: int, n: int) -> None:
        """Run the next steps, each with `n` images."""
        task = self._task
        places = self._next * task.params.batch + self._ahead[: steps * n]
        numbers = task.order.index_select(0, places)
        x = task.images.train_x.index_select(0, numbers).split(n)
        y = task.images.train_y.index_select(0, numbers).split(n)
        losses = [self._step(*batch) for batch in zip(x, y, strict=True)]
        task.losses.index_copy_(0, self._next + self._ahead[:steps], torch.stack(losses))
        self._next.add_(steps)


class Step(nn.Module):
    """A step as one function of tensors in fixed places, for the compiler.

    What it reads and writes are buffers: CUDA graphs use them where they are and copy no input.
    """

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._batch = task.params.batch
        self._names: list[str] = []
        for layer, (n_in, n_out) in enumerate(task.params.layers):
            for kind, shape in (("w", (n_out, n_in)), ("b", (n_out,))):
                name = f"{kind}{layer}"
                self.register_buffer(name, torch.empty(shape, device=task.device))
                self._names.append(name)
        self.register_buffer("x", task.images.train_x)
        self.register_buffer("y", task.images.train_y)
        self.register_buffer("order", task.order)
        self.register_buffer("losses", task.losses)
        self.register_buffer("step", torch.zeros(1, dtype=torch.int64, device=task.device))
        self.register_buffer("ahead", torch.arange(self._batch, device=task.device))
        self.register_buffer("rate", torch.full((), task.params.rate, device=task.device))

    def weights(self) -> list[Tensor]:
        """Return W and b of layer 0, then of layer 1, and so on."""
        return [getattr(self, name) for name in self._names]

    def forward(self, n: int) -> None:
        numbers = self.order.index_select(0, self.step * self._batch + self.ahead[:n])
        x, y = self.x.index_select(0, numbers), self.y.index_select(0, numbers)

        def loss_of(weights: list[Tensor]) -> Tensor:
            return functional.cross_entropy(logits_of(x, weights), y)

        gradients, loss = grad_and_value(loss_of)(self.weights())
        self.losses.index_copy_(0, self.step, loss.view(1))
        self.step.add_(1)
        for weight, gradient in zip(self.weights(), gradients, strict=True):
            weight.copy_(weight - self.rate * gradient)


class CompiledTrainer:
    """Batch, model, loss and update are compiled as a whole, once for each size of a batch."""

    def __init__(self, task: Task, mode: str) -> None:
        module = Step(task)

        def compiled(n: int) -> Callable[[], None]:
            def step() -> None:
                module(n)

            return torch.compile(
                with_code_of_its_own(step), mode=mode, fullgraph=True, dynamic=False
            )

        self._task = task
        self._module = module
        self._steps = {n: compiled(n) for n in (task.params.batch, task.rest) if n > 0}

    @property
    def weights(self) -> list[Tensor]:
        return self._module.weights()

    def start(self, weights: Sequence[Tensor]) -> None:
        for own, given in zip(self.weights, weights, strict=True):
            own.copy_(given, non_blocking=True)

    def compile(self, order: Tensor) -> None:
        """Run each function until nothing is left to be made ready."""
        self._task.order.copy_(order)
        for n in self._steps:
            for _ in range(_RUNS_TO_RECORD):
                self.rewind()
                self.advance(1, n)

    def rewind(self) -> None:
        """Go back to the first step."""
        self._module.step.zero_()

    @torch.no_grad()
    def advance(self, steps: int, n: int) -> None:
        """Run the next steps, each with `n` images."""
        step = self._steps[n]
        for _ in range(steps):
            step()

    def run(self, order: Tensor) -> None:
        self._task.order.copy_(order, non_blocking=True)
        self.rewind()
        self.advance(self._task.full_steps, self._task.params.batch)
        if self._task.rest > 0:
            self.advance(1, self._task.rest)

    def gradients(self, order: Tensor) -> list[Tensor]:
        def run_step() -> None:
            self._task.order.copy_(order)
            self.rewind()
            self.advance(1, self._task.params.batch)

        return self.gradients_of(run_step)

    def gradients_of(self, run_step: Callable[[], None]) -> list[Tensor]:
        """Return the gradients of the step that `run_step` runs.

        The compiler keeps none, so they are told from how far the weights go at a high rate.
        """
        before = [weight.clone() for weight in self.weights]
        self._module.rate.fill_(_FAR)
        run_step()
        self._module.rate.fill_(self._task.params.rate)
        return [(old - new) / _FAR for old, new in zip(before, self.weights, strict=True)]


class CapturedTrainer:
    """Another trainer's steps, captured and replayed: many of them at once, and one by one."""

    def __init__(self, trainer: Capturable, task: Task, order: Tensor) -> None:
        self._trainer = trainer
        self._task = task
        batch = task.params.batch
        task.order.copy_(order)
        self._at_once = max(1, min(_STEPS_AT_ONCE, _IMAGES_AT_ONCE // batch, task.full_steps))
        self._many = self._captured(self._at_once, batch)
        self._last = self._captured(1, task.rest) if task.rest > 0 else None
        # Captured behind all others: the gradients that autograd leaves are those of this graph.
        self._one = self._captured(1, batch)

    @property
    def weights(self) -> list[Tensor]:
        return self._trainer.weights

    def start(self, weights: Sequence[Tensor]) -> None:
        self._trainer.start(weights)

    def run(self, order: Tensor) -> None:
        self._task.order.copy_(order, non_blocking=True)
        self._trainer.rewind()
        times, left = divmod(self._task.full_steps, self._at_once)
        for _ in range(times):
            self._many.replay()
        for _ in range(left):
            self._one.replay()
        if self._last is not None:
            self._last.replay()

    def gradients(self, order: Tensor) -> list[Tensor]:
        def run_step() -> None:
            self._task.order.copy_(order)
            self._trainer.rewind()
            self._one.replay()

        return self._trainer.gradients_of(run_step)

    def _captured(self, steps: int, n: int) -> torch.cuda.CUDAGraph:
        def from_the_first() -> None:
            self._trainer.rewind()
            self._trainer.advance(steps, n)

        run_on_side_stream(from_the_first)
        self._trainer.rewind()
        graph, _ = capture(lambda: self._trainer.advance(steps, n))
        return graph
