"""Runs that are interrupted, resumed or sharded: no case occurs twice, none is lost."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kill_anywhere import processes_with, wait_for_the_end
from patience import wait_for_a_hang, watched
from project import (
    BENCH,
    ROOT,
    TIMEOUT_S,
    bench,
    make_root,
    null_sweep,
    own_worker,
    read_cases,
    read_header,
    read_lines,
    started,
    wait_for_lines,
    wait_until,
    worker_script,
    write_sweep,
)

WORK_NS = [1000, 2000, 3000]
N_CASES = 6


def sweep_of(folder: Path) -> Path:
    return null_sweep(folder / "s.json", ["steady", "noisy"], WORK_NS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a complete run of the same sweep."""
    folder = tmp_path_factory.mktemp("whole")
    bench("run", sweep_of(folder), "--out", folder / "run")
    return folder / "run"


def cut(run: Path, n_lines: int, half_line: str = "") -> list[dict[str, Any]]:
    """Truncate a run as if interrupted; return the remaining lines."""
    lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "cases.jsonl").write_text("".join(lines[:n_lines]) + half_line, encoding="utf-8")
    header = read_header(run)
    header["finished"] = None
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    (run / "timings.csv").unlink()
    return [json.loads(line) for line in lines[:n_lines]]


@pytest.mark.parametrize("n_lines", [0, 1, 3, N_CASES])
@pytest.mark.parametrize("half_line", ["", '{"schema": 1, "id": "null/null/ste'])
def test_resume_runs_missing_cases(
    whole: Path, tmp_path: Path, n_lines: int, half_line: str
) -> None:
    sweep, run = sweep_of(tmp_path), tmp_path / "run"
    run.mkdir()
    for name in ("run.json", "cases.jsonl", "timings.csv"):
        (run / name).write_bytes((whole / name).read_bytes())
    kept = cut(run, n_lines, half_line)
    done = bench("run", sweep, "--out", run, "--resume")
    assert ("dropped the half-written last line" in done.stderr) == bool(half_line)
    assert read_lines(run)[:n_lines] == kept  # untouched, to the last sample
    assert set(read_cases(run)) == set(read_cases(whole))
    assert read_header(run)["finished"]
    assert (run / "timings.csv").exists()


