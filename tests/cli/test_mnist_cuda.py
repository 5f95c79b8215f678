"""mnist_train on the fake driver: the stages and phases of a variant, and reasons for skips.

It computes nothing, so all finished cases are wrong.
"""

from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_cublaslt, build_driver
from project import NO_PYTHON, bench, compiler_options, read_cases, write_sweep

LIBRARY_STAGES = ["gather", "forward", "loss", "backward_data", "backward_weights", "sgd"]
PHASES = ["h2d", "train", "d2h", "total", "residual", "step", "train_device", "step_device"]
NOT_FILLED = {
    "FAKE_CUDA": "cuMemsetD8Async always zeros"
}  # without this, the losses of the complete training would not be finite


def train(folder: Path, rungs: list[str], steps: int, **environment: str) -> list[dict[str, Any]]:
    """Return the case of each variant."""
    compiler_options()
    driver = build_driver(folder / "lib", "-DMEMORY_MIB=1024")
    sweep = write_sweep(
        folder / "s.json",
        "mnist_train",
        [{"engine": "cuda", "variants": rungs}],
        axes={"hidden": [16], "batch": [16], "steps": [steps]},
    )
    bench("run", sweep, "--out", folder / "run", expect=1, **{**driver, **environment})
    cases = read_cases(folder / "run")
    return [
        next(case for name, case in cases.items() if name.startswith(f"mnist_train/cuda/{rung}/"))
        for rung in rungs
    ]


def test_phases(tmp_path: Path) -> None:
    library = build_cublaslt(tmp_path)
    rungs = ["01_library", "02_library_graph"]
    streams, graph = train(tmp_path, rungs, 70, **library, **NOT_FILLED)
    for case in (streams, graph):
        assert case["status"] == "wrong", case["reason"]
        assert "gradient_0 differs from the reference output" in case["reason"]
    # Memory of a graph's kernels is allocated once.
    assert set(streams["phases"]) == {*PHASES, "malloc", "free"}
    assert set(graph["phases"]) == set(PHASES)


def test_stages_only_with_one_step(tmp_path: Path) -> None:
    library = build_cublaslt(tmp_path)
    rungs = ["01_library", "02_library_graph"]
    streams, graph = train(tmp_path, rungs, 1, **library, **NOT_FILLED)
    for case in (streams, graph):
        assert [name for name in case["phases"] if name in LIBRARY_STAGES] == LIBRARY_STAGES
    assert set(graph["phases"]) == {*PHASES, *LIBRARY_STAGES}


def test_losses_that_are_never_written_are_detected(tmp_path: Path) -> None:
    (case,) = train(tmp_path, ["01_library"], 3, **build_cublaslt(tmp_path))
    assert case["status"] == "failed"
    assert "loss is not finite from step 0 on" in case["reason"]


def test_without_cublaslt_its_variants_are_skipped(tmp_path: Path) -> None:
    nothing = {"BENCH_CUBLASLT": "/no/such/libcublasLt.so"}
    for case in train(tmp_path, ["01_library", "02_library_graph"], 3, **nothing):
        assert case["status"] == "skipped"
        assert "cuBLASLt not found (" in case["reason"]
        assert "/no/such/libcublasLt.so not found" in case["reason"]


@pytest.mark.parametrize(
    ("flags", "fit"), [("-DCLUSTERS=7 -DCLUSTER_BLOCKS=8", 56), ("-DMULTIPROCESSORS=63", 63)]
)
def test_blocks_that_wait_for_each_other_have_to_fit(tmp_path: Path, flags: str, fit: int) -> None:
    compiler_options()
    rung = [{"engine": "cuda", "variants": ["06_on_chip"]}]
    sweep = write_sweep(
        tmp_path / "s.json", "mnist_train", rung, axes={"hidden": [512], "steps": [1]}
    )
    driver = build_driver(tmp_path / "lib", *flags.split())
    bench("run", sweep, "--out", tmp_path / "run", expect=1, **driver)
    cases = read_cases(tmp_path / "run")
    (case,) = (case for name, case in cases.items() if name.startswith("mnist_train/"))
    assert case["status"] == "skipped"
    in_cluster = 8 if "CLUSTER_BLOCKS" in flags else 1
    assert case["reason"] == (
        f'kernel "train": 64 blocks in clusters of {in_cluster} wait for each other; {fit} fit on '
        "this GPU at the same time"
    )


def test_doctor_reports_cublaslt(tmp_path: Path) -> None:
    found = bench("doctor", **NO_PYTHON, **build_cublaslt(tmp_path)).stdout
    assert f"✓ cuBLASLt      cuBLASLt 13.1.2, {tmp_path}/libcublasLt.so.13" in found
    missing = bench("doctor", **NO_PYTHON, BENCH_CUBLASLT="/no/such/library").stdout
    assert "✗ cuBLASLt      cuBLASLt not found" in missing
    assert "variants that use it for matrix products are skipped" in missing


def test_images_that_exceed_device_memory_are_skipped(tmp_path: Path) -> None:
    compiler_options()
    rung = [{"engine": "cuda", "variants": ["01_library"]}]
    sweep = write_sweep(
        tmp_path / "s.json", "mnist_train", rung, axes={"hidden": [16], "steps": [1]}
    )
    bench("run", sweep, "--out", tmp_path / "run", expect=1, **build_driver(tmp_path / "lib"))
    cases = read_cases(tmp_path / "run")
    (case,) = (case for name, case in cases.items() if name.startswith("mnist_train/"))
    assert case["status"] == "skipped"
    assert "of device memory, 67.1 MB of 67.1 MB are free" in case["reason"]
