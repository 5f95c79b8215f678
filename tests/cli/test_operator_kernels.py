"""The rungs of kernels/{softmax,rms_norm,reduce_sum,gemm}: on the host, and compiled for all GPUs."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_kernels import Rung, aligned
from project import ROOT, bench, compiler_options, read_cases, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

SOFTMAX = "const T *x, T *y, unsigned char *workspace, long long rows"
RMS_NORM = "const T *x, const T *weight, T *y, unsigned char *workspace, float eps, long long rows"
REDUCE_SUM = "const T *x, T *y, unsigned char *workspace, long long n"
GEMM = "const T *a, const T *b, T *y, unsigned char *workspace"
# One element, no whole vector, partly filled warps, the first length for a whole block, …
LENGTHS = [1, 31, 33, 128, 1000, 1025, 2050]
LONG = [2048, 4098, 9001]
PACKED = [9000, 16384]  # rows of rung 04_rows_in_turn: two of them in registers, so packed ones
EPS = {"f32": 1e-6, "f16": 1e-3, "bf16": 4e-3}


@pytest.mark.parametrize("operator", ["softmax", "rms_norm", "reduce_sum", "gemm"])
def test_the_sweep_has_the_sizes_of_the_description(operator: str) -> None:
    description = json.loads((ROOT / "kernels" / operator / "workload.json").read_text("utf-8"))
    sweep = json.loads((ROOT / "sweeps" / f"{operator}.json").read_text("utf-8"))
    assert sweep["axes"] == description["sweep"]["full"]


def rungs(operator: str) -> list[str]:
    return sorted(path.stem for path in (ROOT / "kernels" / operator).glob("*.cu"))


def cases(operator: str, *dtypes: str) -> list[Any]:
    """Return rungs, lengths and dtypes, the packed one last.

    Each rung has one length for a dtype in make check, another one than the rung before.
    """
    found = []
    for r, rung in enumerate(rungs(operator)):
        in_turn = "in_turn" in rung
        lengths = PACKED if in_turn else LONG if "cluster" in rung else LENGTHS
        for c, cols in enumerate(lengths):
            for d, dtype in enumerate(dtypes[-1:] if in_turn else dtypes):
                chosen = in_turn or c == (2 * r + 3 * d) % len(lengths)
                marks = () if chosen else pytest.mark.long
                found.append(pytest.param(rung, cols, dtype, marks=marks))
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("host")


def narrowed(values: np.ndarray, dtype: str) -> np.ndarray:
    """Return values in a dtype's bits; bf16 as the upper halves of float32."""
    if dtype != "bf16":
        return aligned(values.astype({"f32": np.float32, "f16": np.float16}[dtype]))
    bits = values.astype(np.float32).view(np.uint32)
    return aligned(((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16))


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


@pytest.mark.parametrize(("rung", "cols", "dtype"), cases("softmax", "f32", "f16"))
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


@pytest.mark.parametrize(("rung", "cols", "dtype"), cases("rms_norm", "f32", "bf16"))
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
    for n in (1, 3, 33, 1000, 16387, 20001):
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
LARGEST_TILES = ("< 96", "< 1")  # however small the product is


@pytest.mark.parametrize(
    ("rung", "edit"),
    [("01_tensor_cores", None), ("02_ring", None), ("02_ring", LARGEST_TILES)]
    + [("03_wgmma", LARGEST_TILES)],
)
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (72, 264, 456),
        *(pytest.param(*p, marks=pytest.mark.long) for p in PRODUCTS),
    ],
)
def test_gemm(folder: Path, rung: str, edit: Any, m: int, n: int, k: int) -> None:
    check_gemm(folder, rung, edit, m, n, k)


@pytest.mark.parametrize(("m", "n", "k"), [(1, 8, 8), (9, 40, 1000), (16, 72, 2568)])
def test_gemm_of_few_rows(folder: Path, m: int, n: int, k: int) -> None:
    """Also with more steps than all rings hold, and warps without a step."""
    check_gemm(folder, "04_few_rows", None, m, n, k)


