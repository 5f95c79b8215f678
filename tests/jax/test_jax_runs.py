"""JAX in `bench run`: the reference output accepts every mode; without JAX they are skipped."""

import sys
from pathlib import Path
from typing import Any

import pytest
from jax_python import needs_jax
from project import bench, make_root_without_images, read_cases, write_sweep

OMP = {"engine": "cpu", "variants": ["omp"]}
SWEEPS = {
    "mlp_infer": (["jit", "aot"], {"batch": [1, 100], "dtype": ["f32", "f16"]}),
    "linreg_train": (["jit", "scan"], {"points": [4, 4999], "epochs": [1, 25]}),
    "mnist_train": (["jit", "scan"], {"hidden": [16], "steps": [4, 205], "dtype": ["f32"]}),
    "mlp_train": (["jit", "scan"], {"width": [4], "batch": [7000], "epochs": [2]}),
}
# XLA compiles for seconds: in make check one mode of each at its largest size, and of mlp_train none.
FEW = {
    workload: (modes[-1:], {name: values[-1:] for name, values in axes.items()})
    for workload, (modes, axes) in SWEEPS.items()
    if workload != "mlp_train"
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_root_without_images(tmp_path_factory)


@needs_jax()
@pytest.mark.parametrize(
    ("workload", "sweeps"),
    [
        *(pytest.param(name, SWEEPS, marks=pytest.mark.long, id=f"{name}-all") for name in SWEEPS),
        *(pytest.param(name, FEW, id=name) for name in FEW),
    ],
)
def test_the_reference_accepts_every_mode(
    workload: str, sweeps: dict[str, Any], root: Path, tmp_path: Path
) -> None:
    variants, axes = sweeps[workload]
    mine = {"engine": "jax", "device": ["cpu"], "variants": variants}
    sweep = write_sweep(tmp_path / "s.json", workload, [mine], axes=axes)
    bench("run", sweep, "--out", tmp_path / "run", root=root, MNIST_DIR="")
    cases = read_cases(tmp_path / "run")
    sizes = 1
    for values in axes.values():
        sizes *= len(values)
    assert len(cases) == len(variants) * sizes
    for name, case in cases.items():
        assert case["status"] == "ok", (name, case["reason"])
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]


def test_without_jax_its_cases_are_skipped(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    mine = {"engine": "jax", "device": ["cpu"], "variants": ["jit"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [mine, OMP], axes={"batch": [1, 2]})
    bench("run", sweep, "--out", tmp_path / "run", BENCH_JAX_PYTHON=str(python))
    for case in read_cases(tmp_path / "run").values():
        assert case["status"] == ("skipped" if case["engine"] == "jax" else "ok")
        if case["engine"] == "jax":
            reason = f"JAX is not installed for this Python: {sys.executable} -m pip install jax"
            assert case["reason"] == reason


def test_no_jax_leaves_it_out(tmp_path: Path) -> None:
    mine = {"engine": "jax", "device": ["cpu"], "variants": ["jit"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [mine, OMP], axes={"batch": [1]})
    bench("run", sweep, "--out", tmp_path / "run", "--no-jax")
    assert set(read_cases(tmp_path / "run")) == {"mlp_infer/cpu/omp/batch=1"}
