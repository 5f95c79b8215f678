"""The multilayer perceptron of `mlp_infer` and both trainings: start weights and the model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

import philox

WEIGHT_STREAM = 16
BIAS_STREAM = 17

# Inputs and outputs of each layer.
Layers = Sequence[tuple[int, int]]


def layers_of(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return (inputs, outputs) of each layer from the sizes of input, hidden layers and output."""
    return list(zip(sizes, sizes[1:], strict=False))


def start_weights(layers: Layers, seed: int, dtype: torch.dtype) -> list[Tensor]:
    """Return W (outputs × inputs) and b of layer 0, 1, … in host memory.

    All engines use the same bits.
    """
    weights = []
    for layer, (n_in, n_out) in enumerate(layers):
        bound = float(np.float32(1.0 / math.sqrt(n_in)))
        for shape, stream in (((n_out, n_in), WEIGHT_STREAM), ((n_out,), BIAS_STREAM)):
            values = torch.empty(shape)
            philox.fill_uniform(values.numpy(), seed, stream + 2 * layer, -bound, bound)
            weights.append(values.to(dtype))
    return weights


def build_model(layers: Layers, device: torch.device, dtype: torch.dtype) -> nn.Sequential:
    """Build the model as users do; its parameters are in the order of `start_weights`."""
    modules: list[nn.Module] = []
    for n_in, n_out in layers:
        if modules:
            modules.append(nn.ReLU())
        modules.append(nn.Linear(n_in, n_out, device=device, dtype=dtype))
    return nn.Sequential(*modules)


def logits_of(x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    """Return the model's output, computed in x's dtype, as float32."""
    last = len(weights) - 2
    for i in range(0, len(weights), 2):
        x = functional.linear(x, weights[i].to(x.dtype), weights[i + 1].to(x.dtype))
        x = x if i == last else functional.relu(x)
    return x.float()
