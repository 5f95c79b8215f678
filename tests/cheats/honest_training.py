"""An honest contender for mlp_train in NumPy; the cheats in `trainings/` change parts of it."""

from functools import cache
from typing import Any

import honest
import numpy as np
from honest import now_ns

import mlp_weights
import mnist_data
from mnist_params import MlpTrainParams, numbers_of_pixels
from refill import flip_signs, sign_mask

VERDICT = {"status": "ok"}
CHECKED = 50


@cache
def images() -> tuple[np.ndarray, np.ndarray]:
    found = mnist_data.load()
    return numbers_of_pixels()[found.train_images], found.train_labels


class Contender(honest.Contender):
    phases = ("train", "total")
    compared = "train"

    def __init__(self, spec: dict[str, Any], _seed: int) -> None:
        self.params = MlpTrainParams(**spec["params"])
        self._images, self._labels = images()
        self._order = self.params.order(len(self._labels))[0]
        self._base = mlp_weights.start_weights(self.params.layers, self.params.seed)
        self.steps = self.params.epoch_steps(len(self._labels))
        self.losses = np.empty(self.steps)
        self.refill(0)
        self.start()

    def refill(self, seed: int) -> None:
        self._start = [array.copy() for array in self._base]
        for array in self._start:
            flip_signs(array, sign_mask(seed))

    def fill(self) -> None:
        self.losses[...] = np.random.default_rng().uniform(-1, 1, self.steps)

    def gradients(self, step: int) -> list[np.ndarray]:
        """Record the loss of a step; return its gradients."""
        numbers = self._order[step * self.params.batch :][: self.params.batch]
        labels = self._labels[numbers]
        inputs = [self._images[numbers]]
        for w, b in zip(self.weights[0::2], self.weights[1::2], strict=True):
            inputs.append(np.maximum(inputs[-1] @ w.T + b, 0))
        z = inputs[-2] @ self.weights[-2].T + self.weights[-1]
        z -= z.max(axis=1, keepdims=True)
        total = np.exp(z).sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        self.losses[step] = (np.log(total[:, 0]) - z[rows, labels]).mean()
        delta = np.exp(z) / total
        delta[rows, labels] -= 1
        delta /= len(labels)
        found: list[np.ndarray] = []
        for layer in reversed(range(self.params.depth)):
            found = [delta.T @ inputs[layer], delta.sum(axis=0), *found]
            delta = (delta @ self.weights[2 * layer]) * (inputs[layer] > 0)
        return found

    def train(self, steps: int) -> None:
        for step in range(steps):
            for weight, gradient in zip(self.weights, self.gradients(step), strict=True):
                weight -= np.float32(self.params.rate) * gradient

    def start(self) -> None:
        self.weights = [array.copy() for array in self._start]

    def compute(self) -> None:
        self.train(self.steps)

    def time_once(self) -> float:
        self.start()
        start_ns = now_ns()
        self.compute()
        return now_ns() - start_ns

    def audit(self, runs: int) -> None:
        for _ in range(runs):
            self.start()
            self.compute()

    def output(self) -> dict[str, np.ndarray]:
        self.fill()
        self.start()
        gradients = self.gradients(0)
        self.train(self.steps)
        return {
            **mlp_weights.by_layer("gradient", gradients),
            "losses": self.losses[:CHECKED],
        }

    def last(self) -> dict[str, np.ndarray]:
        weights = np.concatenate([weight.reshape(-1) for weight in self.weights])
        return {"losses": self.losses[:CHECKED], "weights": weights}
