"""Parameters of `mlp_train`, and the orders of the images.

All engines use the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import philox
from mlp_weights import layers_of
from mnist_data import CLASSES, MNIST
from params import checked, integer, rate
from protocol import CaseSpec

Order = npt.NDArray[np.int32]

ORDER_STREAM = 64

# The reference's work in the steps whose losses are compared: some seconds.
CHECKED_FLOPS = 2e10
_FLOAT_BYTES = _INDEX_BYTES = 4
# Copies of the weights in host memory: as made and as stored; on the CPU also the trained weights,
# their gradients and a copy for the check.
_COPIES_TO_START = 2
_COPIES_TO_TRAIN = 3

_CHECKED_STEPS = 50
MLP_TRAIN_CHECKS = {
    "width": integer(1, 8192),
    "depth": integer(2, 16),
    "batch": integer(1, MNIST.n_train),
    "epochs": integer(1, 1000),
    "rate": rate(),
    "seed": integer(1, 2**31 - 1),
}


class MlpParams:
    """What follows from the parameters of a multilayer perceptron."""

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

    def order(self, n_images: int) -> Order:
        """Return the image indices in the order of the steps, shape (epochs, images)."""
        epochs = [epoch_order(self.seed, epoch, n_images) for epoch in range(self.epochs)]
        return np.stack(epochs)

    @property
    def data_bytes(self) -> int:
        """Return the host memory that the inputs of a training need.

        Images as bytes and as floating-point numbers, orders and weights as made and as stored.
        """
        images = (1 + _FLOAT_BYTES) * (MNIST.n_train + MNIST.n_test) * MNIST.pixels
        orders = 2 * _INDEX_BYTES * self.epochs * MNIST.n_train
        return images + orders + _FLOAT_BYTES * _COPIES_TO_START * self.n_weights

    @property
    def train_bytes(self) -> int:
        """Return the host memory that a training on the CPU needs for more copies of the weights."""
        return _FLOAT_BYTES * _COPIES_TO_TRAIN * self.n_weights


@dataclass(frozen=True)
class MlpTrainParams(MlpParams):
    """The parameters of a case of `mlp_train`."""

    width: int
    depth: int
    batch: int
    epochs: int
    rate: float
    seed: int

    @classmethod
    def of(cls, spec: CaseSpec) -> MlpTrainParams:
        """Return the checked parameters of a case."""
        return cls(**checked(spec, MLP_TRAIN_CHECKS))

    @property
    def sizes(self) -> tuple[int, ...]:
        return (MNIST.pixels, *[self.width] * (self.depth - 1), CLASSES)

    def epoch_steps(self, n_images: int) -> int:
        """Return the number of steps of an epoch; the last may have fewer images."""
        return -(-n_images // self.batch)

    def checked_steps(self, n_images: int) -> int:
        """Return how many steps have their losses compared with the reference."""
        fits = max(2, int(CHECKED_FLOPS // (6 * self.batch * self.n_weights)))
        return min(self.epoch_steps(n_images) * self.epochs, fits, _CHECKED_STEPS)


def epoch_order(seed: int, epoch: int, n: int = MNIST.n_train) -> Order:
    """Return a Fisher–Yates shuffle of `n` image indices by the high bits of Philox words."""
    drawn = philox.words(seed, ORDER_STREAM + epoch, 0, n).astype(np.uint64)
    bounds = np.arange(1, n + 1, dtype=np.uint64)
    partners = (drawn * bounds >> np.uint64(32)).tolist()
    order = list(range(n))
    for i in range(n - 1, 0, -1):
        j = partners[i]
        order[i], order[j] = order[j], order[i]
    return np.array(order, dtype=np.int32)


def numbers_of_pixels() -> npt.NDArray[np.float32]:
    """Return byte / 255 for each byte, computed in float32 so that all devices use the same bits."""
    return np.arange(256, dtype=np.float32) / np.float32(255)
