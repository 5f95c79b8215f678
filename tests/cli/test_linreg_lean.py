"""Rung 08 of linreg_train on the host, against float64."""

import ctypes

import numpy as np
import pytest
from host_kernels import kernels_for_host, library_of

POINTS, N, BLOCKS, THREADS, LOSS_EVERY = 75001, 60001, 64, 128, 10
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


# As bench defines them.
ARGUMENTS = (
    "const T *x, const T *y, T *line, float *loss, unsigned char *workspace, double rate, "
    "double inverse_n, long long points, long long epochs WORKLOAD_STEP"
)
DEFINES = {
    **{"POINTS": POINTS, "WORKLOAD_TYPES": "typedef float T;", "WORKLOAD_ARGUMENTS": ARGUMENTS},
    **dict.fromkeys(("WORKLOAD_F16", "WORKLOAD_BF16", "WORKLOAD_FP8"), 0),
}


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
    return library_of(program, [kernels], DEFINES)


def trained(x: np.ndarray, y: np.ndarray, epochs: int) -> tuple[float, float, list[float]]:
    """Return w, b and the recorded losses in float64."""
    w, b, losses = float(np.float32(W)), float(np.float32(B)), []
    for epoch in range(epochs):
        e = w * x + b - y
        if epoch % LOSS_EVERY == 0:
            losses.append(float((e * e).mean()))
        w, b = w - RATE * 2 * float((e * x).mean()), b - RATE * 2 * float(e.mean())
    return w, b, losses


def test_epochs_against_float64(rung: ctypes.CDLL) -> None:
    assert (rung.in_registers(), rung.shared_pairs()) == (5, 2)
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, N).astype(np.float32)
    y = (2 * x + 1 + rng.uniform(-0.5, 0.5, N)).astype(np.float32)
    found = []
    # Again: what an odd and an even number of epochs leave is taken for nothing new.
    for epochs in (13, 13, 22, 1, 13):
        line, loss = np.array([W, B], np.float32), np.full(6, 9, np.float32)
        arrays = [ctypes.c_void_p(array.ctypes.data) for array in (x, y, line, loss)]
        given = [
            *arrays,
            ctypes.c_void_p(),
            *map(ctypes.c_double, (RATE, 1 / N)),
            *map(ctypes.c_longlong, (POINTS, epochs)),
            ctypes.c_int(0),
        ]
        rung.launch((ctypes.c_void_p * len(given))(*map(ctypes.addressof, given)))
        w, b, losses = trained(x.astype(np.float64), y.astype(np.float64), epochs)
        assert line == pytest.approx([w, b], rel=2e-7)
        assert loss[: len(losses)] == pytest.approx(losses, 1e-6)
        assert (loss[len(losses) :] == 9).all()
        if epochs == 13:
            found.append(line.tobytes() + loss.tobytes())
    assert len(set(found)) == 1
