"""The rungs of kernels/{softmax,rms_norm,reduce_sum,gemm}: on the host, and compiled for all GPUs."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from host_kernels import Rung
from project import ROOT

SOFTMAX = "const T *x, T *y, unsigned char *workspace, long long rows"
RMS_NORM = "const T *x, const T *weight, T *y, unsigned char *workspace, float eps, long long rows"
REDUCE_SUM = "const T *x, T *y, unsigned char *workspace, long long n"
GEMM = "const T *a, const T *b, T *y, unsigned char *workspace"
LENGTHS = [1, 31, 33, 128, 1000, 1025, 2050]
LONG = {"04_cluster": [2048, 4098, 9001], "03_cluster": [2048, 4098, 9001]}
EPS = {"f32": 1e-6, "f16": 1e-3, "bf16": 4e-3}


def rungs(operator: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "kernels" / operator).glob("*.cu"))


def lengths(rung: str) -> list[int]:
    return LONG.get(rung, LENGTHS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host")


def narrowed(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return values in a dtype's bits; bf16 as the upper halves of float32."""
    if dtype != "bf16":
        return aligned(values.astype({"f32": np.float32, "f16": np.float16}[dtype]))
    bits = values.astype(np.float32).view(np.uint32)
    return aligned(((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16))


def aligned(array: np.ndarray) -> np.ndarray:
    """Return a copy at a multiple of 256 bytes."""
    memory = np.empty(array.nbytes + 256, np.uint8)
    start = -memory.ctypes.data % 256
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def widened(bits: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return bits.astype(np.float64)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).normal(size=shape)


def guarded(shape: tuple[int, ...], dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return an output full of NaNs, and it with what follows it, which must stay NaN."""
    n = int(np.prod(shape))
    whole = narrowed(np.full(n + 64, 123.0), dtype)
    return whole[:n].reshape(shape), whole[n:]


def check(y: np.ndarray, after: np.ndarray, expected: np.ndarray, dtype: str) -> None:
    error = np.linalg.norm(widened(y, dtype) - expected) / np.linalg.norm(expected)
    assert error < EPS[dtype]
    assert (widened(after, dtype) == 123).all(), "written past the end"


@pytest.mark.parametrize("dtype", ["f32", "f16"])
@pytest.mark.parametrize(
    ("rung", "cols"), [(rung, cols) for rung in rungs("softmax") for cols in lengths(rung)]
)
def test_softmax(folder: Path, rung: str, cols: int, dtype: str) -> None:
    program = Rung(folder, f"softmax/{rung}", dtype, SOFTMAX, COLS=cols)
    for rows in (1, 5):
        # Beside the largest elements of a row are some that are masked.
        values = normal(rows, cols) * 3
        values[:, 1::7] = -np.inf
        x = narrowed(values, dtype)
        y, after = guarded(x.shape, dtype)
        program.run([x, y], [ctypes.c_longlong(rows)], rows=rows, cols=cols)
        wide = np.exp(widened(x, dtype) - widened(x, dtype).max(-1, keepdims=True))
        check(y, after, wide / wide.sum(-1, keepdims=True), dtype)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize(
    ("rung", "cols"), [(rung, cols) for rung in rungs("rms_norm") for cols in lengths(rung)]
)
def test_rms_norm(folder: Path, rung: str, cols: int, dtype: str) -> None:
    program = Rung(folder, f"rms_norm/{rung}", dtype, RMS_NORM, COLS=cols)
    eps = np.float32(1e-5)
    for rows in (1, 5):
        x, weight = narrowed(normal(rows, cols), dtype), narrowed(normal(cols) + 1, dtype)
        y, after = guarded(x.shape, dtype)
        scalars = [ctypes.c_float(eps), ctypes.c_longlong(rows)]
        program.run([x, weight, y], scalars, rows=rows, cols=cols)
        wide = widened(x, dtype)
        mean = (wide**2).mean(-1, keepdims=True)
        check(y, after, wide * widened(weight, dtype) / np.sqrt(mean + float(eps)), dtype)


@pytest.mark.parametrize("rung", rungs("reduce_sum"))
def test_reduce_sum(folder: Path, rung: str) -> None:
    program = Rung(folder, f"reduce_sum/{rung}", "f32", REDUCE_SUM)
    for n in (1, 2, 3, 31, 33, 1000, 16384, 16387, 50001):
        x = narrowed(normal(n), "f32")
        sums = []
        for _ in range(2):  # the second run finds what the first one left
            y, after = guarded((1,), "f32")
            program.run([x, y], [ctypes.c_longlong(n)], n=n)
            assert abs(y[0] - x.sum(dtype=np.float64)) < 1e-6 * np.linalg.norm(x)
            assert (after == 123).all()
            sums.append(y.tobytes())
        assert sums[0] == sums[1]


PRODUCTS = [(1, 8, 8), (16, 40, 72), (33, 72, 200), (130, 264, 136)]


@pytest.mark.parametrize(("m", "n", "k"), PRODUCTS)
@pytest.mark.parametrize("rung", rungs("gemm"))
def test_gemm(folder: Path, rung: str, m: int, n: int, k: int) -> None:
    program = Rung(folder, f"gemm/{rung}", "f16", GEMM, M=m, N=n, K=k)
    a, b = narrowed(normal(m, k), "f16"), narrowed(normal(n, k)[::-1], "f16")
    y, after = guarded((m, n), "f16")
    program.run([a, b, y], [], m=m, n=n, k=k)
    check(y, after, widened(a, "f16") @ widened(b, "f16").T, "f16")
