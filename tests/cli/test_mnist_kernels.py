"""Rungs 04 and 06 of mnist_train on the host, against NumPy; 06 with all blocks at the same time."""

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_kernels import aligned, kernels_for_host, library_of

LONG = pytest.mark.long
PIXELS, CLASSES, IMAGES = 784, 10, 96
# Blocks of a cluster, padded width, neurons of a block. On a GPU: 8, and 8 or 16 neurons.
SMALL = {"RANKS": 2, "WIDTH": 128, "OWN": 32}


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
        *((name, ctypes.c_void_p) for name in ("scratch", "low_halves", "counters")),
        ("seed", ctypes.c_ulonglong),
        ("rate", ctypes.c_float),
        ("steps", ctypes.c_uint),
        ("images_n", ctypes.c_uint),
    ]


class Training:
    """Weights, images and their order, in float16; what both sides train from.

    With dtype mixed the weights are float32.
    """

    def __init__(self, hidden: int, batch: int, steps: int, mixed: bool = False) -> None:
        self.mixed = mixed
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
            dtype = np.float32 if mixed else np.float16
            self.weights.append((w.astype(dtype), b.astype(dtype)))

    def expected(self) -> tuple[list[float], list[np.ndarray], list[list[np.ndarray]]]:
        """Return the losses, the first step's gradients, and the weights after the last."""
        kept = [[part.astype(np.float64) for part in layer] for layer in self.weights]
        stored = (lambda values: values) if self.mixed else rounded
        losses: list[float] = []
        first: list[np.ndarray] = []
        for batch in self.order:
            weights = [[rounded(part) for part in layer] for layer in kept]
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
            kept = [
                [stored(w - self.rate * g[:, :-1]), stored(b - self.rate * g[:, -1])]
                for (w, b), g in zip(kept, gradients, strict=True)
            ]
        return losses, first, kept


def split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return float16 and the lower half of the bits of value · 2^-112: split_weight.cuh."""
    scaled = values.astype(np.float32) * np.float32(2.0**-112)
    return values.astype(np.float16), scaled.view(np.uint32).astype(np.uint16)


def joined(halves: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Return the float32 values that `split` makes these of: float16 rounds off 13 bits."""
    near = (halves.astype(np.float32) * np.float32(2.0**-112)).view(np.uint32).astype(np.int64)
    bits = (near - low + 0x8000 & ~0xFFFF | low).astype(np.uint32)
    return bits.view(np.float32) * np.float32(2.0**112)


ON_CHIP = """
thread_local uint4 evaluate_memory[1];
#include "mnist_train/06_on_chip.cu"
extern "C" void run(void **arguments, unsigned) {
    launch_on_host(train, arguments, BLOCKS, THREADS, RANKS, CLUSTERS);
}
"""
# A graph's launches. IN_CLUSTER: blocks of a cluster, of all kernels but one.
LAUNCHED = """
thread_local uint4 evaluate_memory[1];
extern thread_local uint4 shared[] asm("dynamic_shared");
#include "mnist_train/04_weight_streaming.cu"
static const std::pair<const char *, void (*)(mnist_t)> KERNELS[] = {
    {"forward_0", forward_0},   {"forward_1", forward_1},   {"forward_2", forward_2},
    {"backward_3", backward_3}, {"backward_2", backward_2}, {"backward_1", backward_1},
    {"backward_0", backward_0}};
static void launch_stages(unsigned when, void **arguments) {
    for (const stage_t &stage : stages)
        for (const auto &kernel : KERNELS)
            if (stage.when == when && strcmp(stage.entry, kernel.first) == 0)
                launch_on_host(kernel.second, arguments, stage.max_blocks, stage.threads,
                               strcmp(stage.entry, "backward_3") == 0 ? 1 : IN_CLUSTER);
}
extern "C" void run(void **arguments, unsigned steps) {
    launch_stages(STAGE_TRAINING, arguments);
    for (unsigned step = 0; step < steps; step++)
        launch_stages(STAGE_EPOCH, arguments);
}
"""
TILED = """
thread_local uint4 evaluate_memory[1];
extern thread_local uint4 train_memory[] asm("dynamic_shared");
#include "mnist_train/07_tiled_stream.cu"
extern "C" void run(void **arguments, unsigned) {
    launch_on_host(train, arguments, BLOCKS, BLOCK_THREADS, CLUSTER, PANELS);
}
"""


