"""Layers and start weights of the multilayer perceptrons; all engines use the same bits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

import philox

Floats = npt.NDArray[np.float32]

WEIGHT_STREAM = 16
BIAS_STREAM = 17

# Inputs and outputs of each layer.
Layers = Sequence[tuple[int, int]]


def layers_of(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Return (inputs, outputs) of each layer from the sizes of input, hidden layers and output."""
    return list(zip(sizes, sizes[1:], strict=False))


def start_weights(layers: Layers, seed: int) -> list[Floats]:
    """Return W (outputs × inputs) and b of layer 0, 1, … in host memory."""
    weights = []
    for layer, (n_in, n_out) in enumerate(layers):
        bound = float(np.float32(1.0 / math.sqrt(n_in)))
        for shape, stream in (((n_out, n_in), WEIGHT_STREAM), ((n_out,), BIAS_STREAM)):
            values = np.empty(shape, dtype=np.float32)
            philox.fill_uniform(values, seed, stream + 2 * layer, -bound, bound)
            weights.append(values)
    return weights


def by_layer(name: str, arrays: Sequence[Floats]) -> dict[str, Floats]:
    """Return one new array for each layer of such W and b, with b's part in the last column."""
    return {
        f"{name}_{layer}": np.concatenate((w, b[:, None]), axis=1)
        for layer, (w, b) in enumerate(zip(arrays[0::2], arrays[1::2], strict=True))
    }
