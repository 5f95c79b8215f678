"""Errors in input: a message with file and place, an exit code, and no lost results."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kill_anywhere import MARKER, processes_with, wait_for_the_end
from project import (
    BENCH,
    FIXTURES,
    ROOT,
    TIMEOUT_S,
    bench,
    make_root,
    null_sweep,
    read_cases,
    read_header,
    write_sweep,
)
from refusals import write_refused

# ---- refused before measuring -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["syntax_missing_comma", "workload_typo", "name_path"])
def test_refused_sweep_measures_nothing(name: str, tmp_path: Path) -> None:
    sweep, message = write_refused("invalid_sweeps.txt", f"{name}.json", tmp_path)
    done = bench("run", sweep, "--out", tmp_path / "run", expect=2)
    assert done.stderr == f"bench: {message}\n"
    assert done.stdout == ""
    assert not (tmp_path / "run").exists()


# ---- skipped cases next to others ---------------------------------------------------------------


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


# ---- workers ------------------------------------------------------------------------------------

ODD = {
    "dies_at_open": "died (exit code 1); stderr: MemoryError: the model is too large",
    "dies_at_output": "died (signal 11 (Segmentation fault))",
    "dies_at_sample": "died (signal 9 (Killed))",
    "rubbish": 'printed "Loading model: 100 %" instead of an answer',
    "other_id": 'answered for case "mlp_infer/another/case" when asked for',
    "no_phase": 'the worker\'s answer has no numbers for phase "total"',
    "text_for_times": 'the worker\'s answer has no numbers for phase "total"',
    "nan_for_times": "JSON has no NaN or Infinity, expected a number or null",
    "negative": 'sample 2 of phase "host_to_host" is -5 ns: expected a time over 0',
    "zero": 'sample 1 of phase "host_to_host" is 0 ns: expected a time over 0',
    "too_large": 'sample 1 of phase "host_to_host" is 1e+300 ns, but the request took ',
    "too_long": 'sample 1 of phase "host_to_host" is 3.6e+12 ns, but the request took ',
    "too_long_together": 'the samples of phase "host_to_host" add up to ',
    "too_many": 'the worker answered with 100000 samples of phase "host_to_host": at most 17 were',
}


def make_odd_root(folder: Path) -> Path:
    root = make_root(folder)
    (root / "reference_odd").mkdir()
    shutil.copy(FIXTURES / "workers" / "odd.py", root / "reference_odd" / "worker.py")
    shutil.copy(FIXTURES / "workers" / "mine.py", root / "reference_odd" / "mine.py")
    return root


def test_odd_worker_fails_only_its_case(tmp_path: Path) -> None:
    root = make_odd_root(tmp_path / "project")
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
    assert silent["reason"] == "the worker wrote nothing, expected y"
    for well in ("odd-cpu/plain", "cpu/omp"):
        assert cases[f"mlp_infer/{well}/batch=3"]["status"] == "ok"
    assert f"{len(ODD) + 1} of {len(cases)} cases were wrong or failed" in done.stderr
    assert read_header(run)["finished"]


def test_server_that_a_worker_leaves_behind_is_ended(tmp_path: Path) -> None:
    root = make_odd_root(tmp_path / "project")
    odd = {"engine": "odd", "device": ["cpu"], "variants": ["leaves_a_server"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [odd], axes={"batch": [3]})
    environment = {"BENCH_PYTHON": sys.executable, MARKER: str(tmp_path)}
    bench("run", sweep, "--out", tmp_path / "run", root=root, **environment)
    wait_for_the_end(f"{MARKER}={tmp_path}")


def test_process_of_the_callers_is_not_ended(tmp_path: Path) -> None:
    """After an exec the shell's background jobs are children of bench."""
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    subprocess.run(
        ["sh", "-c", f'sleep 600 & exec "{BENCH}" run "{sweep}" --out "{tmp_path}/run" --quiet'],
        env={**os.environ, "BENCH_ROOT": str(ROOT), MARKER: str(tmp_path)},
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=TIMEOUT_S,
    )
    [other] = processes_with(f"{MARKER}={tmp_path}")
    os.kill(other, signal.SIGKILL)


def test_files_of_a_killed_worker_are_removed_with_the_run(tmp_path: Path) -> None:
    root = make_odd_root(tmp_path / "project")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "odd", "device": ["cpu"], "variants": ["litters", "plain"]}],
        axes={"batch": [3]},
    )
    run = tmp_path / "run"
    environment = {"BENCH_PYTHON": sys.executable, "TMPDIR": str(temporary)}
    bench("run", sweep, "--out", run, root=root, expect=1, **environment)
    cases = read_cases(run)
    assert "signal 9 (Killed)" in cases["mlp_infer/odd-cpu/litters/batch=3"]["reason"]
    assert cases["mlp_infer/odd-cpu/plain/batch=3"]["status"] == "ok"
    assert list(temporary.iterdir()) == []
