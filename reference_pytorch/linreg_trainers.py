"""Ways to run one epoch of `linreg_train`: what is timed, without the timing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import grad_and_value

from capturing import capture, run_on_side_stream, with_code_of_its_own

# The study's.
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


class Trainer:
    """Parameters, and one epoch of training on them: forward, backward and step, as the study's."""

    optimizer_options: Mapping[str, Any] = {}

    def __init__(self, x: Tensor, y: Tensor, rate: float) -> None:
        self._x, self._y = x, y
        self._model = Line().to(x.device)
        parameters = self._model.parameters()
        self._optimizer = torch.optim.SGD(parameters, lr=rate, **self.optimizer_options)

    @property
    def params(self) -> tuple[Tensor, Tensor]:
        """Return w and b."""
        return self._model.w, self._model.b

    def start(self) -> None:
        """Set w and b to the start values."""
        with torch.no_grad():
            self._model.w.fill_(START_W)
            self._model.b.fill_(START_B)

    def epoch(self) -> Tensor:
        """Run one epoch; return the loss before its step, good until the next epoch."""
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

    What it reads and writes are buffers, which have a fixed place in memory: CUDA graphs use them
    where they are and copy no input.
    """

    def __init__(self, x: Tensor, y: Tensor, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.register_buffer("x", x)
        self.register_buffer("y", y)
        for name in ("w", "b", "loss"):
            self.register_buffer(name, torch.empty((), device=x.device))

    def forward(self) -> None:
        def loss_of(w: Tensor, b: Tensor) -> Tensor:
            return nn.functional.mse_loss(w * self.x + b, self.y)

        (dw, db), loss = grad_and_value(loss_of, argnums=(0, 1))(self.w, self.b)
        self.loss.copy_(loss)
        self.w.sub_(self.rate * dw)
        self.b.sub_(self.rate * db)


class CompiledTrainer:
    """The epoch is compiled as a whole."""

    def __init__(self, x: Tensor, y: Tensor, rate: float, mode: str) -> None:
        module = Step(x, y, rate)

        def step() -> None:
            module()

        self._module = module
        self._step = torch.compile(
            with_code_of_its_own(step), mode=mode, fullgraph=True, dynamic=False
        )

    @property
    def params(self) -> tuple[Tensor, Tensor]:
        """Return w and b."""
        return self._module.w, self._module.b

    def start(self) -> None:
        """Set w and b to the start values."""
        self._module.w.fill_(START_W)
        self._module.b.fill_(START_B)

    @torch.no_grad()
    def epoch(self) -> Tensor:
        """Run one epoch; return the loss before its step, good until the next epoch."""
        self._step()
        return self._module.loss


class CapturedTrainer:
    """Another trainer's epoch, captured and replayed."""

    def __init__(self, trainer: Trainer | CompiledTrainer) -> None:
        trainer.start()
        run_on_side_stream(trainer.epoch)
        self._trainer = trainer
        self._graph, self._loss = capture(trainer.epoch)

    @property
    def params(self) -> tuple[Tensor, Tensor]:
        """Return w and b."""
        return self._trainer.params

    def start(self) -> None:
        """Set w and b to the start values."""
        self._trainer.start()

    def epoch(self) -> Tensor:
        """Run one epoch; return the loss before its step, good until the next epoch."""
        self._graph.replay()
        return self._loss


AnyTrainer = Trainer | CompiledTrainer | CapturedTrainer
