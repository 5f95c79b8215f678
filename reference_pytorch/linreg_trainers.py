"""Ways to run the epochs of `linreg_train`, without timing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import grad_and_value

from capturing import Captured, capture, compiled, run_on_side_stream
from linreg_points import LOSS_EVERY

# As many as the CUDA ladder captures in one graph.
_EPOCHS_AT_ONCE = 1024


class Line(nn.Module):
    """The model: y = w·x + b."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(()))
        self.b = nn.Parameter(torch.empty(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.w * x + self.b


class Task(NamedTuple):
    """What to train on, in device memory. All of it may be refilled between runs."""

    x: Tensor
    y: Tensor
    """x and y of the training points."""
    start: Tensor
    """w and b before the first epoch."""
    losses: Tensor
    """The loss of every tenth epoch, before its step, in the first column: `loss_rows`."""
    rate: float
    epochs: int


def loss_rows(epochs: int, device: torch.device) -> Tensor:
    """Return memory for the losses of every tenth of these epochs.

    A row has 16 bytes: compiled code copies arguments that are aligned to less.
    """
    return torch.empty((-(-epochs // LOSS_EVERY), 4), device=device)


class AnyTrainer(ABC):
    """Parameters, and the epochs of training on them."""

    params: tuple[Tensor, Tensor]
    """w and b, 0-d tensors."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def start(self) -> None:
        """Set w and b to the start values."""
        for own, value in zip(self.params, self._task.start.unbind(), strict=True):
            own.copy_(value)

    @abstractmethod
    def epoch(self) -> Tensor:
        """Run one epoch; return the loss before its step, valid until the next epoch."""

    def recorded_epoch(self, loss: Tensor) -> None:
        """Run one epoch and write the loss before its step to `loss`."""
        loss.copy_(self.epoch())

    def train(self) -> None:
        """Run all epochs from the start values and record losses."""
        self.start()
        self.run(self._task.epochs, self._task.losses)

    def run(self, epochs: int, losses: Tensor) -> None:
        """Run epochs and record every tenth loss, the first one's included."""
        for epoch in range(epochs):
            if epoch % LOSS_EVERY == 0:
                self.recorded_epoch(losses[epoch // LOSS_EVERY, 0])
            else:
                self.epoch()


class Trainer(AnyTrainer):
    """The study's epoch: forward, backward and step."""

    optimizer_options: Mapping[str, Any] = {}

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._x, self._y = task.x, task.y
        self._model = Line().to(task.x.device)
        # Detached, so that autograd does not track changes between epochs.
        self.params = self._model.w.detach(), self._model.b.detach()
        self._optimizer = torch.optim.SGD(
            self._model.parameters(), lr=task.rate, **self.optimizer_options
        )

    def epoch(self) -> Tensor:
        self._optimizer.zero_grad()
        loss = nn.functional.mse_loss(self._model(self._x), self._y)
        loss.backward()
        self._optimizer.step()
        return loss.detach()


class FusedTrainer(Trainer):
    """The optimiser updates all parameters with one kernel."""

    optimizer_options: Mapping[str, Any] = {"fused": True}


class Step(nn.Module):
    """An epoch as one function without arguments, for the compiler.

    It reads and writes buffers, which have fixed addresses: CUDA graphs use them in place without
    copying inputs.
    """

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.rate = task.rate
        self.register_buffer("x", task.x)
        self.register_buffer("y", task.y)
        for name in ("w", "b", "loss"):
            self.register_buffer(name, torch.empty((), device=task.x.device))

    def forward(self, record: Tensor) -> None:
        """Run an epoch and write the loss before its step to `record`."""

        def loss_of(w: Tensor, b: Tensor) -> Tensor:
            return nn.functional.mse_loss(w * self.x + b, self.y)

        (dw, db), loss = grad_and_value(loss_of, argnums=(0, 1))(self.w, self.b)
        record.copy_(loss)
        self.w.sub_(self.rate * dw)
        self.b.sub_(self.rate * db)


class CompiledTrainer(AnyTrainer):
    """The epoch compiled as one function."""

    def __init__(self, task: Task, mode: str, **options: bool) -> None:
        super().__init__(task)
        module = Step(task)

        def step() -> None:
            module(module.loss)

        self._module = module
        self._step = compiled(step, mode, **options)
        self.params = module.w, module.b

    @torch.no_grad()
    def epoch(self) -> Tensor:
        self._step()
        return self._module.loss

    def compile(self) -> None:
        """Run an epoch for the first time."""
        self.start()
        self.epoch()


class RecordingTrainer(CompiledTrainer):
    """The compiled epoch writes its loss where it is to be recorded; no copy follows.

    The compiler's CUDA graphs refuse arguments that a function changes, so this is for our own.
    """

    def __init__(self, task: Task, mode: str, **options: bool) -> None:
        super().__init__(task, mode, **options)
        module = self._module

        def step(record: Tensor) -> None:
            module(record)

        self._recording_step = compiled(step, mode, **options)

    def epoch(self) -> Tensor:
        self.recorded_epoch(self._module.loss)
        return self._module.loss

    @torch.no_grad()
    def recorded_epoch(self, loss: Tensor) -> None:
        self._recording_step(loss)


class CapturedTrainer(AnyTrainer):
    """Another trainer's epochs, captured in graphs of as many as possible."""

    def __init__(self, trainer: Trainer | CompiledTrainer, task: Task) -> None:
        super().__init__(task)
        self._trainer = trainer
        self.params = trainer.params
        trainer.start()
        run_on_side_stream(trainer.epoch)
        # One graph is the whole training. If there are too many epochs for that, one graph is
        # repeated, and another has the rest.
        self._whole = self._one = None
        if task.epochs <= _EPOCHS_AT_ONCE:
            self._whole = capture(trainer.train)
        else:
            at_once = _EPOCHS_AT_ONCE // LOSS_EVERY * LOSS_EVERY
            n_full, rest = divmod(task.epochs, at_once)
            self._stretches = [self._captured(at_once)] * n_full
            self._stretches += [self._captured(rest)] if rest > 0 else []
        if task.epochs == 1:
            self._one = capture(trainer.epoch)

    @property
    def is_one_graph(self) -> bool:
        """Whether one replay is the whole training."""
        return self._whole is not None

    def epoch(self) -> Tensor:
        """Run the epoch; only for a training of one."""
        assert self._one is not None
        self._one.replay()
        return self._one.result

    def train(self) -> None:
        if self._whole is not None:
            self._whole.replay()
        else:
            super().train()

    def run(self, epochs: int, losses: Tensor) -> None:
        first = 0
        for graph in self._stretches:
            graph.replay()
            recorded = graph.result
            losses[first : first + len(recorded)].copy_(recorded)
            first += len(recorded)

    def _captured(self, epochs: int) -> Captured[Tensor]:
        """Capture epochs; the result is their recorded losses."""
        recorded = loss_rows(epochs, self._task.x.device)

        def run() -> Tensor:
            self._trainer.run(epochs, recorded)
            return recorded

        return capture(run)
