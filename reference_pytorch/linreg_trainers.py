"""Ways to run one epoch of `linreg_train`, without timing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import grad_and_value

from capturing import capture, compiled, run_on_side_stream

# The study's start values.
START_W = 0.83
START_B = 0.7645


class Line(nn.Module):
    """The model: y = w·x + b."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.empty(()))
        self.b = nn.Parameter(torch.empty(()))

    def forward(self, x: Tensor) -> Tensor:
        return self.w * x + self.b


class Task(NamedTuple):
    """The data to train on."""

    x: Tensor
    y: Tensor
    """x and y of the training points, in device memory."""
    rate: float


class AnyTrainer(ABC):
    """Parameters, and one epoch of training on them."""

    params: tuple[Tensor, Tensor]
    """w and b, 0-d tensors."""

    def start(self) -> None:
        """Set w and b to the start values."""
        for own, value in zip(self.params, (START_W, START_B), strict=True):
            own.fill_(value)

    @abstractmethod
    def epoch(self) -> Tensor:
        """Run one epoch; return the loss before its step, valid until the next epoch."""


class Trainer(AnyTrainer):
    """The study's epoch: forward, backward and step."""

    optimizer_options: Mapping[str, Any] = {}

    def __init__(self, task: Task) -> None:
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

    def forward(self) -> None:
        def loss_of(w: Tensor, b: Tensor) -> Tensor:
            return nn.functional.mse_loss(w * self.x + b, self.y)

        (dw, db), loss = grad_and_value(loss_of, argnums=(0, 1))(self.w, self.b)
        self.loss.copy_(loss)
        self.w.sub_(self.rate * dw)
        self.b.sub_(self.rate * db)


class CompiledTrainer(AnyTrainer):
    """The epoch compiled as one function."""

    def __init__(self, task: Task, mode: str) -> None:
        module = Step(task)

        def step() -> None:
            module()

        self._module = module
        self._step = compiled(step, mode)
        self.params = module.w, module.b

    @torch.no_grad()
    def epoch(self) -> Tensor:
        self._step()
        return self._module.loss

    def compile(self) -> None:
        """Run an epoch for the first time."""
        self.start()
        self.epoch()


class CapturedTrainer(AnyTrainer):
    """Another trainer's epoch, captured and replayed."""

    def __init__(self, trainer: AnyTrainer) -> None:
        trainer.start()
        run_on_side_stream(trainer.epoch)
        # A graph holds addresses, not references: keep the trainer's tensors alive.
        self._trainer = trainer
        self.params = trainer.params
        self._graph, self._loss = capture(trainer.epoch)

    def epoch(self) -> Tensor:
        self._graph.replay()
        return self._loss
