"""One epoch of `linreg_train` operation by operation, so that each can be timed by itself.

forward     the model: w·x + b
loss        the mean squared error
backward    the gradients by w and b
update      the step, and in eager mode the optimiser's `zero_grad`

Between them lie tensors of a value a point, which a fused epoch does without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.func import grad, vjp

from capturing import with_code_of_its_own
from linreg_trainers import START_B, START_W, Trainer

Operation = Callable[[], object]
NAMES = ("forward", "loss", "backward", "update")


class Operations(Protocol):
    """An epoch in parts."""

    @property
    def params(self) -> tuple[Tensor, Tensor]:
        """Return w and b."""
        ...

    @property
    def between(self) -> list[Tensor]:
        """Return tensors with a fixed place in memory that one operation leaves to the next."""
        ...

    @property
    def loss(self) -> Tensor:
        """Return the loss before the step, good until the next epoch."""
        ...

    def start(self) -> None:
        """Set w and b to the start values."""
        ...

    def parts(self) -> tuple[Operation, ...]:
        """Return the operations of `NAMES`, which make one epoch when run in this order."""
        ...


class EagerOperations(Trainer):
    """The study's epoch, cut between its lines."""

    def __init__(self, x: Tensor, y: Tensor, rate: float) -> None:
        super().__init__(x, y, rate)
        self._values: dict[str, Tensor] = {}

    @property
    def between(self) -> list[Tensor]:
        return []

    @property
    def loss(self) -> Tensor:
        return self._values["loss"].detach()

    def start(self) -> None:
        super().start()
        # Their memory is for the next epoch to use again, as when an epoch runs in one go.
        self._values.clear()

    def parts(self) -> tuple[Operation, ...]:
        return self._forward, self._loss, self._backward, self._update

    def _forward(self) -> None:
        self._values["prediction"] = self._model(self._x)

    def _loss(self) -> None:
        self._values["loss"] = nn.functional.mse_loss(self._values["prediction"], self._y)

    def _backward(self) -> None:
        self._values["loss"].backward()

    def _update(self) -> None:
        self._optimizer.step()
        self._optimizer.zero_grad()


class Parts(nn.Module):
    """The operations as functions without arguments, for the compiler, as `Step` is one.

    The backward pass is the pullback of the model by the gradient of the loss. `torch.func` gives
    both, and the compiler drops the forward pass in them, of which nothing is used.
    """

    def __init__(self, x: Tensor, y: Tensor, rate: float) -> None:
        super().__init__()
        self.rate = rate
        self.register_buffer("x", x)
        self.register_buffer("y", y)
        self.register_buffer("prediction", torch.empty_like(x))
        for name in ("w", "b", "dw", "db", "loss"):
            self.register_buffer(name, torch.empty((), device=x.device))

    def run_forward(self) -> None:
        self.prediction.copy_(self.w * self.x + self.b)

    def run_loss(self) -> None:
        self.loss.copy_(nn.functional.mse_loss(self.prediction, self.y))

    def run_backward(self) -> None:
        def loss_of(prediction: Tensor) -> Tensor:
            return nn.functional.mse_loss(prediction, self.y)

        def model(w: Tensor, b: Tensor) -> Tensor:
            return w * self.x + b

        _, pull_back = vjp(model, self.w, self.b)
        dw, db = pull_back(grad(loss_of)(self.prediction))
        self.dw.copy_(dw)
        self.db.copy_(db)

    def run_update(self) -> None:
        self.w.sub_(self.rate * self.dw)
        self.b.sub_(self.rate * self.db)


class CompiledOperations:
    """Each operation is compiled by itself: nothing is fused across them."""

    def __init__(self, x: Tensor, y: Tensor, rate: float, mode: str) -> None:
        module = Parts(x, y, rate)

        def forward() -> None:
            module.run_forward()

        def loss() -> None:
            module.run_loss()

        def backward() -> None:
            module.run_backward()

        def update() -> None:
            module.run_update()

        self._module = module
        self._parts = tuple(
            torch.no_grad()(
                torch.compile(with_code_of_its_own(part), mode=mode, fullgraph=True, dynamic=False)
            )
            for part in (forward, loss, backward, update)
        )

    @property
    def params(self) -> tuple[Tensor, Tensor]:
        return self._module.w, self._module.b

    @property
    def between(self) -> list[Tensor]:
        module = self._module
        return [module.prediction, module.loss, module.dw, module.db]

    @property
    def loss(self) -> Tensor:
        return self._module.loss

    def start(self) -> None:
        self._module.w.fill_(START_W)
        self._module.b.fill_(START_B)

    def parts(self) -> tuple[Operation, ...]:
        return self._parts
