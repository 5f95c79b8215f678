"""One epoch of `linreg_train` as separate operations, so that each can be timed.

forward     the model: w·x + b
loss        the mean squared error
backward    the gradients by w and b
update      the step, and in eager mode the optimiser's `zero_grad`

They pass on tensors with one value per point, which a fused epoch avoids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.func import grad, vjp

from capturing import compiled
from linreg_trainers import AnyTrainer, CompiledTrainer, Step, Task, Trainer

Operation = Callable[[], object]
NAMES = ("forward", "loss", "backward", "update")


class EagerOperations(Trainer):
    """The study's epoch, one function per line."""

    between: Sequence[Tensor] = ()

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._values: dict[str, Tensor] = {}

    @property
    def loss(self) -> Tensor:
        return self._values["loss"].detach()

    def start(self) -> None:
        super().start()
        # Free their memory for the next epoch, as in an epoch that runs as a whole.
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
    """The operations as functions without arguments, for the compiler (see `Step`).

    The backward pass is the pullback of the model applied to the gradient of the loss. `torch.func`
    computes both; the compiler removes their forward pass, whose result is unused.
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
    """Each operation is compiled separately: nothing is fused across them."""

    def __init__(self, task: Task, mode: str) -> None:
        AnyTrainer.__init__(self, task)
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


# In addition to a trainer's members: `parts`, the operations of `NAMES`, which in this order make one
# epoch; `between`, tensors at fixed addresses that one operation passes to the next; and `loss`, the
# loss before the step, valid until the next epoch.
Operations = EagerOperations | CompiledOperations
