"""The rate of cuBLASLt, which every run on a GPU measures, on a fake GPU and a fake library."""

from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_cublaslt, build_gpu, run_with_driver
from project import NO_PYTHON, bench, read_cases, write_sweep

CALIBRATION = "device/cuda/matmul/bytes=268435456"


def multiply(folder: Path, fault: str, expect: int = 0) -> dict[str, Any]:
    """Return the case that multiplies matrices of 32 x 32."""
    environment = {**build_gpu(folder / "gpu"), **build_cublaslt(folder)}
    contender = {"engine": "cuda", "variants": ["matmul"]}
    sweep = write_sweep(folder / "s.json", "device", [contender], axes={"bytes": [4096]})
    environment["FAKE_CUBLASLT"] = fault
    bench("run", sweep, "--out", folder / "run", expect=expect, **environment)
    cases = read_cases(folder / "run")
    assert "needs 1.11 GB of device memory" in cases[CALIBRATION]["reason"]
    return cases["device/cuda/matmul/bytes=4096"]


def test_each_dtype_is_timed_with_its_fastest_algorithm(tmp_path: Path) -> None:
    case = multiply(tmp_path, "computes")
    assert case["status"] == "ok", case["reason"]
    assert list(case["phases"]) == ["f32", "tf32", "f16"]
    assert {phase["median"] for phase in case["phases"].values()} == {1_000_010}


def test_dtype_without_an_algorithm_is_left_out(tmp_path: Path) -> None:
    case = multiply(tmp_path, "no_tf32")
    assert case["status"] == "ok", case["reason"]
    assert list(case["phases"]) == ["f32", "f16"]


@pytest.mark.parametrize(
    ("fault", "status", "reason", "expect"),
    [
        ("none", "skipped", "cuBLASLt 130102 has no algorithm for this GPU", 0),
        ("refuses", "failed", "CUBLAS_STATUS_EXECUTION_FAILED (13)", 1),
        ("", "failed", "cuBLASLt's product in f32: element (", 1),  # it computes nothing
    ],
)
def test_unusable(tmp_path: Path, fault: str, status: str, reason: str, expect: int) -> None:
    case = multiply(tmp_path, fault, expect)
    assert case["status"] == status
    assert reason in case["reason"]


def test_run_without_the_library_goes_on(tmp_path: Path) -> None:
    gpu = build_gpu(tmp_path / "gpu")
    selected, stderr = run_with_driver(
        tmp_path, [64], {**gpu, "BENCH_CUBLASLT": "/no/such/libcublasLt.so"}, expect=0
    )
    assert [case["status"] for case in selected.values()] == ["ok"]
    case = read_cases(tmp_path / "run")[CALIBRATION]
    assert case["status"] == "skipped"
    assert "cuBLASLt not found (/no/such/libcublasLt.so not found" in case["reason"]
    assert "skipped 1 of 8 cases: cuBLASLt not found (" in stderr


def test_doctor_reports_cublaslt(tmp_path: Path) -> None:
    found = bench("doctor", **NO_PYTHON, **build_cublaslt(tmp_path)).stdout
    assert f"✓ cuBLASLt      cuBLASLt 13.1.2, {tmp_path}/libcublasLt.so.13" in found
    missing = bench("doctor", **NO_PYTHON, BENCH_CUBLASLT="/no/such/library").stdout
    assert "✗ cuBLASLt      cuBLASLt not found" in missing
    assert "variants that use it for matrix products are skipped" in missing
