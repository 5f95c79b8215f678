"""What both trainings of a multilayer perceptron on MNIST share.

Start weights and the order of the images, whose bits are those of every other engine; the images in
a device's memory; the model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

import philox
from mnist_data import MNIST, Dataset
from workload import CaseError

WEIGHT_STREAM = 16
BIAS_STREAM = 17
ORDER_STREAM = 64

# Inputs and outputs of each layer.
Layers = Sequence[tuple[int, int]]


@dataclass(frozen=True, eq=False)
class DeviceImages:
    """The data set in a device's memory, pixels as the numbers that the model takes."""

    train_x: Tensor
    train_y: Tensor
    test_x: Tensor
    test_y: Tensor


def images_on(device: torch.device, found: Dataset, dtype: torch.dtype) -> DeviceImages:
    """Return a copy of the data set in the device's memory."""
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


def numbers_of_pixels(dtype: torch.dtype) -> npt.NDArray[Any]:
    """Return the number for each byte: a quotient in float32, which no device need round alike."""
    quotients = np.arange(256, dtype=np.float32) / np.float32(255)
    return quotients.astype(np.float16 if dtype == torch.float16 else np.float32)


def start_weights(layers: Layers, seed: int, dtype: torch.dtype) -> list[Tensor]:
    """Return W and b of layer 0, of layer 1, … in host memory."""
    weights = []
    for layer, (n_in, n_out) in enumerate(layers):
        bound = float(np.float32(1.0 / math.sqrt(n_in)))
        for shape, stream in (((n_out, n_in), WEIGHT_STREAM), ((n_out,), BIAS_STREAM)):
            values = torch.empty(shape)
            philox.fill_uniform(values.numpy(), seed, stream + 2 * layer, -bound, bound)
            weights.append(values.to(dtype))
    return weights


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


def integer_param(params: Mapping[str, Any], name: str, least: int, most: int) -> int:
    """Return a case's parameter, having checked it."""
    value = params.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise CaseError(f"params.{name}: expected an integer {least}…{most}, found {value!r}")
    return value


def build_model(layers: Layers, device: torch.device, dtype: torch.dtype) -> nn.Sequential:
    """Build the model as its user would."""
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
