"""JAX in `bench run`: the reference output accepts every mode; without JAX they are skipped."""

import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import pytest
from jax_python import needs_jax
from operator_folders import X, run_operator, write_operator
from project import bench, make_root_without_images, read_cases, write_sweep

OMP = {"engine": "cpu", "variants": ["omp"]}
SWEEPS = {
    "mlp_infer": (["jit", "aot"], {"batch": [1, 100], "dtype": ["f32", "f16"]}),
    "linreg_train": (["jit", "scan"], {"points": [4, 4999], "epochs": [1, 25]}),
    "mnist_train": (["jit", "scan"], {"hidden": [16], "steps": [4, 400], "dtype": ["f32"]}),
    "mlp_train": (["jit", "scan"], {"width": [4], "batch": [32], "images": [70]}),
}
# XLA compiles for seconds: in make check one mode of each at its largest size.
FEW = {
    workload: (modes[-1:], {name: values[-1:] for name, values in axes.items()})
    for workload, (modes, axes) in SWEEPS.items()
}


def check_all(folder: Path, sweeps: dict[str, tuple[list[str], Any]], **keys: Any) -> None:
    """Run all workloads in one run, as each starts a worker; check that every case is right."""
    files, n = [], 0
    for workload, (variants, axes) in sweeps.items():
        mine = {"engine": "jax", "device": ["cpu"], "variants": variants}
        files.append(write_sweep(folder / f"{workload}.json", workload, [mine], axes=axes))
        n += len(variants) * math.prod(len(values) for values in axes.values())
    bench("run", *files, "--out", folder / "run", **keys)
    cases = read_cases(folder / "run")
    assert len(cases) == n
    for name, case in cases.items():
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"], (
            name,
            case["reason"],
        )


@needs_jax()
@pytest.mark.parametrize("sweeps", [pytest.param(SWEEPS, marks=pytest.mark.long), FEW])
def test_the_reference_accepts_every_mode(
    sweeps: dict[str, Any], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    check_all(tmp_path, sweeps, root=make_root_without_images(tmp_path_factory), MNIST_DIR="")


OPERATORS = {
    "softmax": {"rows": [3], "cols": [100], "dtype": ["f32", "f16"]},
    "rms_norm": {"rows": [3], "cols": [128], "dtype": ["f32", "bf16"]},
    "gemm": {"m": [17], "n": [64], "k": [128], "dtype": ["f16", "bf16"]},
    "reduce_sum": {"n": [1000], "dtype": ["f32"]},
}
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


@needs_jax()
@needs_torch
@pytest.mark.usefixtures("warm_workers")
def test_the_oracle_of_an_operator_accepts_jax(tmp_path: Path) -> None:
    check_all(tmp_path, {name: (["jit", "aot"], axes) for name, axes in OPERATORS.items()})


@needs_jax()
@needs_torch
@pytest.mark.usefixtures("warm_workers")
def test_jax_gets_the_inputs_that_a_function_makes(tmp_path: Path) -> None:
    reference = """
        import torch
        def inputs(params, dtype): return [torch.randn(params["n"]).sort().values.to(dtype)]
        def reference(x): return 2 * x
        jax_reference = reference
        """
    folder = write_operator(
        tmp_path / "sorted",
        {"reference.py": reference},
        inputs=[{**X, "fill": "function"}],
        dtypes=["bf16"],
    )
    jax = {"engine": "jax", "device": ["cpu"], "variants": ["jit", "aot"]}
    cases = run_operator(folder, [jax])
    assert len(cases) == 2
    for case in cases.values():
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"], case["reason"]


def test_without_jax_reference_there_are_no_such_cases(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {})
    done = bench("run", "--workload", folder, "--variant", "jit", expect=2)
    assert "unknown variant" in done.stderr and "eager" in done.stderr
    done = bench("run", "--workload", folder, "--engine", "jax", expect=2)
    assert "twice for engine jax: its reference.py has no function jax_reference" in done.stderr


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
