"""CUDA cases with drivers that are missing, cannot run them, or fault."""

from pathlib import Path

import pytest
from fake_driver import build_driver, build_gpu, run_with_driver
from project import (
    bench,
    compiler_options,
    make_root,
    own_worker,
    read_cases,
    read_header,
    worker_script,
    write_sweep,
)


def test_no_gpu_skips_cuda_cases(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libcuda.so.1").write_text("not a library", encoding="utf-8")
    (folder / "libcuda.so").write_text("not a library", encoding="utf-8")
    cases, printed = run_with_driver(tmp_path, [1, 2], {"LD_LIBRARY_PATH": str(folder)}, 0)
    for case in cases.values():
        assert case["status"] == "skipped"
        assert case["reason"].startswith("no CUDA driver (")
        assert "libcuda.so.1" in case["reason"]
    assert "CUDA cases are skipped: no CUDA driver (" in printed


@pytest.mark.parametrize(
    ("flags", "fault", "reasons"),
    [
        (
            ["-DWITHOUT_GRAPHS"],
            "",
            ["libcuda.so.1 has no cuGraphInstantiateWithFlags", "too old", "update it"],
        ),
        (
            [],
            "cuInit error=803",
            ["CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)", "reboot", "reinstall NVIDIA's driver"],
        ),
    ],
)
def test_unusable_driver_skips_cuda_cases(
    tmp_path: Path, flags: list[str], fault: str, reasons: list[str]
) -> None:
    environment = {**build_driver(tmp_path / "lib", *flags), "FAKE_CUDA": fault}
    cases, printed = run_with_driver(tmp_path, [1, 2], environment, 0)
    for case in cases.values():
        assert case["status"] == "skipped"
        assert all(reason in case["reason"] for reason in reasons)
    assert "CUDA cases are skipped: " in printed


def test_program_that_is_too_new_for_the_driver(tmp_path: Path) -> None:
    compiler_options()
    environment = {
        **build_driver(tmp_path / "lib"),
        "FAKE_CUDA": "cuModuleLoadData always error=222",
    }
    cases, _ = run_with_driver(tmp_path, [1, 2], environment, 1)
    for case in cases.values():
        assert case["status"] == "failed"
        assert "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)" in case["reason"]
        assert "update NVIDIA's driver or set BENCH_NVRTC to an older NVRTC" in case["reason"]


def test_batch_that_does_not_fit_the_device_is_skipped(tmp_path: Path) -> None:
    compiler_options()
    cases, _ = run_with_driver(tmp_path, [2**22, 64], build_driver(tmp_path / "lib"), 1)
    too_large, small = cases.values()
    assert too_large["status"] == "skipped"
    # 20 bytes per sample, in fixed buffers and in those of a sample; the device has 64 MiB.
    assert too_large["reason"] == "needs 168 MB of device memory, 67.1 MB of 67.1 MB are free"
    assert small["status"] == "wrong"  # it ran: nothing is computed here


def async_sweep(path: Path, batches: list[int]) -> Path:
    techniques = {"alloc": ["async"], "weights": ["resident"]}
    cuda = {"engine": "cuda", "variants": ["02_thread_per_sample"], "techniques": techniques}
    return write_sweep(path, "mlp_infer", [cuda], axes={"batch": batches})


def test_pool_of_async_keeps_what_is_freed_until_the_case_is_closed(tmp_path: Path) -> None:
    """The fake driver's pool fails if it would release memory at every synchronisation."""
    compiler_options()
    # 20 bytes per sample, twice, are 60 of the device's 67 MB; 24 of them are in the pool.
    sweep = async_sweep(tmp_path / "s.json", [1_500_000, 1_500_001])
    run = tmp_path / "run"
    bench("run", sweep, "--out", run, expect=1, **build_driver(tmp_path / "lib"))
    for name, case in read_cases(run).items():
        if name.startswith("mlp_infer/"):
            # It ran, and the second reused the memory of the first.
            assert case["status"] == "wrong", case["reason"]


def test_driver_without_pools_skips_only_async(tmp_path: Path) -> None:
    compiler_options()
    sweep = async_sweep(tmp_path / "s.json", [64])
    run = tmp_path / "run"
    lacking = build_driver(tmp_path / "lib", "-DWITHOUT_POOL")
    bench("run", sweep, "--out", run, expect=1, **lacking)  # the fake device computes nothing
    (case,) = (c for name, c in read_cases(run).items() if name.startswith("mlp_infer/"))
    assert (case["status"], case["reason"]) == ("skipped", "this driver has no cuMemAllocAsync")


def test_fault_on_the_device_fails_only_its_cases(tmp_path: Path) -> None:
    """After a fault the context is unusable: the next case needs a new worker."""
    compiler_options()
    faulty = "mlp_infer/cuda/02_thread_per_sample/batch=1000"
    fault = f"cuLaunchKernel case={faulty} later=700"
    environment = {**build_driver(tmp_path / "lib"), "FAKE_CUDA": fault}
    # The fake device does not run compiled programs, so the others are wrong.
    cases, _ = run_with_driver(tmp_path, [64, 1000, 65], environment, 1)
    for case in cases.values():
        if case["params"]["batch"] == 1000:
            assert case["status"] == "failed"
            assert "CUDA_ERROR_ILLEGAL_ADDRESS (700): in the driver's words" in case["reason"]
        else:
            assert case["status"] == "wrong"
            assert "y differs from the reference output: relative L2 error" in case["reason"]


ON_THE_GPU = [{"engine": "mine", "variants": ["steady"], "device": ["cuda"]}]


def test_the_gpu_of_a_run_without_rungs(tmp_path: Path) -> None:
    """Its clock is watched and its rates are measured for kernels in Python alone, too."""
    root = make_root(tmp_path / "project")
    own_worker(root, worker_script(""))
    sweep = write_sweep(tmp_path / "s.json", "null", ON_THE_GPU)
    gpu = build_gpu(tmp_path / "gpu")  # which has no room for the larger rates
    bench("run", sweep, "--out", tmp_path / "run", root=root, expect=0, **gpu)
    facts = read_header(tmp_path / "run")["environment"]
    assert facts["gpu"]["name"]
    assert facts["measured"]["empty_graph_node_ns"] > 0, facts["measured"]
    case = read_cases(tmp_path / "run")["null/mine-cuda/steady/work_ns=0"]
    assert case["status"] == "ok", case["reason"]
    assert None not in case["device"]["sm_mhz"]


def test_a_run_without_rungs_needs_no_compiler(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    own_worker(root, worker_script(""))
    sweep = write_sweep(tmp_path / "s.json", "null", ON_THE_GPU)
    nvcc = tmp_path / "cuda" / "bin" / "nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    nvcc.chmod(0o755)
    gpu = {**build_gpu(tmp_path / "gpu"), "BENCH_NVRTC": "/none", "CUDA_HOME": str(nvcc.parents[1])}
    done = bench("run", sweep, "--out", tmp_path / "run", root=root, expect=0, **gpu)
    assert "not all limits are known: " in done.stderr
    assert "CUDA cases" not in done.stderr


def test_without_a_driver_others_may_know_another_gpu(tmp_path: Path) -> None:
    """PyTorch needs the driver; a worker of one's own may not."""
    root = make_root(tmp_path / "project")
    own_worker(root, worker_script(""))
    pytorch = [{"engine": "pytorch", "variants": ["graph"], "device": ["cuda"]}]
    mine = write_sweep(tmp_path / "mine.json", "null", ON_THE_GPU)
    theirs = write_sweep(tmp_path / "theirs.json", "mlp_infer", pytorch, axes={"batch": [64]})
    environment = {**build_driver(tmp_path / "lib"), "FAKE_CUDA": "cuInit error=100"}
    plan = bench("plan", mine, theirs, root=root, expect=0, **environment)
    assert "run      null/mine-cuda/steady/work_ns=0\n" in plan.stdout
    assert "skip     mlp_infer/pytorch-cuda/graph/batch=64  — " in plan.stdout
    assert plan.stdout.endswith(": 1 to run, 1 to skip\n")
    done = bench("run", mine, "--out", tmp_path / "run", root=root, expect=0, **environment)
    assert "clocks and limits of the GPU are not known: " in done.stderr
