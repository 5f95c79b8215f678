"""Whatever goes in or goes wrong: a message that names file and place, an exit code, nothing lost.

Which test stands for which bad input:

sweep: malformed                    unit/test_sweep.c: sweeps_invalid/syntax_*, empty
  unknown key                       unit/test_sweep.c: sweeps_invalid/key_*, *_typo, param_of_*
  unknown workload, variant         unit/test_sweep.c: sweeps_invalid/workload_*, variant_*
  unknown engine, PyTorch mode      unit/test_sweep.c: sweeps_invalid/engine_*, mode_typo
  all of these on a command line    unit/test_sweep_options.c, golden/run_*.txt
  duplicate keys                    unit/test_sweep.c: sweeps_invalid/syntax_duplicate_key
  batch 0, -1, 1.5, 10^20, "64"     unit/test_sweep.c: sweeps_invalid/batch_*, syntax_huge_integer
  names: paths, control characters  unit/test_sweep.c: sweeps_invalid/name_*, engine_path,
                                    variant_path, own_engine_variant_path, key_escaped, syntax_*;
                                    test_plot.py: test_*_names_stay_text, test_names_from_results_*
  each as the program answers it    test_refused_sweep_costs_nothing
batch that does not fit
  host's memory                     test_batch_that_does_not_fit_is_skipped_with_both_numbers
  device's memory                   test_batch_that_does_not_fit_the_device_is_skipped,
                                    gpu/test_gpu_faults.py
kernel that does not compile        test_kernel_that_does_not_compile_is_named_with_file_and_line,
                                    test_run_goes_on_past_a_kernel_that_does_not_compile,
                                    test_kernels.py: test_rung_that_does_not_compile
  is wrong, faults, never returns   gpu/test_gpu_faults.py;
                                    test_fault_on_the_device_costs_its_own_cases_only
worker: dies, rubbish, another id   test_odd_worker_costs_its_own_case_only,
                                    unit/test_worker_link.c: test_fates
  hangs                             test_run.py: test_one_contender_costs_its_own_case_only
results folder: exists              test_resume.py: test_existing_run_is_left_alone
  not writable                      test_results_folder_that_cannot_be_made,
                                    test_results_folder_on_a_read_only_system
  full disk                         test_full_disk_keeps_what_is_finished,
                                    test_golden.py: test_full_disk_is_noticed
truncated journal line              test_resume.py: test_resume_runs_what_is_missing,
                                    test_line_that_lacks_its_end_only_is_kept,
                                    test_damaged_line_*; test_truncated_journal_can_be_read
CSV: columns, text, NaN             test_refused_csv_is_named_with_its_line;
                                    test_plot.py: test_invalid_csv_is_refused, unit/test_csv.c
no gnuplot                          test_no_gnuplot_says_how_to_get_it, unit/test_plot.c
no PyTorch                          test_no_pytorch_skips_its_cases,
                                    test_run.py: test_no_python_skips_pytorch_and_nothing_else
no GPU                              test_no_gpu_skips_cuda_cases
driver older than the toolkit       test_driver_that_cannot_serve_skips_cuda_cases,
                                    test_program_that_is_too_new_for_the_driver
"""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from project import (
    BENCH,
    FIXTURES,
    TIMEOUT_S,
    bench,
    make_root,
    null_sweep,
    read_cases,
    read_header,
    write_sweep,
)

# ---- what is refused before anything is measured ------------------------------------------------

INVALID = FIXTURES / "sweeps_invalid"


@pytest.mark.parametrize(
    "name",
    [
        "syntax_missing_comma",
        "syntax_duplicate_key",
        "syntax_huge_integer",
        "syntax_control_character",
        "key_typo",
        "workload_typo",
        "engine_typo",
        "mode_typo",
        "batch_zero",
        "batch_negative",
        "batch_fraction",
        "batch_exponent",
        "batch_text",
        "name_path",
        "name_control_character",
    ],
)
def test_refused_sweep_costs_nothing(name: str, tmp_path: Path) -> None:
    sweep = INVALID / f"{name}.json"
    expected = sweep.with_suffix(".expected").read_text(encoding="utf-8").rstrip("\n")
    done = bench("run", sweep, "--out", tmp_path / "run", expect=2)
    assert done.stderr == f"bench: {INVALID}/{expected}\n"
    assert done.stdout == ""
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("missing_column", "line 1: found the columns Batch,Malloc,H2D,Kernel,D2H,Total"),
        ("text_in_a_number", 'line 3: column Kernel: found "1 ms"'),
        ("nan", 'line 2: column D2H: found "nan"'),
    ],
)
@pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")
def test_refused_csv_is_named_with_its_line(name: str, place: str, tmp_path: Path) -> None:
    csv = FIXTURES / "plot" / "invalid" / f"{name}.csv"
    done = bench("plot", csv, "--out", tmp_path / "charts", expect=2)
    assert f"{csv}: {place}" in done.stderr
    assert not (tmp_path / "charts").exists()


