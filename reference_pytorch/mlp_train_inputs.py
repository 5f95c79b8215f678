"""What every `mlp_train` training starts from: parameters, weights and the orders of the images.

The bits are those of every other engine.
"""

from __future__ import annotations

import math
import weakref
from typing import Any, NamedTuple

import torch
from torch import Tensor

import mnist_data
from mnist_data import CLASSES, MNIST, Dataset
from mnist_mlp import DeviceImages, epoch_order, images_on, integer_param, start_weights
from protocol import CaseSpec
from timing import now_ns
from workload import CaseError

# What the oracle computes in the steps whose losses are compared: so much that it takes seconds.
_CHECKED_FLOPS = 2e10
_CHECKED_STEPS = 50


class Params(NamedTuple):
    """The parameters of a case."""

    width: int
    depth: int
    batch: int
    epochs: int
    rate: float
    seed: int

    @classmethod
    def of(cls, spec: CaseSpec) -> Params:
        """Return a case's parameters, having checked them."""
        for name in spec.params:
            if name not in cls._fields:
                raise CaseError(f"params.{name}: unknown; known: {', '.join(cls._fields)}")
        return cls(
            integer_param(spec.params, "width", 1, 8192),
            integer_param(spec.params, "depth", 2, 16),
            integer_param(spec.params, "batch", 1, MNIST.n_train),
            integer_param(spec.params, "epochs", 1, 1000),
            _rate(spec.params.get("rate")),
            integer_param(spec.params, "seed", 1, 2**31 - 1),
        )

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each layer."""
        sizes = (MNIST.pixels, *[self.width] * (self.depth - 1), CLASSES)
        return list(zip(sizes, sizes[1:], strict=False))

    @property
    def n_weights(self) -> int:
        """Of all matrices, without biases."""
        return sum(n_in * n_out for n_in, n_out in self.layers)


_Shared = weakref.WeakValueDictionary[str, DeviceImages]


class Inputs:
    """Everything in host memory, made from the seed; cases share and never change it."""

    def __init__(self, params: Params) -> None:
        start_ns = now_ns()
        self.params = params
        self.dataset: Dataset = mnist_data.load()
        self.n_images = len(self.dataset.train_labels)
        self.weights = start_weights(params.layers, params.seed, torch.float32)
        """W and b of layer 0, of layer 1, …"""
        self.orders = torch.stack(
            [
                torch.from_numpy(epoch_order(params.seed, epoch, self.n_images))
                for epoch in range(params.epochs)
            ]
        )
        """Numbers of images, a row for each epoch."""
        self.made_ns = now_ns() - start_ns
        self._pinned: tuple[list[Tensor], Tensor] | None = None
        self._images: _Shared = weakref.WeakValueDictionary()

    @property
    def epoch_steps(self) -> int:
        """Of them the last has the images that are left: fewer, where the batch divides them not."""
        return -(-self.n_images // self.params.batch)

    @property
    def checked_steps(self) -> int:
        """Steps whose losses are compared with the oracle's."""
        step_flops = 6 * self.params.batch * self.params.n_weights
        fits = max(2, math.floor(_CHECKED_FLOPS / step_flops))
        return min(self.epoch_steps * self.params.epochs, fits, _CHECKED_STEPS)

    def pinned(self) -> tuple[list[Tensor], Tensor]:
        """Return the weights and the orders in pinned memory; needs CUDA."""
        if self._pinned is None:
            weights = [weight.pin_memory() for weight in self.weights]
            self._pinned = weights, self.orders.pin_memory()
        return self._pinned

    def images_on(self, device: torch.device) -> DeviceImages:
        """Return the images in the device's memory; they go with the last case that has them."""
        images = self._images.get(device.type)
        if images is None:
            images = images_on(device, self.dataset, torch.float32)
            self._images[device.type] = images
        return images


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise CaseError(f"params.rate: expected a number above 0, found {value!r}")
    return float(value)
