"""kernels/mnist_train/06_on_chip.cu on the host, all its blocks at the same time, against NumPy."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from host_kernels import kernels_for_host, library_of

PIXELS, CLASSES, IMAGES = 784, 10, 96
# Blocks of a cluster, padded width, neurons of a block. On a GPU: 8, and 8 or 16 neurons.
SMALL = {"RANKS": 2, "WIDTH": 128, "OWN": 32}
CLUSTERS = 2


def padded(n: int) -> int:
    return (n + 127) // 128 * 128


def sizes_of(hidden: int) -> list[tuple[int, int]]:
    return [(hidden, PIXELS), (hidden, hidden), (hidden, hidden), (CLASSES, hidden)]


def rounded(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float16).astype(np.float64)


class Problem(ctypes.Structure):
    """mnist_t."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("images", "labels", "order")),
        *((name, ctypes.c_void_p * 4) for name in ("w", "b", "a", "delta")),
        *((name, ctypes.c_void_p) for name in ("logits", "losses")),
        ("gradients", ctypes.c_void_p * 4),
        *((name, ctypes.c_void_p) for name in ("scratch", "counters")),
        ("seed", ctypes.c_ulonglong),
        ("rate", ctypes.c_float),
        ("steps", ctypes.c_uint),
        ("images_n", ctypes.c_uint),
    ]


class Training:
    """Weights, images and their order, in float16; what both sides train from."""

    def __init__(self, hidden: int, batch: int, steps: int) -> None:
        dice = np.random.default_rng(3)
        self.batch, self.rate, self.hidden = batch, 0.25, hidden
        lit = dice.random((IMAGES, PIXELS)) < 0.2
        self.images = (lit * dice.random((IMAGES, PIXELS))).astype(np.float16)
        self.labels = dice.integers(0, CLASSES, IMAGES).astype(np.uint8)
        self.order = dice.integers(0, IMAGES, (steps, batch)).astype(np.uint32)
        self.weights = []
        for n_out, n_in in sizes_of(hidden):
            bound = n_in**-0.5
            w, b = dice.uniform(-bound, bound, (n_out, n_in)), dice.uniform(-bound, bound, n_out)
            self.weights.append((w.astype(np.float16), b.astype(np.float16)))

    def expected(self) -> tuple[list[float], list[np.ndarray], list[list[np.ndarray]]]:
        """Return the losses, the first step's gradients, and the weights after the last."""
        weights = [[part.astype(np.float64) for part in layer] for layer in self.weights]
        losses: list[float] = []
        first: list[np.ndarray] = []
        for batch in self.order:
            a = [self.images[batch].astype(np.float64)]
            for layer, (w, b) in enumerate(weights):
                y = a[-1] @ w.T + b
                a.append(y if layer == 3 else rounded(np.maximum(y, 0)))
            power = np.exp(a[4] - a[4].max(axis=1, keepdims=True))
            delta = power / power.sum(axis=1, keepdims=True)
            rows = np.arange(self.batch), self.labels[batch]
            losses.append(float(-np.log(delta[rows]).mean()))
            delta[rows] -= 1
            gradients = []
            for layer in (3, 2, 1, 0):
                delta = rounded(delta)
                gradients.append(np.c_[delta.T @ a[layer], delta.sum(axis=0)] / self.batch)
                delta = (delta @ weights[layer][0]) * (a[layer] > 0)
            gradients.reverse()
            first = first or gradients
            weights = [
                [rounded(w - self.rate * g[:, :-1]), rounded(b - self.rate * g[:, -1])]
                for (w, b), g in zip(weights, gradients, strict=True)
            ]
        return losses, first, weights


def library(folder: Path, hidden: int, batch: int, clustered: int) -> ctypes.CDLL:
    kernels = kernels_for_host(folder)
    files = kernels / "mnist_train"
    program = folder / f"on_chip_{hidden}_{batch}.cc"
    program.write_text(
        '#include "common/host_cuda.h"\n'
        "thread_local uint4 evaluate_memory[1];\n"
        '#include "mnist_train/06_on_chip.cu"\n'
        'extern "C" void launch_train(void **arguments, unsigned grid, unsigned threads, '
        "unsigned cluster) {\n"
        "    launch_on_host(train, arguments, grid, threads, cluster, grid / cluster);\n}\n",
        encoding="utf-8",
    )
    defines = {
        **SMALL,
        "CLUSTERED": clustered,
        "HIDDEN": hidden,
        "BATCH": batch,
        "DTYPE_F16": 1,
        "ACCUMULATE_F16": 0,
    }
    return library_of(program, [kernels, kernels / "common", files], defines)


def run(
    folder: Path, training: Training, clustered: int
) -> tuple[np.ndarray, list[np.ndarray], list[tuple[np.ndarray, np.ndarray]]]:
    """Return the losses, gradients (if there is one step) and weights of the kernel."""
    hidden, steps = training.hidden, len(training.order)
    built = library(folder, hidden, training.batch, clustered)
    memory = np.zeros(sum(padded(w.size) + padded(b.size) for w, b in training.weights), np.float16)
    memory = np.concatenate([memory, np.zeros(128, np.float16)])
    at = -memory.ctypes.data % 256 // 2
    places = []
    problem = Problem(rate=training.rate, steps=steps, images_n=IMAGES)
    gradients = [np.full((n_out, n_in + 1), np.nan, np.float32) for n_out, n_in in sizes_of(hidden)]
    for layer, (w, b) in enumerate(training.weights):
        for part, pointers in ((w, problem.w), (b, problem.b)):
            places.append(memory[at : at + part.size].reshape(part.shape))
            places[-1][...] = part
            pointers[layer] = places[-1].ctypes.data
            at += padded(part.size)
        problem.gradients[layer] = gradients[layer].ctypes.data if steps == 1 else None
    images = np.zeros(training.images.size + 128, np.float16)
    images = images[-images.ctypes.data % 256 // 2 :][: training.images.size]
    images[...] = training.images.reshape(-1)
    losses, counters = np.full(steps, np.nan, np.float32), np.zeros(64, np.uint32)
    for name, array in (
        ("images", images),
        ("labels", training.labels),
        ("order", training.order),
        ("losses", losses),
        ("counters", counters),
    ):
        setattr(problem, name, array.ctypes.data)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(problem))
    ranks = SMALL["RANKS"]
    built.launch_train(arguments, CLUSTERS * ranks, 256, ranks)
    return losses, gradients, list(zip(places[::2], places[1::2], strict=True))


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the relative error, L2; NaN if a value is missing."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("clustered", [1, 0])
@pytest.mark.parametrize(("hidden", "batch", "steps"), [(128, 32, 3), (72, 20, 1)])
def test_it_trains(tmp_path: Path, hidden: int, batch: int, steps: int, clustered: int) -> None:
    training = Training(hidden, batch, steps)
    losses, gradients, weights = training.expected()
    found_losses, found_gradients, found_weights = run(tmp_path, training, clustered)
    assert found_losses == pytest.approx(losses, rel=1e-3)
    if steps == 1:
        for found, expected in zip(found_gradients, gradients, strict=True):
            assert error(found, expected) < 1e-3
    for found, expected, start in zip(found_weights, weights, training.weights, strict=True):
        for part in range(2):
            moved = expected[part] - start[part]
            assert error(found[part] - start[part].astype(np.float64), moved) < 2e-2