# ---- cases that cannot be measured beside cases that can ----------------------------------------


def test_batch_that_does_not_fit_is_skipped_with_both_numbers(tmp_path: Path) -> None:
    too_large = 2**28  # times 4096 inputs of 4 bytes: 4 TiB and more
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cpu", "variants": ["ref", "omp"]}],
        axes={"batch": [too_large, 2], "layers": [[4096, 16, 4]]},
    )
    bench("run", sweep, "--out", tmp_path / "run")
    cases = read_cases(tmp_path / "run")
    assert len(cases) == 4
    for case in cases.values():
        if case["params"]["batch"] == too_large:
            assert case["status"] == "skipped"
            need, free = case["reason"].removesuffix(" are free").split(" of host memory, ")
            assert need.startswith("needs ") and need.endswith(" TB")
            assert free.split()[1] in {"MB", "GB", "TB"}
        else:
            assert case["status"] == "ok"


def compiler_options() -> list[str]:
    """Return the options that choose a compiler which is here."""
    done = bench("doctor", "--json", expect=None)
    found = {item["what"]: item["found"] for item in json.loads(done.stdout)}
    for what, name in (("NVRTC", "nvrtc"), ("nvcc", "nvcc")):
        if found[what]:
            return ["--compiler", name]
    pytest.skip("neither NVRTC nor nvcc is here")


BROKEN = """#include "mlp_infer.cuh"
LAUNCH = {32, 32, 0, 0, WEIGHTS_IN_BUFFERS};
MLP_INFER {
    y[0] = no_such_thing;
}
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Return a project's folder with a kernel that does not compile."""
    root = make_root(tmp_path / "project", copy="kernels")
    (root / "kernels" / "mlp_infer" / "98_broken.cu").write_text(BROKEN, encoding="utf-8")
    return root


def test_kernel_that_does_not_compile_is_named_with_file_and_line(
    broken: Path, tmp_path: Path
) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": ["02_thread_per_sample", "98_broken"]}],
    )
    done = bench(
        "compile",
        sweep,
        "--arch=sm_90",
        "--json",
        "--quiet",
        "--cache",
        tmp_path / "cache",
        *compiler_options(),
        root=broken,
        expect=1,
    )
    fine, failed = json.loads(done.stdout)["programs"]
    assert (fine["status"], failed["status"]) == ("ok", "failed")
    assert "98_broken.cu(4): error: " in failed["reason"]
    assert '"no_such_thing" is undefined' in failed["reason"]


# ---- workers ------------------------------------------------------------------------------------

ODD = {
    "dies_at_open": "died (exit code 1); it said: MemoryError: the model is too large",
    "dies_at_output": "died (signal 11 (Segmentation fault))",
    "dies_at_sample": "died (signal 9 (Killed))",
    "rubbish": 'printed "Loading model: 100 %" instead of an answer',
    "other_id": 'answered for case "mlp_infer/another/case" when asked for',
    "no_phase": 'the worker\'s answer has no numbers for phase "total"',
    "text_for_times": 'the worker\'s answer has no numbers for phase "total"',
    "nan_for_times": "instead of an answer",
}


def test_odd_worker_costs_its_own_case_only(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    folder = root / "reference_odd"
    folder.mkdir()
    shutil.copy(FIXTURES / "workers" / "odd.py", folder / "worker.py")
    shutil.copy(FIXTURES / "workers" / "mine.py", folder / "mine.py")
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [
            {"engine": "odd", "device": ["cpu"], "variants": ["plain", *ODD, "no_output"]},
            {"engine": "cpu", "variants": ["omp"]},
        ],
        axes={"batch": [3]},
    )
    run = tmp_path / "run"
    done = bench("run", sweep, "--out", run, root=root, expect=1, BENCH_PYTHON=sys.executable)
    cases = read_cases(run)
    assert len(cases) == len(ODD) + 3
    for variant, reason in ODD.items():
        case = cases[f"mlp_infer/odd-cpu/{variant}/batch=3"]
        assert case["status"] == "failed", variant
        assert reason in case["reason"], variant
        assert f"{variant}/batch=3" in done.stderr
    silent = cases["mlp_infer/odd-cpu/no_output/batch=3"]
    assert silent["status"] == "wrong"
    assert "no output: " in silent["reason"] and "y.npy" in silent["reason"]
    for well in ("odd-cpu/plain", "cpu/omp"):
        assert cases[f"mlp_infer/{well}/batch=3"]["status"] == "ok"
    assert f"{len(ODD) + 1} of {len(cases)} cases were wrong or failed" in done.stderr
    assert read_header(run)["finished"]