def test_line_without_a_newline_is_kept(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("run.json", "cases.jsonl", "timings.csv"):
        (run / name).write_bytes((whole / name).read_bytes())
    last = read_lines(run)[3]
    cut(run, 3, json.dumps(last))
    bench("run", sweep_of(tmp_path), "--out", run, "--resume")
    assert read_lines(run)[3] == last
    assert set(read_cases(run)) == set(read_cases(whole))


def test_resume_of_a_finished_run_measures_nothing(whole: Path, tmp_path: Path) -> None:
    before = (whole / "cases.jsonl").read_bytes()
    bench("run", sweep_of(tmp_path), "--out", whole, "--resume")
    assert (whole / "cases.jsonl").read_bytes() == before


def test_each_start_draws_a_seed_and_each_line_keeps_its_own(tmp_path: Path) -> None:
    run = tmp_path / "run"
    sweep = null_sweep(tmp_path / "s.json", ["noisy"], [1000])
    bench("run", sweep, "--out", run, "--passes", "1")
    bench("run", sweep, "--out", run, "--passes", "2", "--resume")
    lines = read_lines(run)
    assert [line["pass"] for line in lines] == [1, 2]
    assert lines[0]["seed"] == read_header(run)["seed"] != lines[1]["seed"]


def test_damaged_line_is_an_error_with_its_number(whole: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_bytes((whole / "run.json").read_bytes())
    lines = (whole / "cases.jsonl").read_bytes().splitlines(keepends=True)
    damaged = b"".join([lines[0], lines[1][:50] + b"\n", *lines[2:]])
    (run / "cases.jsonl").write_bytes(damaged)
    done = bench("run", sweep_of(tmp_path), "--out", run, "--resume", expect=2)
    assert f"{run}/cases.jsonl:2: not a JSON object" in done.stderr
    assert (run / "cases.jsonl").read_bytes() == damaged


def test_existing_run_is_not_changed(whole: Path, tmp_path: Path) -> None:
    before = {path.name: path.read_bytes() for path in whole.iterdir()}
    done = bench("run", sweep_of(tmp_path), "--out", whole, expect=2)
    assert f"{whole} already holds a run" in done.stderr
    assert {path.name: path.read_bytes() for path in whole.iterdir()} == before


# ---- Ctrl-C -----------------------------------------------------------------------------------


def test_processes_are_found_whatever_their_arguments_are(tmp_path: Path) -> None:
    """Other tests run beside this one; one of them had an argument that is no UTF-8."""
    marker = f"BENCH_TEST_MARKER={tmp_path}"
    command = ["sh", "-c", "read line", b"\xe9"]
    name, value = marker.split("=")
    environment = {**os.environ, name: value}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        wait_until("the process", lambda: process.pid in processes_with(marker))


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_interrupted_run_keeps_finished_cases(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    many = [1000 + i for i in range(20)]
    sweeps = [
        null_sweep(tmp_path / "many.json", ["steady"], many),
        null_sweep(tmp_path / "last.json", ["hang"], [1000]),  # it never ends by itself
    ]
    marker = f"BENCH_TEST_MARKER={run}"
    hanging = watched(tmp_path)
    environment = {**dict([marker.split("=")]), **hanging}
    with started("run", *sweeps, "--out", run, **environment) as process:
        wait_for_lines(run, 2)
        assert len(processes_with(marker)) >= 2  # itself and a worker
        process.send_signal(signal.Signals[name])
        _, printed = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "interrupted" in printed
    assert f"--resume --out {run}" in printed
    wait_for_the_end(marker)
    kept = read_lines(run)
    assert 2 <= len(kept) <= len(many)
    assert all(case["status"] == "ok" for case in kept)
    assert read_header(run)["finished"] is None
    bench("run", *sweeps, "--resume", "--out", run, expect=1, **hanging, PATIENCE="none")
    assert read_lines(run)[: len(kept)] == kept
    assert len(read_lines(run)) == len(read_cases(run)) == len(many) + 1


def test_interrupt_does_not_wait_for_a_slow_answer(tmp_path: Path) -> None:
    """A worker may take minutes to open a case; killed then, its case has not failed."""
    run = tmp_path / "run"
    sweep = null_sweep(tmp_path / "hang.json", ["steady", "hang"], [1000])
    marker = f"BENCH_TEST_MARKER={run}"
    name, value = marker.split("=")
    hanging = watched(tmp_path)
    environment = {name: value, **hanging}
    with started("run", sweep, "--out", run, "--timeout", "24h", **environment) as process:
        wait_for_a_hang(hanging)
        process.send_signal(signal.SIGTERM)
        _, printed = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "interrupted" in printed
    assert (run / "cases.jsonl").read_bytes() == b""
    wait_for_the_end(marker)


def test_run_under_nohup_is_not_interrupted(tmp_path: Path) -> None:
    run = tmp_path / "run"
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000 + i for i in range(20)])
    with subprocess.Popen(
        ["nohup", str(BENCH), "run", str(sweep), "--out", str(run)],
        env={**os.environ, "BENCH_ROOT": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for_lines(run, 2)
        process.send_signal(signal.SIGHUP)
        assert process.wait(TIMEOUT_S) == 0


def test_killed_supervisor_ends_its_workers(tmp_path: Path) -> None:
    run = tmp_path / "run"
    sweep = null_sweep(tmp_path / "hang.json", ["hang"], [1000])
    marker = f"BENCH_TEST_MARKER={run}"
    name, value = marker.split("=")
    with started("run", sweep, "--out", run, **{name: value}) as process:
        wait_until("a worker", lambda: len(processes_with(marker)) >= 2)
        process.kill()
    wait_for_the_end(marker)


# ---- shards -----------------------------------------------------------------------------------


def test_shards_can_be_resumed(tmp_path: Path) -> None:
    sweep, shard = sweep_of(tmp_path), tmp_path / "2"
    bench("run", sweep, "--out", shard, "--shard", "2/2")
    n_all = len(read_cases(shard))
    cut(shard, 1)
    bench("run", sweep, "--out", shard, "--shard", "2/2", "--resume")
    assert len(read_cases(shard)) == n_all
    assert read_header(shard)["finished"]


# Says its process and never answers a request for samples.
HANGING = worker_script(
    """if op == "sample":
    (here / "new").write_text(str(os.getpid()))
    (here / "new").rename(here / "pid")
    time.sleep(3600)
"""
)


def test_workers_that_are_stopped_too_are_no_failures(tmp_path: Path) -> None:
    """A batch system sends SIGTERM to all processes of a job, in any order."""
    root, run = make_root(tmp_path / "project"), tmp_path / "run"
    own_worker(root, HANGING)
    mine = {"engine": "mine", "variants": ["hangs"], "device": ["cpu"]}
    sweep = write_sweep(tmp_path / "s.json", "null", [mine])
    command = [str(BENCH), "run", str(sweep), "--passes", "2", "--out", str(run)]
    environment = {**os.environ, "BENCH_ROOT": str(root), "BENCH_PYTHON": sys.executable}
    with subprocess.Popen(command, env=environment) as process:
        wait_until("the worker", (root / "reference_mine" / "pid").exists)
        process.send_signal(signal.SIGSTOP)
        os.kill(int((root / "reference_mine" / "pid").read_text()), signal.SIGTERM)
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        assert process.wait(TIMEOUT_S) == 1
    assert not (run / "cases.jsonl").read_text()
