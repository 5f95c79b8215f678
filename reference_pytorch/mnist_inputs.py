"""What every `mnist_train` training starts from: parameters, weights and the order of the images.

The bits are those of every other engine.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import mnist_data
from device import Device
from mnist_data import CLASSES, MNIST, Dataset
from mnist_mlp import DeviceImages, epoch_order, images_on, integer_param, start_weights
from protocol import CaseSpec
from timing import now_ns
from workload import CaseError

LAYERS = 4
SAMPLE_STEPS = 200
# A descent is some steps on the first batch alone at a rate by which the loss must fall: losses at
# a small rate hardly tell whether anything is updated.
DESCENT_STEPS = 10
DESCENT_RATE = 0.25

# What the oracle computes in the steps whose losses are compared, at the standard batch of 32.
_CHECKED_FLOPS = 2e10
_CHECKED_FLOPS_PER_WEIGHT = 6 * 32


class Params(NamedTuple):
    """The parameters of a case."""

    hidden: int
    batch: int
    steps: int
    rate: float
    seed: int

    @classmethod
    def of(cls, spec: CaseSpec) -> Params:
        """Return a case's parameters, having checked them."""
        for name in spec.params:
            if name not in cls._fields:
                raise CaseError(f"params.{name}: unknown; known: {', '.join(cls._fields)}")
        params = cls(
            integer_param(spec.params, "hidden", 8, 16_384),
            integer_param(spec.params, "batch", 1, 4096),
            integer_param(spec.params, "steps", 1, 1_000_000),
            _rate(spec.params.get("rate")),
            integer_param(spec.params, "seed", 1, 2**31 - 1),
        )
        if MNIST.n_train % params.batch != 0:
            raise CaseError(
                f"batch {params.batch} does not divide the {MNIST.n_train} training images"
            )
        return params

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the layers: inputs, three hidden ones, outputs."""
        return (MNIST.pixels, self.hidden, self.hidden, self.hidden, CLASSES)

    @property
    def n_weights(self) -> int:
        """Of all matrices, without biases."""
        return sum(n_in * n_out for n_in, n_out in self.layers)

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each layer."""
        return list(zip(self.sizes, self.sizes[1:], strict=False))

    @property
    def sample_steps(self) -> int:
        return min(self.steps, SAMPLE_STEPS)

    @property
    def checked_steps(self) -> int:
        """Steps whose losses are compared with the oracle's: what it computes in seconds."""
        fits = math.floor(_CHECKED_FLOPS / (_CHECKED_FLOPS_PER_WEIGHT * self.n_weights))
        return min(self.sample_steps, max(2, fits))

    @property
    def descent_steps(self) -> int:
        return min(self.checked_steps, DESCENT_STEPS)

    @property
    def epochs(self) -> int:
        return -(-self.steps * self.batch // MNIST.n_train)


_Shared = weakref.WeakValueDictionary[str, DeviceImages]


class Inputs:
    """Everything in host memory, made from the seed; cases share and never change it."""

    def __init__(self, params: Params, dtype: torch.dtype) -> None:
        start_ns = now_ns()
        self.params = params
        self.dtype = dtype
        self.dataset: Dataset = mnist_data.load()
        self.weights = start_weights(params.layers, params.seed, dtype)
        """W and b of layer 0, of layer 1, … in the case's dtype."""
        self.order = torch.from_numpy(_order(params))
        """Numbers of images, a row for each step."""
        self.made_ns = now_ns() - start_ns
        self._pinned: list[Tensor] = []
        self._on_device: _Shared = weakref.WeakValueDictionary()

    def pinned(self) -> list[Tensor]:
        """Return the weights in pinned memory; needs CUDA."""
        if not self._pinned:
            self._pinned = [weight.pin_memory() for weight in self.weights]
        return self._pinned

    def on(self, device: Device) -> DeviceImages:
        """Return the images in the device's memory; they go with the last case that has them."""
        images = self._on_device.get(device.kind)
        if images is None:
            images = images_on(device.torch_device, self.dataset, self.dtype)
            self._on_device[device.kind] = images
        return images


def _order(params: Params) -> npt.NDArray[np.int32]:
    """Return which images each step takes, shape (steps, batch)."""
    epochs = [epoch_order(params.seed, epoch) for epoch in range(params.epochs)]
    order = np.concatenate(epochs)[: params.steps * params.batch]
    return order.reshape(params.steps, params.batch)


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        raise CaseError(f"params.rate: expected a number above 0 and at most 1, found {value!r}")
    return float(value)