# ---- the results folder -------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["", "run"])
def test_results_folder_that_cannot_be_made(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("someone's notes", encoding="utf-8")
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    done = bench("run", sweep, "--out", file / below, expect=2)
    assert done.stderr == f"bench: {file}: cannot make folder: File exists\n"
    assert file.read_text(encoding="utf-8") == "someone's notes"


def test_results_folder_on_a_read_only_system(tmp_path: Path) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("no /proc here")
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    done = bench("run", sweep, "--out", "/proc/bench/run", expect=2)
    assert done.stderr.startswith("bench: /proc/bench: cannot make folder: ")


def bench_on_a_small_disk(limit_bytes: int, *arguments: str | Path) -> Any:
    """Run bench with no room for files larger than that; it gets an error, not a signal."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    return subprocess.run(
        [str(BENCH), *map(str, arguments)],
        preexec_fn=limit,
        text=True,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )


@pytest.mark.parametrize(("limit_bytes", "file"), [(100, "run.json"), (5000, "cases.jsonl")])
def test_full_disk_keeps_what_is_finished(tmp_path: Path, limit_bytes: int, file: str) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "noisy"], [1000, 2000, 3000])
    run = tmp_path / "run"
    done = bench_on_a_small_disk(limit_bytes, "run", sweep, "--out", run, "--quiet")
    assert done.returncode in {1, 2}
    assert done.stderr.startswith(f"bench: {run}/{file}: cannot ")
    assert "File too large" in done.stderr
    journal = run / "cases.jsonl"
    whole = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    if whole:
        bench("report", run, "--out", tmp_path / "REPORT.md")
        assert json.loads(whole[0])["id"] in (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    bench("run", sweep, "--out", run, "--resume")
    assert journal.read_bytes().split(b"\n")[: len(whole)] == whole
    assert {case["status"] for case in read_cases(run).values()} == {"ok"}
    assert len(read_cases(run)) == 6
    assert read_header(run)["finished"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of real work."""
    folder = tmp_path_factory.mktemp("finished")
    sweep = write_sweep(
        folder / "s.json",
        "mlp_infer",
        [{"engine": "cpu", "variants": ["ref", "omp"]}],
        axes={"batch": [4, 8]},
    )
    bench("run", sweep, "--out", folder / "run")
    return folder / "run"


def test_truncated_journal_can_be_read(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    text = (run / "cases.jsonl").read_bytes()
    (run / "cases.jsonl").write_bytes(text[:-100])
    bench("report", run, "--out", tmp_path / "REPORT.md")
    report = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    whole = read_cases(finished)
    assert "The last line of `cases.jsonl` was half-written and was dropped." in report
    bench("merge", tmp_path / "merged", run)
    merged = read_cases(tmp_path / "merged")
    assert len(merged) == len(whole) - 1
    assert all(whole[name] == case for name, case in merged.items())


# ---- what may be missing ------------------------------------------------------------------------


def test_no_gnuplot_says_how_to_get_it(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    out = tmp_path / "charts"
    done = bench("plot", finished, "--out", out, expect=2, PATH=str(tmp_path / "bin"))
    assert "gnuplot" in done.stderr
    assert "apt-get install gnuplot-nox" in done.stderr
    bench("report", finished, "--out", tmp_path / "REPORT.md", PATH=str(tmp_path / "bin"))


def test_no_pytorch_skips_its_cases(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [
            {"engine": "pytorch", "device": ["cpu", "cuda"], "variants": ["eager"]},
            {"engine": "cpu", "variants": ["omp"]},
        ],
        axes={"batch": [1, 2]},
    )
    bench("run", sweep, "--out", tmp_path / "run", BENCH_PYTHON=str(python))
    for case in read_cases(tmp_path / "run").values():
        if case["engine"] == "pytorch":
            assert case["status"] == "skipped"
            assert "No module named 'torch'" in case["reason"]
        else:
            assert case["status"] == "ok"


def cuda_sweep(folder: Path, batches: list[int]) -> Path:
    return write_sweep(
        folder / "s.json",
        "mlp_infer",
        [
            {"engine": "cuda", "variants": ["02_thread_per_sample"]},
            {"engine": "cpu", "variants": ["omp"]},
        ],
        axes={"batch": batches},
    )


def build_driver(folder: Path, *flags: str) -> dict[str, str]:
    """Compile the fake driver; return the environment in which it is found."""
    folder.mkdir()
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is here")
    source = FIXTURES / "fakes" / "driver.c"
    library = folder / "libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", *flags, "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    return {"LD_LIBRARY_PATH": str(folder)}


def run_with_driver(
    folder: Path, batches: list[int], environment: dict[str, str], expect: int
) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the sweep's own cases by id, and what the run said."""
    run = folder / "run"
    done = bench("run", cuda_sweep(folder, batches), "--out", run, expect=expect, **environment)
    cases = read_cases(run)
    assert read_header(run)["finished"]
    for batch in batches:
        assert cases[f"mlp_infer/cpu/omp/batch={batch}"]["status"] == "ok"
    own = {name: case for name, case in cases.items() if name.startswith("mlp_infer/cuda/")}
    assert len(own) == len(batches)
    return own, done.stderr


def test_no_gpu_skips_cuda_cases(tmp_path: Path) -> None:
    folder = tmp_path / "lib"
    folder.mkdir()
    (folder / "libcuda.so.1").write_text("not a library", encoding="utf-8")
    (folder / "libcuda.so").write_text("not a library", encoding="utf-8")
    cases, said = run_with_driver(tmp_path, [1, 2], {"LD_LIBRARY_PATH": str(folder)}, 0)
    for case in cases.values():
        assert case["status"] == "skipped"
        assert "no CUDA driver (CUDA cases cannot run here): " in case["reason"]
        assert "libcuda.so.1" in case["reason"]
    assert "CUDA cases are skipped: no CUDA driver" in said


@pytest.mark.parametrize(
    ("flags", "fault", "reasons"),
    [
        (
            ["-DWITHOUT_GRAPHS"],
            "",
            ["libcuda.so.1 has no cuGraphInstantiateWithFlags", "older", "update it"],
        ),
        (
            [],
            "mismatch",
            ["CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)", "reboot", "install NVIDIA's driver again"],
        ),
    ],
)
def test_driver_that_cannot_serve_skips_cuda_cases(
    tmp_path: Path, flags: list[str], fault: str, reasons: list[str]
) -> None:
    environment = {**build_driver(tmp_path / "lib", *flags), "FAKE_DRIVER": fault}
    cases, said = run_with_driver(tmp_path, [1, 2], environment, 0)
    for case in cases.values():
        assert case["status"] == "skipped"
        assert all(reason in case["reason"] for reason in reasons)
    assert "CUDA cases are skipped: " in said


def test_program_that_is_too_new_for_the_driver(tmp_path: Path) -> None:
    compiler_options()
    environment = {**build_driver(tmp_path / "lib"), "FAKE_DRIVER": "old"}
    cases, _ = run_with_driver(tmp_path, [1, 2], environment, 1)
    for case in cases.values():
        assert case["status"] == "failed"
        assert "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)" in case["reason"]
        assert "update NVIDIA's driver, or let BENCH_NVRTC name an older NVRTC" in case["reason"]


def test_batch_that_does_not_fit_the_device_is_skipped(tmp_path: Path) -> None:
    compiler_options()
    cases, _ = run_with_driver(tmp_path, [2**22, 64], build_driver(tmp_path / "lib"), 1)
    too_large, small = cases.values()
    assert too_large["status"] == "skipped"
    # 20 bytes a sample, in the fixed buffers and in those of a sample; 64 MiB are there.
    assert too_large["reason"] == "needs 168 MB of device memory, 67.1 MB of 67.1 MB are free"
    assert small["status"] == "wrong"  # it ran: nothing is computed here


def test_fault_on_the_device_costs_its_own_cases_only(tmp_path: Path) -> None:
    """After a fault the context refuses everything: the next case needs a worker of its own."""
    compiler_options()
    environment = {**build_driver(tmp_path / "lib"), "FAKE_DRIVER": "fault"}
    # 256 samples a block: 4 blocks fault. Nothing is computed here, so the others are wrong.
    cases, _ = run_with_driver(tmp_path, [64, 1000, 65], environment, 1)
    for case in cases.values():
        if case["params"]["batch"] == 1000:
            assert case["status"] == "failed"
            assert "CUDA_ERROR_ILLEGAL_ADDRESS (700): in the driver's words" in case["reason"]
        else:
            assert case["status"] == "wrong"
            assert "y differs from the oracle: relative L2 error" in case["reason"]
            assert "nan" in case["reason"]


def test_run_goes_on_past_a_kernel_that_does_not_compile(broken: Path, tmp_path: Path) -> None:
    compiler_options()
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": ["98_broken"]}, {"engine": "cpu", "variants": ["omp"]}],
    )
    environment = build_driver(tmp_path / "lib")
    run = tmp_path / "run"
    bench("run", sweep, "--out", run, root=broken, expect=1, **environment)
    cases = read_cases(run)
    failed = cases["mlp_infer/cuda/98_broken/batch=64"]
    assert failed["status"] == "failed"
    assert "98_broken.cu(4): error: " in failed["reason"]
    assert cases["mlp_infer/cpu/omp/batch=64"]["status"] == "ok"
