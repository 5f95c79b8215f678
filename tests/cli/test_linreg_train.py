"""linreg_train on the fake driver: device memory; and the stages of its unfused kernel."""

import re
from pathlib import Path

from fake_driver import build_driver
from project import ROOT, bench, compiler_options, read_cases, write_sweep


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


def test_every_stage_of_the_unfused_kernel_names_an_operation() -> None:
    """The name of a stage defines its operation: an unknown name would turn all into `fused`."""
    source = (ROOT / "kernels" / "linreg_train" / "01_not_fused.cu").read_text(encoding="utf-8")
    stages = re.findall(r'{"(\w+)", STAGE_(?:EPOCH|LOSS|TRAINING)', source)
    assert stages == ["forward", "loss", "gradient", "update"]
    host = (ROOT / "bench" / "workloads" / "linreg_train" / "cuda.c").read_text(encoding="utf-8")
    known = dict(re.findall(r'{"(\w+)", (FORWARD|LOSS|BACKWARD|UPDATE)}', host))
    assert [known[stage] for stage in stages] == ["FORWARD", "LOSS", "BACKWARD", "UPDATE"]


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
