"""linreg_train on the command line: bad and extreme parameters, and the phases of one epoch."""

import re
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_driver
from project import ROOT, bench, compiler_options, read_cases, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

LARGEST = 2**31 - 1
OPERATIONS = ["forward", "loss", "backward", "update"]


def train(
    folder: Path, contenders: list[dict[str, Any]], expect: int = 0, **axes: list[float]
) -> dict[str, dict[str, Any]]:
    sweep = write_sweep(folder / "s.json", "linreg_train", contenders, axes=axes)
    bench("run", sweep, "--out", folder / "run", expect=expect)
    return read_cases(folder / "run")


CPU = {"engine": "cpu", "variants": ["ref", "omp"]}
EAGER = {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]}


def test_one_point_and_two(tmp_path: Path) -> None:
    cases = train(tmp_path, [CPU, EAGER], points=[1, 2], epochs=[1, 20])
    assert len(cases) == 12
    for case in cases.values():
        if case["engine"] == "pytorch" and case["status"] == "skipped":
            continue  # PyTorch is not installed
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
        assert "test_loss" not in case["results"]


def host_available_bytes() -> int:
    found = re.search(r"^MemAvailable: *(\d+) kB$", Path("/proc/meminfo").read_text(), re.M)
    return int(found[1]) * 1024 if found else LARGEST * 1024


def test_points_that_exceed_host_memory_are_skipped(tmp_path: Path) -> None:
    if host_available_bytes() > 8 * LARGEST * 0.9:
        pytest.skip(
            f"takes a machine with less than {8 * LARGEST * 0.9 / 1e9:.0f} GB of free memory"
        )
    cases = train(tmp_path, [CPU, EAGER], points=[LARGEST, 5])
    for case in cases.values():
        if case["params"]["points"] == LARGEST:
            assert case["status"] == "skipped"
            assert re.fullmatch(r"needs .* GB of host memory, .* are free", case["reason"])
        elif case["engine"] == "cpu":
            assert case["status"] == "ok"


def test_points_that_exceed_device_memory_are_skipped(tmp_path: Path) -> None:
    compiler_options()
    rungs = [{"engine": "cuda", "variants": ["01_not_fused", "04_last_block"]}]
    sweep = write_sweep(tmp_path / "s.json", "linreg_train", rungs, axes={"points": [2_000_000]})
    driver = build_driver(tmp_path / "lib", "-DMEMORY_MIB=8")
    # The fake device computes nothing, so the run's measurement of the device is wrong.
    bench("run", sweep, "--out", tmp_path / "run", expect=1, **driver)
    cases = read_cases(tmp_path / "run")
    # 8 bytes per point, and 4 per training point for each of two buffers of predictions.
    for rung, need in (("01_not_fused", "28.8 MB"), ("04_last_block", "16.0 MB")):
        case = cases[f"linreg_train/cuda/{rung}/points=2000000"]
        assert case["status"] == "skipped"
        expected = rf"needs {need} of device memory, [\d.]+ MB of 8.39 MB are free"
        assert re.fullmatch(expected, case["reason"])


def test_blocks_that_wait_for_each_other_have_to_fit(tmp_path: Path) -> None:
    compiler_options()
    rung = [{"engine": "cuda", "variants": ["08_lean_epochs"]}]
    sweep = write_sweep(tmp_path / "s.json", "linreg_train", rung, axes={"points": [500_000]})
    driver = build_driver(tmp_path / "lib", "-DMULTIPROCESSORS=127")
    bench("run", sweep, "--out", tmp_path / "run", expect=1, **driver)
    case = read_cases(tmp_path / "run")["linreg_train/cuda/08_lean_epochs/points=500000"]
    assert case["status"] == "skipped"
    assert case["reason"] == (
        'kernel "train": 128 blocks in clusters of 1 wait for each other; 127 fit on this GPU at '
        "the same time"
    )


# ---- operations ---------------------------------------------------------------------------------


def test_operations_only_with_one_epoch(tmp_path: Path) -> None:
    cases = train(tmp_path, [CPU, EAGER], points=[4999], epochs=[1, 2])
    for case in cases.values():
        if case["engine"] == "pytorch" and case["status"] == "skipped":
            continue  # PyTorch is not installed
        own = OPERATIONS if case["engine"] == "pytorch" else ["fused"]
        found = [name for name in case["phases"] if name in [*OPERATIONS, "fused"]]
        assert sorted(found) == (sorted(own) if case["params"]["epochs"] == 1 else [])
        for name in found:
            phase = case["phases"][name]
            assert phase["clock"] == "host"
            assert phase["n"] > 0
            assert phase["median"] > 0


def test_every_stage_of_the_unfused_kernel_names_an_operation() -> None:
    """The name of a stage defines its operation: an unknown name would turn all into `fused`."""
    source = (ROOT / "kernels" / "linreg_train" / "01_not_fused.cu").read_text(encoding="utf-8")
    stages = re.findall(r'{"(\w+)", STAGE_(?:EPOCH|LOSS|TRAINING)', source)
    assert stages == ["forward", "loss", "gradient", "update"]
    host = (ROOT / "bench" / "workloads" / "linreg_train" / "cuda.c").read_text(encoding="utf-8")
    known = dict(re.findall(r'{"(\w+)", (FORWARD|LOSS|BACKWARD|UPDATE)}', host))
    assert [known[stage] for stage in stages] == ["FORWARD", "LOSS", "BACKWARD", "UPDATE"]
