"""What every training of a multilayer perceptron on MNIST starts from, in both workloads.

Parameters, images, start weights and the orders of the images: the bits are those of every other
engine.
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

# What the oracle computes in the steps whose losses are compared: so much that it takes seconds.
CHECKED_FLOPS = 2e10
_FLOAT_BYTES = _INDEX_BYTES = 4
# Of the weights, in the host's memory: as they are made and as they are kept; on the CPU those that
# are trained, their gradients and a copy to look at, too.
_COPIES_TO_START = 2
_COPIES_TO_TRAIN = 3


class MlpParams:
    """What the parameters of both workloads have in common."""

    batch: int
    rate: float
    seed: int
    epochs: int
    """How many orders of the images there are, the last of them perhaps not used to its end."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the layers: inputs, hidden ones, outputs."""
        raise NotImplementedError

    @property
    def layers(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each layer."""
        return layers_of(self.sizes)

    @property
    def n_weights(self) -> int:
        """Of all matrices, without biases."""
        return sum(n_in * n_out for n_in, n_out in self.layers)

    def order(self, n_images: int) -> Tensor:
        """Return the numbers of the images as the steps take them, shape (epochs, images)."""
        epochs = [epoch_order(self.seed, epoch, n_images) for epoch in range(self.epochs)]
        return torch.from_numpy(np.stack(epochs))

    def data_bytes(self, dtype: torch.dtype) -> int:
        """Return what all that a training starts from takes in the host's memory.

        The images as bytes and as the model's numbers, orders and weights as made and as kept.
        """
        images = (1 + dtype.itemsize) * (MNIST.n_train + MNIST.n_test) * MNIST.pixels
        orders = 2 * _INDEX_BYTES * self.epochs * MNIST.n_train
        return images + orders + _FLOAT_BYTES * _COPIES_TO_START * self.n_weights

    @property
    def train_bytes(self) -> int:
        """Return what a training on the CPU has of weights beside those that it starts from."""
        return _FLOAT_BYTES * _COPIES_TO_TRAIN * self.n_weights


@dataclass(frozen=True, eq=False)
class DeviceImages:
    """The data set in a device's memory, pixels as the numbers that the model takes."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


Params = TypeVar("Params", bound=MlpParams)


class Inputs(Generic[Params]):
    """Everything in host memory, made from the seed; cases share and never change it."""

    def __init__(self, params: Params, dtype: torch.dtype = torch.float32) -> None:
        start_ns = now_ns()
        self.params = params
        self.dtype = dtype
        self.dataset: Dataset = mnist_data.load()
        self.n_images = len(self.dataset.train_labels)
        self.weights = start_weights(params.layers, params.seed, dtype)
        """W and b of layer 0, of layer 1, … in the case's dtype."""
        self.order = params.order(self.n_images)
        """Numbers of images, int32, a row for each epoch or step: `MlpParams.order`."""
        self.made_ns = now_ns() - start_ns
        self._images = weakref.WeakValueDictionary[str, DeviceImages]()

    @cached_property
    def pinned_weights(self) -> list[Tensor]:
        """The weights in pinned memory; needs CUDA."""
        return [weight.pin_memory() for weight in self.weights]

    @cached_property
    def pinned_order(self) -> Tensor:
        """The whole order in pinned memory; needs CUDA."""
        return self.order.pin_memory()

    def images_on(self, device: torch.device) -> DeviceImages:
        """Return the images in the device's memory; they go with the last case that has them."""
        images = self._images.get(device.type)
        if images is None:
            images = _images_on(device, self.dataset, self.dtype)
            self._images[device.type] = images
        return images


def epoch_order(seed: int, epoch: int, n: int = MNIST.n_train) -> npt.NDArray[np.int32]:
    """Shuffle the numbers of `n` images by Fisher and Yates; the high bits of a word choose."""
    drawn = philox.words(seed, ORDER_STREAM + epoch, 0, n).astype(np.uint64)
    bounds = np.arange(1, n + 1, dtype=np.uint64)
    partners = (drawn * bounds >> np.uint64(32)).tolist()
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = partners[i]
        order[i], order[j] = order[j], order[i]
    return np.array(order, dtype=np.int32)


def numbers_of_pixels(dtype: torch.dtype) -> npt.NDArray[Any]:
    """Return the number for each byte: a quotient in float32, which no device need round alike."""
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
