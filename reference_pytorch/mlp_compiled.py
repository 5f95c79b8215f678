"""Training steps of a multilayer perceptron, compiled."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import grad_and_value
from torch.nn import functional

from capturing import compiled
from mlp_model import logits_of
from mlp_trainers import StaticTrainer, Task


class Step(nn.Module):
    """A step as one function of tensors with fixed addresses, for the compiler.

    It reads and writes buffers, which CUDA graphs use in place without copying inputs.
    """

    def __init__(self, task: Task) -> None:
        super().__init__()
        self._names: list[str] = []
        for layer, (n_in, n_out) in enumerate(task.params.layers):
            for kind, shape in (("w", (n_out, n_in)), ("b", (n_out,))):
                name = f"{kind}{layer}"
                empty = torch.empty(shape, device=task.device)
                self.register_buffer(name, empty)
                self._names.append(name)
        self.register_buffer("x", task.images.train_x)
        self.register_buffer("y", task.images.train_y)
        self.register_buffer("batches", task.batches)
        self.register_buffer("rest", task.rest)
        self.register_buffer("losses", task.losses)
        self.register_buffer("step", torch.zeros(1, dtype=torch.int64, device=task.device))
        rate = torch.full((), task.params.rate, device=task.device)
        self.register_buffer("rate", rate)

    def weights(self) -> list[Tensor]:
        """Return W and b of layer 0, 1, …."""
        return [getattr(self, name) for name in self._names]

    def forward(self, last: bool) -> None:
        numbers = self.rest if last else self.batches.index_select(0, self.step).view(-1)
        x, y = self.x.index_select(0, numbers), self.y.index_select(0, numbers)

        def loss_of(weights: list[Tensor]) -> Tensor:
            return functional.cross_entropy(logits_of(x, weights), y)

        gradients, loss = grad_and_value(loss_of)(self.weights())
        self.losses.index_copy_(0, self.step, loss.view(1))
        self.step.add_(1)
        for weight, gradient in zip(self.weights(), gradients, strict=True):
            weight.copy_(weight - self.rate * gradient)


# After so many full batches the step of a smaller last one is not tuned: an epoch's time hardly depends
# on it, and tuning takes as long as for the other step.
_MANY_STEPS = 100
_UNTUNED = {"max-autotune": "reduce-overhead", "max-autotune-no-cudagraphs": "default"}


class CompiledTrainer(StaticTrainer):
    """Batch, model, loss and update compiled as one function per batch size."""

    def __init__(self, task: Task, mode: str) -> None:
        super().__init__(task)
        module = Step(task)

        def step() -> None:
            module(False)

        def step_last() -> None:
            module(True)

        self._module = module
        self._step = compiled(step, mode)
        is_rare = task.full_steps >= _MANY_STEPS
        self._step_last = compiled(step_last, _UNTUNED.get(mode, mode) if is_rare else mode)

    @property
    def weights(self) -> Sequence[Tensor]:
        return self._module.weights()

    def set_rate(self, rate: float) -> None:
        self._module.rate.fill_(rate)

    def rewind(self) -> None:
        self._module.step.zero_()

    @torch.no_grad()
    def advance(self, steps: int) -> None:
        for _ in range(steps):
            self._step()

    @torch.no_grad()
    def advance_last(self) -> None:
        self._step_last()
