"""Rung 08 of linreg_train on the host, against float64."""

import ctypes

import numpy as np
import pytest
from host_kernels import kernels_for_host, library_of

POINTS, BLOCKS, THREADS, LOSS_EVERY = 60001, 64, 128, 10
W, B, RATE = 0.83, 0.7645, 0.01

PROGRAM = """
#include "emulation/host_cuda.h"
extern thread_local float4 shared_memory[] asm("dynamic_shared");
#include "linreg_train/08_lean_epochs.cu"
extern "C" unsigned in_registers() { return REGISTER_POINTS; }
extern "C" unsigned shared_pairs() { return SHARED_PAIRS; }
extern "C" void launch(void **arguments) {
    launch_on_host(train, arguments, BLOCKS, THREADS, 1, BLOCKS);
}
"""


class State(ctypes.Structure):
    _fields_ = [("w", ctypes.c_double), ("b", ctypes.c_double), ("rest", ctypes.c_char * 12336)]


class Problem(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("x", "y", "x_test", "y_test", "prediction")),
        *((name, ctypes.c_void_p) for name in ("state", "results")),
        ("seed", ctypes.c_ulonglong),
        *((name, ctypes.c_double) for name in ("gain", "inverse_n")),
        ("x_step", ctypes.c_float),
        *((name, ctypes.c_uint) for name in ("points", "n", "n_test", "epochs")),
    ]


@pytest.fixture(scope="module")
def rung(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Return the rung with fewer blocks, threads and registers."""
    folder = tmp_path_factory.mktemp("lean")
    kernels = kernels_for_host(folder)
    path = kernels / "linreg_train" / "08_lean_epochs.cu"
    source = path.read_text("utf-8")
    edits = {
        "#define BLOCKS 128": f"#define BLOCKS {BLOCKS}",
        "#define THREADS 256": f"#define THREADS {THREADS}",
        "#define IN_REGISTERS 104": "#define IN_REGISTERS 5",
        "N_TRAIN <= 180224": "N_TRAIN <= 0",
    }
    for old, new in edits.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    path.write_text(source, "utf-8")
    program = folder / "program.cc"
    program.write_text(PROGRAM, "utf-8")
    return library_of(program, [kernels], {"N_TRAIN": POINTS, "LOSS_EVERY": LOSS_EVERY})


def trained(x: np.ndarray, y: np.ndarray, epochs: int) -> tuple[float, float, list[float]]:
    """Return w, b and the recorded losses in float64."""
    w, b, losses = W, B, []
    for epoch in range(epochs):
        e = w * x + b - y
        if epoch % LOSS_EVERY == 0:
            losses.append(float((e * e).mean()))
        w, b = w - RATE * 2 * float((e * x).mean()), b - RATE * 2 * float(e.mean())
    return w, b, losses


def test_epochs_against_float64(rung: ctypes.CDLL) -> None:
    assert (rung.in_registers(), rung.shared_pairs()) == (5, 2)
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 10, POINTS)).astype(np.float32)
    y = (2 * x + 1 + rng.uniform(-0.5, 0.5, POINTS)).astype(np.float32)
    state = State(W, B)
    found = []
    # Again: what an odd and an even number of epochs leave is taken for nothing new.
    for epochs in (13, 13, 22, 1, 13):
        results = np.full(4 + 3, 9.0)
        problem = Problem(
            x=x.ctypes.data,
            y=y.ctypes.data,
            state=ctypes.addressof(state),
            results=results.ctypes.data,
            gain=2 * RATE / POINTS,
            inverse_n=1 / POINTS,
            points=POINTS,
            n=POINTS,
            epochs=epochs,
        )
        part = ctypes.c_uint(0)
        rung.launch((ctypes.c_void_p * 2)(ctypes.addressof(problem), ctypes.addressof(part)))
        w, b, losses = trained(x.astype(np.float64), y.astype(np.float64), epochs)
        assert results[:2] == pytest.approx([w, b], abs=2e-7)
        assert results[4 : 4 + len(losses)] == pytest.approx(losses, 1e-6)
        assert (results[4 + len(losses) :] == 9).all()
        if epochs == 13:
            found.append(results.tobytes())
    assert len(set(found)) == 1
