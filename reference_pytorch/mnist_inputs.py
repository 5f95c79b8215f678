"""What every `mnist_train` training starts from: parameters, weights and the order of the images.

The bits are those of every other engine.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import mnist_data
import philox
from device import Device
from mnist_data import CLASSES, MNIST, Dataset
from protocol import CaseSpec
from timing import now_ns
from workload import CaseError

WEIGHT_STREAM = 16
BIAS_STREAM = 17
ORDER_STREAM = 64
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
            _integer(spec.params, "hidden", 8, 16_384),
            _integer(spec.params, "batch", 1, 4096),
            _integer(spec.params, "steps", 1, 1_000_000),
            _rate(spec.params.get("rate")),
            _integer(spec.params, "seed", 1, 2**31 - 1),
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


@dataclass(frozen=True, eq=False)
class DeviceImages:
    """The data set in the device's memory, pixels as the numbers that the model takes."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


_Shared = weakref.WeakValueDictionary[str, DeviceImages]


class Inputs:
    """Everything in host memory, made from the seed; cases share and never change it."""

    def __init__(self, params: Params, dtype: torch.dtype) -> None:
        start_ns = now_ns()
        self.params = params
        self.dtype = dtype
        self.dataset: Dataset = mnist_data.load()
        self.weights: list[Tensor] = []
        """W and b of layer 0, of layer 1, … in the case's dtype."""
        for layer, (n_in, n_out) in enumerate(params.layers):
            bound = float(np.float32(1.0 / math.sqrt(n_in)))
            for shape, stream in (((n_out, n_in), WEIGHT_STREAM), ((n_out,), BIAS_STREAM)):
                values = torch.empty(shape)
                stream += 2 * layer
                philox.fill_uniform(values.numpy(), params.seed, stream, -bound, bound)
                self.weights.append(values.to(dtype))
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
            images = self._copied_to(device.torch_device)
            self._on_device[device.kind] = images
        return images

    def _copied_to(self, device: torch.device) -> DeviceImages:
        def pixels(images: npt.NDArray[np.uint8]) -> Tensor:
            return torch.from_numpy(_numbers_of_pixels(self.dtype)[images]).to(device)

        def digits(labels: npt.NDArray[np.uint8]) -> Tensor:
            # PyTorch's losses take classes as 64-bit integers.
            return torch.from_numpy(labels.astype(np.int64)).to(device)

        found = self.dataset
        return DeviceImages(
            pixels(found.train_images),
            digits(found.train_labels),
            pixels(found.test_images),
            digits(found.test_labels),
        )


def _numbers_of_pixels(dtype: torch.dtype) -> npt.NDArray[Any]:
    """Return the number for each byte: a quotient in float32, which no device need round alike."""
    quotients = np.arange(256, dtype=np.float32) / np.float32(255)
    return quotients.astype(np.float16 if dtype == torch.float16 else np.float32)


def _order(params: Params) -> npt.NDArray[np.int32]:
    """Return which images each step takes, shape (steps, batch)."""
    epochs = [_epoch_order(params.seed, epoch) for epoch in range(params.epochs)]
    order = np.concatenate(epochs)[: params.steps * params.batch]
    return order.reshape(params.steps, params.batch)


def _epoch_order(seed: int, epoch: int) -> npt.NDArray[np.int32]:
    """Shuffle by Fisher and Yates; the high bits of a word choose."""
    drawn = philox.words(seed, ORDER_STREAM + epoch, 0, MNIST.n_train).astype(np.uint64)
    bounds = np.arange(1, MNIST.n_train + 1, dtype=np.uint64)
    partners = (drawn * bounds >> np.uint64(32)).tolist()
    order = list(range(MNIST.n_train))
    for i in range(MNIST.n_train - 1, 0, -1):
        j = partners[i]
        order[i], order[j] = order[j], order[i]
    return np.array(order, dtype=np.int32)


def _integer(params: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = params.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise CaseError(f"params.{name}: expected an integer {least}…{most}, found {value!r}")
    return value


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        raise CaseError(f"params.rate: expected a number above 0 and at most 1, found {value!r}")
    return float(value)
