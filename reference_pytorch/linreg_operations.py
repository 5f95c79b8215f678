"""One epoch of `linreg_train` operation by operation, so that each can be timed by itself.

forward     the model: w·x + b
loss        the mean squared error
backward    the gradients by w and b
update      the step, and in eager mode the optimiser's `zero_grad`

Between them lie tensors of a value a point, which a fused epoch does without.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import grad, vjp

from capturing import compiled
from linreg_trainers import CompiledTrainer, Step, Task, Trainer

Operation = Callable[[], object]
NAMES = ("forward", "loss", "backward", "update")


class EagerOperations(Trainer):
    """The study's epoch, cut between its lines."""

    between: Sequence[Tensor] = ()

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._values: dict[str, Tensor] = {}

    @property
    def loss(self) -> Tensor:
        return self._values["loss"].detach()

    def start(self) -> None:
        super().start()
        # Their memory is for the next epoch to use again, as when an epoch runs in one go.
        self._values.clear()

    def parts(self) -> Sequence[Operation]:
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


class Parts(Step):
    """The operations as functions without arguments, for the compiler, as `Step` is one.

    The backward pass is the pullback of the model by the gradient of the loss. `torch.func` gives
    both, and the compiler drops the forward pass in them, of which nothing is used.
    """

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self.register_buffer("prediction", torch.empty_like(task.x))
        for name in ("dw", "db"):
            self.register_buffer(name, torch.empty((), device=task.x.device))

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


class CompiledOperations(CompiledTrainer):
    """Each operation is compiled by itself: nothing is fused across them."""

    def __init__(self, task: Task, mode: str) -> None:
        module = Parts(task)

        def operation(name: str) -> Operation:
            def run() -> None:
                getattr(module, f"run_{name}")()

            return torch.no_grad()(compiled(run, mode))

        self.params = module.w, module.b
        self.between = [module.prediction, module.loss, module.dw, module.db]
        self.loss = module.loss
        self._parts = [operation(name) for name in NAMES]

    def parts(self) -> Sequence[Operation]:
        return self._parts

    def epoch(self) -> Tensor:
        for part in self._parts:
            part()
        return self.loss


# Beside what a trainer has: `parts`, the operations of `NAMES`, which make one epoch when run in
# this order; `between`, tensors with a fixed place in memory that one operation leaves to the next;
# and `loss`, that before the step, good until the next epoch.
Operations = EagerOperations | CompiledOperations