def check_gemm(folder: Path, rung: str, edit: Any, m: int, n: int, k: int) -> None:
    program = Rung(folder, f"gemm/{rung}", "f16", GEMM, edit, M=m, N=n, K=k)
    a, b = narrowed(normal(m, k), "f16"), narrowed(normal(n, k)[::-1], "f16")
    y, after = guarded((m, n), "f16")
    program.run([a, b, y], [], m=m, n=n, k=k)
    check(y, after, widened(a, "f16") @ widened(b, "f16").T, "f16")


# ---- for GPUs -------------------------------------------------------------------------------------

OPERATORS = ["gemm", "reduce_sum", "rms_norm", "softmax"]
DTYPES = {"softmax": ["f32", "f16"], "rms_norm": ["bf16", "f32"]}
WGMMA = {"03_wgmma", "05_tma", "06_persistent", "07_registers", "08_two_parts", "09_shared_columns"}
ARCHS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]


def compiled(folder: Path, operator: str, archs: list[str], **axes: Any) -> list[dict[str, Any]]:
    """Compile all rungs; return those that do not skip the case."""
    if operator in DTYPES:
        axes["dtype"] = DTYPES[operator]
    contenders = [{"engine": "cuda", "variants": ["*"]}]
    sweep = write_sweep(folder / f"{operator}.json", operator, contenders, axes=axes)
    options = ["--json", "--quiet", "--cache", folder / "cache", *compiler_options()]
    done = bench("compile", sweep, "--arch", ",".join(archs), *options)
    programs = json.loads(done.stdout)["programs"]
    assert {p["status"] for p in programs} <= {"ok", "skipped"}
    assert {p["variant"] for p in programs} == set(rungs(operator))
    return [p for p in programs if p["status"] == "ok"]


def sizes(operator: str) -> dict[str, list[int]]:
    """Return the values of all sweeps of an operator, in ascending order."""
    text = (ROOT / "kernels" / operator / "workload.json").read_text("utf-8")
    found: dict[str, set[int]] = {}
    for axes in json.loads(text)["sweep"].values():
        for name, values in axes.items():
            found.setdefault(name, set()).update(values)
    return {name: sorted(values) for name, values in found.items()}


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_rung_compiles_for_the_h200_without_spills(tmp_path: Path, operator: str) -> None:
    programs = compiled(tmp_path, operator, ["sm_90"], **sizes(operator))
    assert {p["variant"] for p in programs} == set(rungs(operator))
    assert {p["spill_bytes"] for p in programs} == {0}
    wide = {p["variant"] for p in programs if p["arch"] == "sm_90a"}
    assert wide == (WGMMA if operator == "gemm" else set())


@pytest.mark.long
@pytest.mark.parametrize("operator", OPERATORS)
def test_every_rung_compiles_or_says_why_not(tmp_path: Path, operator: str) -> None:
    """At the largest size, which needs most; the test above has the others."""
    largest: dict[str, Any] = {name: values[-1:] for name, values in sizes(operator).items()}
    if operator == "gemm":
        largest["dtype"] = ["f16", "bf16"]
    programs = compiled(tmp_path, operator, ARCHS, **largest)
    assert {p["arch"].removesuffix("a") for p in programs} == set(ARCHS)


# ---- their references -----------------------------------------------------------------------------

SMALL = {
    "softmax": {"rows": [8], "cols": [33]},
    "rms_norm": {"rows": [8], "cols": [33]},
    "reduce_sum": {"n": [1000]},
    "gemm": {"m": [16], "n": [24], "k": [32]},
}


def test_references_run_on_the_cpu(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    sweeps = []
    for operator, small in SMALL.items():
        contenders = [{"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]}]
        if operator == "gemm":
            contenders.append({"engine": "python", "device": ["cpu"], "variants": ["cublas_gemm"]})
        axes = {**small, "dtype": DTYPES[operator]} if operator in DTYPES else small
        sweeps.append(write_sweep(tmp_path / f"{operator}.json", operator, contenders, axes=axes))
    bench("run", *sweeps, "--out", tmp_path / "run")
    cases = read_cases(tmp_path / "run")
    assert len(cases) == 7
    for case in cases.values():
        assert case["status"] == "ok", case
