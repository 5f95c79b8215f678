"""Sizes, start weights and inputs of the multilayer perceptrons; all engines use the same bits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import philox
from params import Check, checked, integer
from protocol import CaseSpec

Floats = npt.NDArray[np.float32]

INPUT_STREAM = 1
WEIGHT_STREAM = 16
BIAS_STREAM = 17

# Inputs and outputs of each layer.
Layers = Sequence[tuple[int, int]]

CHECKS = {
    "batch": integer(1),
    "layers": Check(
        "two or more integers of at least 1",
        lambda sizes: (
            isinstance(sizes, list) and len(sizes) >= 2 and all(map(integer(1).fits, sizes))
        ),
    ),
}


class Params(NamedTuple):
    """The parameters of a case of `mlp_infer`."""

    batch: int
    layers: list[int]

    @classmethod
    def of(cls, spec: CaseSpec) -> Params:
        """Return the checked parameters of a case."""
        return cls(**checked(spec, CHECKS))


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


def inputs(params: Params, seed: int) -> Floats:
    """Return the inputs of `mlp_infer`, shape (batch, inputs of the first layer)."""
    x = np.empty((params.batch, params.layers[0]), dtype=np.float32)
    philox.fill_uniform(x, seed, INPUT_STREAM, -1.0, 1.0)
    return x
