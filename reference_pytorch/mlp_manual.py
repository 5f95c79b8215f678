"""Training steps of a multilayer perceptron with the backward pass written by hand."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from mlp_trainers import GathersAhead, StaticTrainer, Task

Function = Callable[..., object]


class ManualTrainer(GathersAhead, StaticTrainer):
    """The gradient of a weight is never in memory: the product that computes it updates the weight.

    Products are calls of cuBLAS, whose epilogue adds the bias and applies the ReLU; all else is two
    compiled functions. The product takes the learning rate as a number, which a captured graph keeps:
    another rate needs another capture.
    """

    def __init__(self, task: Task, compile_function: Callable[[Function], Function]) -> None:
        super().__init__(task)
        self.weights = [
            torch.empty(shape, device=task.device)
            for n_in, n_out in task.params.layers
            for shape in ((n_out, n_in), (n_out,))
        ]
        self._rate = torch.empty((), device=task.device)
        self.set_rate(task.params.rate)
        self._count_steps()
        self._last_delta = compile_function(last_delta)
        self._earlier_delta = compile_function(earlier_delta)

    def set_rate(self, rate: float) -> None:
        self.captured_rate = rate
        self._rate.fill_(rate)

    @torch.no_grad()
    def _step(self, x: Tensor, y: Tensor) -> Tensor:
        weights, biases = self.weights[0::2], self.weights[1::2]
        activations = [x]
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            activations.append(torch._addmm_activation(b, activations[-1], w.t()))
        logits = torch.addmm(biases[-1], activations[-1], weights[-1].t())
        loss, delta = self._last_delta(logits, y, biases[-1], self._rate)
        for layer in reversed(range(len(weights))):
            a = activations[layer]
            # With the weights from before the update.
            gradient = delta @ weights[layer] if layer > 0 else None
            weights[layer].addmm_(delta.t(), a, alpha=-self.captured_rate)
            if gradient is not None:
                delta = self._earlier_delta(gradient, a, biases[layer - 1], self._rate)
        return loss


def last_delta(logits: Tensor, y: Tensor, bias: Tensor, rate: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss and its gradient by the logits; update the last layer's bias.

    The gradient of the cross-entropy is the softmax minus 1 at the right class.
    """
    log_shares = functional.log_softmax(logits, dim=1)
    loss = functional.nll_loss(log_shares, y)
    right = torch.arange(logits.shape[1], device=y.device) == y[:, None]
    delta = (log_shares.exp() - right.float()) / len(y)
    _update_bias(bias, delta, rate)
    return loss, delta


def earlier_delta(gradient: Tensor, activation: Tensor, bias: Tensor, rate: Tensor) -> Tensor:
    """Return the gradient before a ReLU; update the bias of its layer."""
    delta = torch.where(activation > 0, gradient, 0)
    _update_bias(bias, delta, rate)
    return delta


def _update_bias(bias: Tensor, delta: Tensor, rate: Tensor) -> None:
    bias.copy_(bias - rate * delta.sum(dim=0))
