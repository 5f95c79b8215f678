"""Training steps of a multilayer perceptron with the backward pass written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from mlp_trainers import GathersAhead, StaticTrainer, Task
from workload import Skip

Function = Callable[..., object]


class ManualTrainer(GathersAhead, StaticTrainer):
    """The gradient of a weight is never in memory: the product that computes it updates the weight.

    Products are calls of cuBLAS, whose epilogue adds the bias and applies the ReLU; all else is two
    compiled functions. The product takes the learning rate as a number, which a captured graph keeps:
    another rate needs another capture. Weights wider than the inputs are rounded at the beginning of
    a step, and the product of narrow factors is added to them unrounded.
    """

    def __init__(self, task: Task, compile_function: Callable[[Function], Function]) -> None:
        super().__init__(task)
        self.weights = [
            torch.empty(shape, dtype=task.weights_dtype, device=task.device)
            for n_in, n_out in task.params.layers
            for shape in ((n_out, n_in), (n_out,))
        ]
        self._rounded = self.weights
        if task.weights_dtype != task.dtype:
            _expect_wide_sums(task)
            self._rounded = [torch.empty_like(w, dtype=task.dtype) for w in self.weights]
        self._rate = torch.empty((), device=task.device)
        self.set_rate(task.params.rate)
        self._count_steps()
        self._last_delta = compile_function(last_delta)
        self._earlier_delta = compile_function(earlier_delta)

    def set_rate(self, rate: float) -> None:
        self.captured_rate = rate / self._task.scale
        self._rate.fill_(self.captured_rate)

    @torch.no_grad()
    def _step(self, x: Tensor, y: Tensor) -> Tensor:
        if self._rounded is not self.weights:
            torch._foreach_copy_(self._rounded, self.weights)
        weights, biases = self._rounded[0::2], self._rounded[1::2]
        wide_weights, wide_biases = self.weights[0::2], self.weights[1::2]
        activations = [x]
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            activations.append(torch._addmm_activation(b, activations[-1], w.t()))
        logits = torch.addmm(biases[-1], activations[-1], weights[-1].t())
        loss, delta = self._last_delta(logits, y, wide_biases[-1], self._rate, self._task.reduction)
        for layer in reversed(range(len(weights))):
            a = activations[layer]
            # With the weights from before the update.
            gradient = delta @ weights[layer] if layer > 0 else None
            add_product(wide_weights[layer], delta.t(), a, -self.captured_rate)
            if gradient is not None:
                delta = self._earlier_delta(gradient, a, wide_biases[layer - 1], self._rate)
        return loss


def add_product(w: Tensor, a: Tensor, b: Tensor, alpha: float) -> None:
    """Add alpha · a · b to w, which may be wider than the factors."""
    if w.dtype == a.dtype:
        w.addmm_(a, b, alpha=alpha)
    elif w.is_cuda:
        torch.addmm(w, a, b, alpha=alpha, out_dtype=w.dtype, out=w)
    else:  # PyTorch has no such product on the CPU
        w.addmm_(a.to(w.dtype), b.to(w.dtype), alpha=alpha)


def _expect_wide_sums(task: Task) -> None:
    """Skip the case where PyTorch cannot add a product of narrow factors to wider weights.

    `out_dtype` came with PyTorch 2.8, which wants the sum in the factors' dtype;
    pytorch/pytorch#167931 (November 2025) allows a wider one.
    """
    factor = torch.zeros(16, 16, dtype=task.dtype, device=task.device)
    try:
        add_product(factor.to(task.weights_dtype), factor, factor, 1.0)
    except (TypeError, RuntimeError) as error:
        reason = str(error).partition("\n")[0]
        if "dtype" not in reason:  # out of memory, or a fault of an earlier kernel
            raise
        product = f"a product of {task.dtype} to {task.weights_dtype}"
        raise Skip(f"PyTorch {torch.__version__} cannot add {product}: {reason}") from None


def last_delta(
    logits: Tensor, y: Tensor, bias: Tensor, rate: Tensor, reduction: Literal["mean", "sum"]
) -> tuple[Tensor, Tensor]:
    """Return the loss and its gradient by the logits; update the last layer's bias.

    The gradient of the cross-entropy is the softmax minus 1 at the right class.
    """
    log_shares = functional.log_softmax(logits.float(), dim=1)
    loss = functional.nll_loss(log_shares, y, reduction=reduction)
    right = torch.arange(logits.shape[1], device=y.device) == y[:, None]
    delta = log_shares.exp() - right.float()
    if reduction == "mean":
        delta = delta / len(y)
    delta = delta.to(logits.dtype)
    _update_bias(bias, delta, rate)
    return loss, delta


def earlier_delta(gradient: Tensor, activation: Tensor, bias: Tensor, rate: Tensor) -> Tensor:
    """Return the gradient before a ReLU; update the bias of its layer."""
    delta = torch.where(activation > 0, gradient, 0)
    _update_bias(bias, delta, rate)
    return delta


def _update_bias(bias: Tensor, delta: Tensor, rate: Tensor) -> None:
    bias.copy_(bias.float() - rate * delta.float().sum(dim=0))
