"""Inputs of both MNIST trainings: parameters, images, start weights and the orders of the images.

All engines use the same bits.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import mnist_data
import philox
from mlp_model import layers_of, start_weights
from mnist_data import MNIST, Dataset
from timing import now_ns

ORDER_STREAM = 64

# The reference's work in the steps whose losses are compared: some seconds.
CHECKED_FLOPS = 2e10
_FLOAT_BYTES = _INDEX_BYTES = 4
# Copies of the weights in host memory: as made and as stored; on the CPU also the trained weights,
# their gradients and a copy for the check.
_COPIES_TO_START = 2
_COPIES_TO_TRAIN = 3


class MlpParams:
    """The common parameters of both workloads."""

    batch: int
    rate: float
    seed: int
    epochs: int
    """The number of orders of the images; the last may be used only in part."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of input, hidden layers and output."""
        raise NotImplementedError

    @property
    def layers(self) -> list[tuple[int, int]]:
        """(inputs, outputs) of each layer."""
        return layers_of(self.sizes)

    @property
    def n_weights(self) -> int:
        """The number of weights of all layers, without biases."""
        return sum(n_in * n_out for n_in, n_out in self.layers)

    def order(self, n_images: int) -> Tensor:
        """Return the image indices in the order of the steps, shape (epochs, images)."""
        epochs = [epoch_order(self.seed, epoch, n_images) for epoch in range(self.epochs)]
        return torch.from_numpy(np.stack(epochs))

    def data_bytes(self, dtype: torch.dtype) -> int:
        """Return the host memory that the inputs of a training need.

        Images as bytes and as floating-point numbers, orders and weights as made and as stored.
        """
        images = (1 + dtype.itemsize) * (MNIST.n_train + MNIST.n_test) * MNIST.pixels
        orders = 2 * _INDEX_BYTES * self.epochs * MNIST.n_train
        return images + orders + _FLOAT_BYTES * _COPIES_TO_START * self.n_weights

    @property
    def train_bytes(self) -> int:
        """Return the host memory that a training on the CPU needs for more copies of the weights."""
        return _FLOAT_BYTES * _COPIES_TO_TRAIN * self.n_weights


@dataclass(frozen=True, eq=False)
class DeviceImages:
    """The data set in device memory, with pixels as floating-point numbers."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


Params = TypeVar("Params", bound=MlpParams)


class Inputs(Generic[Params]):
    """The inputs in host memory, made from the seed; shared by cases and read-only."""

    def __init__(self, params: Params, dtype: torch.dtype = torch.float32) -> None:
        start_ns = now_ns()
        self.params = params
        self.dtype = dtype
        self.dataset: Dataset = mnist_data.load()
        self.n_images = len(self.dataset.train_labels)
        self.weights = start_weights(params.layers, params.seed, dtype)
        """W and b of layer 0, 1, … in the case's dtype."""
        self.order = params.order(self.n_images)
        """Image indices, int32, one row per epoch or step: `MlpParams.order`."""
        self.made_ns = now_ns() - start_ns
        self._images = weakref.WeakValueDictionary[str, DeviceImages]()

    @cached_property
    def pinned_weights(self) -> list[Tensor]:
        """The weights in pinned memory; needs CUDA."""
        return [weight.pin_memory() for weight in self.weights]

    @cached_property
    def pinned_order(self) -> Tensor:
        """The order in pinned memory; needs CUDA."""
        return self.order.pin_memory()

    def images_on(self, device: torch.device) -> DeviceImages:
        """Return the images in device memory; freed with the last case that uses them."""
        images = self._images.get(device.type)
        if images is None:
            images = _images_on(device, self.dataset, self.dtype)
            self._images[device.type] = images
        return images


def epoch_order(seed: int, epoch: int, n: int = MNIST.n_train) -> npt.NDArray[np.int32]:
    """Return a Fisher–Yates shuffle of `n` image indices by the high bits of Philox words."""
    drawn = philox.words(seed, ORDER_STREAM + epoch, 0, n).astype(np.uint64)
    bounds = np.arange(1, n + 1, dtype=np.uint64)
    partners = (drawn * bounds >> np.uint64(32)).tolist()
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = partners[i]
        order[i], order[j] = order[j], order[i]
    return np.array(order, dtype=np.int32)


def numbers_of_pixels(dtype: torch.dtype) -> npt.NDArray[Any]:
    """Return byte / 255 for each byte, computed in float32 so that all devices use the same bits."""
    quotients = np.arange(256, dtype=np.float32) / np.float32(255)
    return quotients.astype(np.float16 if dtype == torch.float16 else np.float32)


def _images_on(device: torch.device, found: Dataset, dtype: torch.dtype) -> DeviceImages:
    numbers = numbers_of_pixels(dtype)

    def pixels(images: npt.NDArray[np.uint8]) -> Tensor:
        return torch.from_numpy(numbers[images]).to(device)

    def digits(labels: npt.NDArray[np.uint8]) -> Tensor:
        # PyTorch's losses take classes as 64-bit integers.
        return torch.from_numpy(labels.astype(np.int64)).to(device)

    return DeviceImages(
        pixels(found.train_images),
        digits(found.train_labels),
        pixels(found.test_images),
        digits(found.test_labels),
    )
