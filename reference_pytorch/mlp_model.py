"""The multilayer perceptron of `mlp_train`: start weights and the model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

import mlp_weights
from mlp_weights import Layers


def start_weights(layers: Layers, seed: int) -> list[Tensor]:
    """Return `mlp_weights.start_weights` as tensors in host memory."""
    return [torch.from_numpy(w) for w in mlp_weights.start_weights(layers, seed)]


def build_model(layers: Layers, device: torch.device) -> nn.Sequential:
    """Build the model as users do; its parameters are in the order of `start_weights`."""
    modules: list[nn.Module] = []
    for n_in, n_out in layers:
        if modules:
            modules.append(nn.ReLU())
        modules.append(nn.Linear(n_in, n_out, device=device))
    return nn.Sequential(*modules)


def logits_of(x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """Return the model's output."""
    last = len(weights) - 2
    for i in range(0, len(weights), 2):
        x = functional.linear(x, weights[i], weights[i + 1])
        x = x if i == last else functional.relu(x)
    return x
