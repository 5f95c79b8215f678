"""A training of a multilayer perceptron on MNIST as a case: the part without its sample.

Each workload defines its sample, its phases and the results of the complete training.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

import mnist_data
from case import Case, leave_random
from device import JaxDevice
from mlp_model import Weights, logits_of, precision_of
from mlp_trainers import Images, Trainer, losses_of
from mlp_weights import by_layer, start_weights
from mnist_params import MlpParams, numbers_of_pixels
from timing import Mark, Probe, Sample, now_ns

MODES = ("jit", "scan")

Params = TypeVar("Params", bound=MlpParams)


class Inputs(Generic[Params]):
    """The inputs in host memory, made from the seed; shared by cases and read-only."""

    refilled = ("weights",)
    """What a refill changes."""

    def __init__(self, params: Params, dtype: str) -> None:
        start_ns = now_ns()
        self.params = params
        self.dtype = dtype
        self.dataset = mnist_data.load()
        self.n_images = len(self.dataset.train_labels)
        self.weights = start_weights(params.layers, params.seed)
        """W and b of layer 0, 1, …."""
        self.order = params.order(self.n_images)
        """Image numbers, int32, one row per epoch or step: `MlpParams.order`."""
        self.made_ns = now_ns() - start_ns

    @cached_property
    def images(self) -> Images:
        """The images in the memory of JAX's device; freed with the last case that uses them."""
        numbers = numbers_of_pixels()
        found = self.dataset
        return Images(
            jnp.asarray(numbers[found.train_images]),
            jnp.asarray(found.train_labels, jnp.int32),
            jnp.asarray(numbers[found.test_images]),
            jnp.asarray(found.test_labels, jnp.int32),
        )


class Training(Case, ABC, Generic[Params]):
    """An open case."""

    def __init__(self, mode: str, inputs: Inputs[Params], device: JaxDevice, mark: Mark) -> None:
        super().__init__(device, mark)
        self._inputs = inputs
        self._params = inputs.params
        self._images = self._once("data", lambda: inputs.images)
        self.once_ns["data"] += inputs.made_ns
        self._trainer = Trainer(mode, self._images, self._params.batch, inputs.dtype, self._device)
        self.load(inputs)
        self._once("compile", self._sample)
        self._outputs = [
            jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=array.sharding)
            for array in (self._trainer.losses, *self._trainer.weights)
        ]
        self._results: dict[str, Any] = {}
        self.probes: list[Probe] = [self._sample]

    def output(self) -> dict[str, np.ndarray]:
        """Return the first step's gradients, and the losses of the first steps of a training."""
        self.leave_random()
        losses = self._checked_losses()
        first = self._first_order().reshape(-1)[: self._params.batch]
        gradients = self._trainer.gradients(self._inputs.weights, first)
        return {**by_layer("gradient", gradients), "losses": losses}

    def find_results(self) -> None:
        """Run the complete training once."""
        self._results = self._train_whole()

    def results(self) -> dict[str, Any]:
        return self._results

    def load(self, inputs: Inputs[Params]) -> None:
        """Have further runs start from these weights and take the images in this order."""
        self._inputs = inputs
        self._start_order = self._first_order()

    def leave_random(self) -> None:
        self._trainer.weights, self._trainer.losses = [], None
        leave_random(self._outputs)

    @contextmanager
    def timed(self) -> Iterator[Callable[[], None]]:
        self._trainer.start(self._inputs.weights)
        self._trainer.place(self._start_order)
        self._trainer.wait()
        yield self._train

    def read(self) -> dict[str, np.ndarray]:
        """Return the losses of the last run, at most as many as are checked, and the weights."""
        losses = np.asarray(self._trainer.losses)[: self._checked_steps]
        weights = [np.asarray(weight, np.float32).reshape(-1) for weight in self._trainer.weights]
        return {"losses": losses.astype(np.float64), "weights": np.concatenate(weights)}

    def _download(self) -> tuple[np.ndarray, list[np.ndarray]]:
        """Copy losses and weights to the host."""
        return jax.device_get((self._trainer.losses, self._trainer.weights))

    @abstractmethod
    def _first_order(self) -> np.ndarray:
        """Return the image numbers of a sample."""

    @property
    @abstractmethod
    def _checked_steps(self) -> int:
        """The number of steps whose losses are compared with the reference."""

    @abstractmethod
    def _train(self) -> None:
        """Do what the phase `train` times, and wait for it."""

    @abstractmethod
    def _sample(self) -> Sample:
        """Train for one sample."""

    @abstractmethod
    def _checked_losses(self) -> np.ndarray:
        """Return the losses to compare with the reference."""

    @abstractmethod
    def _train_whole(self) -> dict[str, Any]:
        """Run all steps from the start weights and return the results of the case."""


@jax.jit
def _loss_and_accuracy(weights: Weights, x: jax.Array, y: jax.Array) -> jax.Array:
    logits = logits_of(x, weights)
    correct = (logits.argmax(axis=1) == y).astype(jnp.float32)
    return jnp.stack([losses_of(logits, y).mean(), correct.mean()])


def validation_of(weights: Weights, images: Images, dtype: str) -> list[float]:
    """Return the mean loss on the test images and the accuracy."""
    with precision_of(dtype):
        return np.asarray(_loss_and_accuracy(weights, images.test_x, images.test_y)).tolist()