def library(folder: Path, training: Training, program: str, defines: dict[str, Any]) -> ctypes.CDLL:
    kernels = kernels_for_host(folder)
    files = kernels / "mnist_train"
    source = folder / "program.cc"
    source.write_text('#include "emulation/host_cuda.h"\n' + program, encoding="utf-8")
    defines = {
        **defines,
        "HIDDEN": training.hidden,
        "BATCH": training.batch,
        "DTYPE_F16": int(not training.mixed),
        "DTYPE_MIXED": int(training.mixed),
        "ACCUMULATE_F16": 0,
    }
    return library_of(source, [kernels, kernels / "common", files], defines)


class Parameters:
    """All weights and biases in one block, and with dtype mixed the second words in another."""

    def __init__(self, training: Training, problem: Problem) -> None:
        self._mixed = training.mixed
        parts = [part for layer in training.weights for part in layer]
        self._at = np.cumsum([0, *(padded(part.size) for part in parts)])
        self._shapes = [part.shape for part in parts]
        self._halves = aligned(np.zeros(self._at[-1], np.float16))
        self._low = aligned(np.zeros(self._at[-1], np.uint16))
        for i, part in enumerate(parts):
            place = slice(self._at[i], self._at[i] + part.size)
            self._halves[place], self._low[place] = (
                values.reshape(-1) for values in split(part.astype(np.float32))
            )
            pointers = problem.b if i % 2 else problem.w
            pointers[i // 2] = self._halves[place].ctypes.data
        problem.low_halves = self._low.ctypes.data if training.mixed else None

    @property
    def size(self) -> int:
        return int(self._at[-1])

    def read(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return (w, b) of each layer."""
        values = joined(self._halves, self._low) if self._mixed else self._halves
        parts = [
            values[at : at + np.prod(shape)].reshape(shape).astype(np.float64)
            for at, shape in zip(self._at[:-1], self._shapes, strict=True)
        ]
        return list(zip(parts[::2], parts[1::2], strict=True))


def run(
    built: ctypes.CDLL, training: Training
) -> tuple[np.ndarray, list[np.ndarray], list[tuple[np.ndarray, np.ndarray]]]:
    """Return the losses, the first of few steps' gradients, and the weights of the kernel."""
    hidden, steps = training.hidden, len(training.order)
    problem = Problem(rate=training.rate, steps=steps, images_n=IMAGES)
    parameters = Parameters(training, problem)
    gradients = [np.full((n_out, n_in + 1), np.nan, np.float32) for n_out, n_in in sizes_of(hidden)]
    for layer, gradient in enumerate(gradients):
        problem.gradients[layer] = gradient.ctypes.data if steps < 3 else None
    images = aligned(training.images)
    losses, counters = np.full(steps, np.nan, np.float32), np.zeros(64, np.uint32)
    order = np.concatenate([training.order, training.order[:1]])  # the next step's images, too
    zeros = np.zeros(2 * training.batch * max(PIXELS, hidden), np.float16)
    between = [aligned(zeros) for _ in range(8)]
    for layer in range(4):
        problem.a[layer] = between[layer].ctypes.data
        problem.delta[layer] = between[4 + layer].ctypes.data
    for name, array in (
        ("images", images),
        ("labels", training.labels),
        ("order", order),
        ("losses", losses),
        ("counters", counters),
    ):
        setattr(problem, name, array.ctypes.data)
    scratch = aligned(np.zeros(parameters.size, np.float32))
    problem.scratch = scratch.ctypes.data
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(problem))
    built.run(arguments, steps)
    return losses, gradients, parameters.read()


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """Return the relative error, L2; NaN if a value is missing."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def expect_as_numpy(training: Training, found: tuple[Any, Any, Any]) -> None:
    losses, gradients, weights = training.expected()
    found_losses, found_gradients, found_weights = found
    assert found_losses == pytest.approx(losses, rel=1e-3)
    if len(losses) < 3:
        for got, gradient in zip(found_gradients, gradients, strict=True):
            assert error(got, gradient) < 1e-3
    # A float16 weight that is rounded to its other neighbour is off by much of an update.
    most = 2e-4 if training.mixed else 2e-2
    for got, expected, start in zip(found_weights, weights, training.weights, strict=True):
        for part in range(2):
            moved = expected[part] - start[part]
            assert error(got[part] - start[part].astype(np.float64), moved) < most


@pytest.mark.parametrize(
    ("hidden", "batch", "steps", "clustered"),
    [
        (128, 32, 3, 1),
        pytest.param(72, 20, 1, 0, marks=LONG),
        pytest.param(128, 32, 3, 0, marks=LONG),
        pytest.param(72, 20, 1, 1, marks=LONG),
    ],
)
def test_on_chip(tmp_path: Path, hidden: int, batch: int, steps: int, clustered: int) -> None:
    training = Training(hidden, batch, steps)
    built = library(tmp_path, training, ON_CHIP, {**SMALL, "CLUSTERED": clustered})
    expect_as_numpy(training, run(built, training))


@pytest.mark.parametrize(
    ("hidden", "batch", "steps"), [pytest.param(128, 32, 3, marks=LONG), (72, 20, 2)]
)
def test_on_chip_with_float32_weights(tmp_path: Path, hidden: int, batch: int, steps: int) -> None:
    training = Training(hidden, batch, steps, mixed=True)
    built = library(tmp_path, training, ON_CHIP, {**SMALL, "CLUSTERED": 1})
    expect_as_numpy(training, run(built, training))


@pytest.mark.parametrize(
    ("hidden", "in_cluster", "mixed"),
    [
        pytest.param(64, "1", True, marks=LONG),
        (128, "CLUSTER", False),
        pytest.param(64, "1", False, marks=LONG),
        pytest.param(128, "CLUSTER", True, marks=LONG),
    ],
)
def test_launched(tmp_path: Path, hidden: int, in_cluster: str, mixed: bool) -> None:
    """Kernels of a layer each: without a ring, and with one and clusters."""
    trainings = [Training(hidden, 32, steps, mixed) for steps in (1, 3)]
    built = library(
        tmp_path, trainings[0], LAUNCHED, {"NARROWEST_STREAMED": 128, "IN_CLUSTER": in_cluster}
    )
    for training in trainings:
        expect_as_numpy(training, run(built, training))


@pytest.mark.parametrize(
    ("hidden", "cluster", "slots"), [(128, 2, None), pytest.param(384, 1, 5, marks=LONG)]
)
def test_tiled_stream(tmp_path: Path, hidden: int, cluster: int, slots: int | None) -> None:
    """With a ring that is longer than a stage, and shorter."""
    ring = kernels_for_host(tmp_path) / "mnist_train" / "tiled_ring.cuh"
    source = ring.read_text("utf-8")
    chosen = "2 * PANELS <= MOST_BLOCKS ? 2 : 1"
    assert source.count(chosen) == 1
    ring.write_text(source.replace(chosen, str(cluster)), encoding="utf-8")
    trainings = [Training(hidden, 32, steps) for steps in (1, 3)]
    few = {} if slots is None else {"SLOTS": slots}
    built = library(tmp_path, trainings[0], TILED, {"NARROWEST": 64, **few})
    for training in trainings:
        expect_as_numpy(training, run(built, training))
