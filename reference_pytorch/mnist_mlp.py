"""Inputs of `mlp_train`: parameters, images, start weights and the orders of the images.

All engines use the same bits.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

import mnist_data
from mlp_model import start_weights
from mnist_data import Dataset
from mnist_params import MlpParams, numbers_of_pixels
from timing import now_ns


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

    refilled = ("weights",)
    """What a refill changes."""

    def __init__(self, params: Params) -> None:
        start_ns = now_ns()
        self.params = params
        self.dataset: Dataset = mnist_data.load()
        self.n_images = len(self.dataset.train_labels)
        self.weights = start_weights(params.layers, params.seed)
        """W and b of layer 0, 1, …."""
        self.order = torch.from_numpy(params.order(self.n_images))
        """Image indices, int32, one row per epoch or step: `MlpParams.order`."""
        self.made_ns = now_ns() - start_ns
        self._images = weakref.WeakValueDictionary[str, DeviceImages]()

    @cached_property
    def pinned_order(self) -> Tensor:
        """The order in pinned memory; needs CUDA."""
        return self.order.pin_memory()

    def images_on(self, device: torch.device) -> DeviceImages:
        """Return the images in device memory; freed with the last case that uses them."""
        images = self._images.get(device.type)
        if images is None:
            images = _images_on(device, self.dataset)
            self._images[device.type] = images
        return images


def _images_on(device: torch.device, found: Dataset) -> DeviceImages:
    numbers = numbers_of_pixels()

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
