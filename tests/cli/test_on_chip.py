"""The rungs of mlp_train that keep the weights on the chip: on the host, against float64."""

import ctypes
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from host_kernels import aligned, kernels_for_host, library_of
from project import ROOT

PIXELS, CLASSES, IMAGES, RATE = 784, 10, 300, 0.1

PROGRAM = """
#include "emulation/host_cuda.h"
extern thread_local float4 shared_memory[] asm("dynamic_shared");
#include "mlp_workload.cuh"
#define TEMPORARIES STEPS_MEMORY(64)
#include "mlp_train/on_chip_steps.cuh"
static_assert(sizeof(block_t) <= sizeof dynamic_shared, "a block's memory");
extern "C" unsigned rows() { return ROWS; }
extern "C" unsigned register_tiles() { return REGISTER_TILES; }
extern "C" void launch(void **arguments) {
    launch_on_host(train_steps, arguments, BLOCKS, THREADS, CLUSTER, CLUSTERS);
}
"""


class Case(NamedTuple):
    width: int
    depth: int
    batch: int = 64
    sixteens: int = 1
    """Sixteens of neurons in a cluster."""
    shared_tiles: int = 100
    """At most, before the others are in registers."""
    tf32: bool = False
    lanes: bool = False


def built(folder: Path, case: Case) -> Any:
    """Return the library with the rung's kernel for one case."""
    kernels = kernels_for_host(folder)
    tiles = kernels / "mlp_train" / "on_chip_tiles.cuh"
    source = tiles.read_text("utf-8")
    edits = {
        "((WIDTH + 223) / 224)": str(case.sixteens),
        "((232448 - OTHER_BYTES) / TILE_BYTES)": str(case.shared_tiles),
    }
    for old, new in edits.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    tiles.write_text(source, "utf-8")
    program = folder / "program.cc"
    program.write_text(PROGRAM, "utf-8")
    defines = {"WIDTH": case.width, "DEPTH": case.depth, "BATCH": case.batch}
    defines |= {"DTYPE_TF32": int(case.tf32)} | ({"TAKES_TF32": 1} if case.tf32 else {})
    defines |= {"ON_LANES": int(case.lanes)}
    return library_of(program, [kernels, ROOT / "tests" / "tools"], defines)


class Network:
    """Start weights, images, and a training in float64."""

    def __init__(self, case: Case) -> None:
        rng = np.random.default_rng(1)
        self.case = case
        sizes = [PIXELS] + [case.width] * (case.depth - 1) + [CLASSES]
        shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
        self.w = [
            rng.uniform(-1, 1, shape).astype(np.float32) / shape[1] ** 0.5 for shape in shapes
        ]
        self.b = [rng.uniform(-0.1, 0.1, shape[0]).astype(np.float32) for shape in shapes]
        self.x = (rng.random((IMAGES, PIXELS)) * (rng.random((IMAGES, PIXELS)) > 0.8)).astype(
            np.float32
        )
        self.labels = rng.integers(0, CLASSES, IMAGES).astype(np.uint8)
        self.order = rng.permutation(IMAGES).astype(np.uint32)

    def trained(self, rows: int) -> tuple[list[Any], list[Any], list[float]]:
        """Return weights, biases and losses after the first `rows` images."""
        w, b = ([v.astype(np.float64) for v in of] for of in (self.w, self.b))
        losses = []
        for first in range(0, rows, self.case.batch):
            of = self.order[first : min(first + self.case.batch, rows)]
            x = [self.x[of].astype(np.float64)]
            for layer, (weights, bias) in enumerate(zip(w, b, strict=True)):
                z = x[-1] @ weights.T + bias
                x.append(np.maximum(z, 0) if layer + 1 < self.case.depth else z)
            power = np.exp(x[-1])
            share = power / power.sum(1, keepdims=True)
            one_hot = np.eye(CLASSES)[self.labels[of]]
            losses.append(float(-np.log((share * one_hot).sum(1)).mean()))
            delta, dw, db = (share - one_hot) / len(of), [], []
            for layer in range(self.case.depth - 1, -1, -1):
                dw.insert(0, delta.T @ x[layer])
                db.insert(0, delta.sum(0))
                delta = (delta @ w[layer]) * (x[layer] > 0)
            w = [v - RATE * d for v, d in zip(w, dw, strict=True)]
            b = [v - RATE * d for v, d in zip(b, db, strict=True)]
        return w, b, losses


class Device:
    """What the kernel sees."""

    def __init__(self, network: Network, library: Any) -> None:
        self.network, self.library = network, library
        self.w, self.b = [v.copy() for v in network.w], [v.copy() for v in network.b]
        case = network.case
        floats = library.rows() * (3 * (case.depth - 1) * case.width + 16)
        self.memory = np.full(floats + 4, 7, np.float32)

    def train(self, rows: int) -> list[float]:
        case, network = self.network.case, self.network
        losses = np.full(-(-rows // case.batch), 9, np.float32)
        at, images = self.memory.ctypes.data, aligned(network.x)
        lists = ctypes.c_void_p * case.depth
        pointers = [of.ctypes.data for of in (images, network.labels, network.order)]
        values = [
            *map(ctypes.c_void_p, pointers),
            *(lists(*(v.ctypes.data for v in of)) for of in (self.w, self.b)),
            *map(ctypes.c_void_p, (losses.ctypes.data, None)),
            ctypes.c_float(RATE),
            *map(ctypes.c_longlong, (len(losses), 1, rows)),
            ctypes.c_int(0),
            ctypes.c_void_p(at + -at % 16),
        ]
        self.library.launch((ctypes.c_void_p * len(values))(*map(ctypes.addressof, values)))
        return losses.tolist()


def error(got: list[Any], expected: list[Any]) -> float:
    """Return the largest relative L2 error of the layers."""
    return max(
        float(np.linalg.norm(g - e) / np.linalg.norm(e)) for g, e in zip(got, expected, strict=True)
    )


CASES = [
    Case(40, 4, sixteens=2, shared_tiles=2, lanes=True),
    Case(16, 4, tf32=True),
]
LONG_CASES = [
    Case(24, 3, batch=5),
    Case(40, 4, sixteens=2, shared_tiles=2),
    Case(16, 2),
    Case(16, 2, lanes=True),
    Case(16, 5, sixteens=4, shared_tiles=3),
    Case(24, 5, batch=5, sixteens=4, shared_tiles=3, lanes=True),
]


@pytest.mark.parametrize(
    "case", [*CASES, *(pytest.param(case, marks=pytest.mark.long) for case in LONG_CASES)], ids=str
)
def test_steps_against_float64(tmp_path: Path, case: Case) -> None:
    library = built(tmp_path, case)
    assert library.register_tiles() == max(0, 2 * case.depth - 3 - case.shared_tiles)
    network = Network(case)
    within = 5e-3 if case.tf32 else 2e-6
    # All flags of both buffers, and a smaller last batch.
    rows = 4 * case.batch + (case.batch + 1) // 2
    device = Device(network, library)
    losses = device.train(rows)
    w, b, expected = network.trained(rows)
    assert losses == pytest.approx(expected, within)
    starts = network.w + network.b
    changes = [got - start for got, start in zip(device.w + device.b, starts, strict=True)]
    # A weight is a thousand times its change, and rounded in each step.
    assert error(changes, [v - s for v, s in zip(w + b, starts, strict=True)]) < 100 * within
