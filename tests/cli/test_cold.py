"""`bench run --cold`: every sample is a separate process, from its start to its exit."""

from __future__ import annotations

import csv
import itertools
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from kill_anywhere import processes_with
from patience import impatient
from project import (
    FIXTURES,
    bench,
    make_root,
    null_sweep,
    read_cases,
    read_header,
    report_of,
    write_sweep,
)

PHASES = ["cold_start", "cold_open", "cold_first_answer", "cold_total"]
N_SAMPLES = 5
COLD = ("--cold", "--passes", str(N_SAMPLES))
FLAG = "cold: every sample is a new process"
# The slow workers of tests/fixtures/workers/logged.py.
START_NS, EXIT_NS = 300e6, 200e6


def check_times(case: dict[str, Any]) -> None:
    """Check every sample of a measured case."""
    assert case["status"] == "ok", case["reason"]
    assert list(case["phases"]) == PHASES
    assert (case["stop"], case["rounds"], case["warmup_ns"]) == ("fixed_count", N_SAMPLES, 0)
    assert FLAG in case["flags"]
    assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
    for phase in case["phases"].values():
        assert phase["clock"] == "host"
        assert phase["n"] == N_SAMPLES
        # Each process is a pass, so that the interval is one over processes.
        assert phase["round_starts"] == phase["pass_starts"] == list(range(N_SAMPLES + 1))
        assert phase["ci95"][0] < phase["median"] < phase["ci95"][1]
    samples = (case["phases"][name]["samples"] for name in PHASES)
    for start, opened, first_answer, total in zip(*samples, strict=True):
        assert min(start, opened) > 0
        assert start + opened <= first_answer < total


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a cold run of contenders with all outcomes, and its stderr."""
    folder = tmp_path_factory.mktemp("cold")
    sweep = null_sweep(folder / "s.json", ["noop", "steady", "wrong", "crash", "hang"], [0, 2000])
    run = folder / "run"
    environment = {"BENCH_TEST_MARKER": str(run), **impatient(folder)}
    done = bench("run", sweep, *COLD, "--out", run, expect=1, **environment)
    assert not processes_with(f"BENCH_TEST_MARKER={run}")
    return run, done.stdout


@pytest.mark.parametrize("work_ns", [0, 2000])
def test_a_bad_contender_fails_only_its_case(misbehaving: tuple[Path, str], work_ns: int) -> None:
    cases = read_cases(misbehaving[0])
    for variant in ("noop", "steady"):
        check_times(cases[f"null/null/{variant}/work_ns={work_ns}"])
    for variant, status, reason in (
        ("wrong", "wrong", "y differs from the reference output"),
        ("crash", "failed", "worker null died (signal 11"),
        ("hang", "failed", "worker null did not answer in time"),
    ):
        case = cases[f"null/null/{variant}/work_ns={work_ns}"]
        assert case["status"] == status
        assert reason in case["reason"]
        assert "first try" not in case["reason"], "each sample is one process"
        assert not any(phase["n"] for phase in case["phases"].values())


def test_ids_match_a_steady_run(misbehaving: tuple[Path, str], tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["noop"], [0])
    bench("run", sweep, "--out", tmp_path / "run")
    assert read_header(tmp_path / "run")["environment"]["measure"] == {"mode": "steady"}
    assert read_header(misbehaving[0])["environment"]["measure"] == {"mode": "cold"}
    assert set(read_cases(tmp_path / "run")) <= set(read_cases(misbehaving[0]))


def test_many_cases_are_a_table(misbehaving: tuple[Path, str]) -> None:
    lines = misbehaving[1].splitlines()
    assert lines[0].split() == ["case", "start", "open", "first", "answer", "total", "status"]
    assert len(lines) == 2 + len(read_cases(misbehaving[0]))
    row = next(line for line in lines if line.startswith("null/null/crash/work_ns=0"))
    assert row.split()[1:] == ["–", "–", "–", "–", "failed"]


def test_derived_files_and_report(misbehaving: tuple[Path, str], tmp_path: Path) -> None:
    rows = list(csv.DictReader((misbehaving[0] / "timings.csv").open(encoding="utf-8")))
    timed = [row for row in rows if row["median"]]
    assert [row["phase"] for row in timed] == 4 * PHASES
    report = report_of(misbehaving[0], out=tmp_path / "REPORT.md")
    cold = report.partition("\n## First answer from a cold start\n")[2].partition("\n## ")[0]
    rows_shown = {line.split("`")[1]: line for line in cold.splitlines() if line.startswith("| `")}
    for variant, failed in (("noop", False), ("steady", False), ("crash", True)):
        assert ("failed" in rows_shown[f"null/null/{variant}/work_ns=0"]) == failed


def test_real_work_on_the_cpu(tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cpu", "variants": ["ref", "omp"]}],
        axes={"batch": [1, 70]},
    )
    done = bench("run", sweep, *COLD, "--out", tmp_path / "run")
    assert re.search(r"stopped +fixed_count.* after 5 rounds", done.stdout)
    cases = read_cases(tmp_path / "run")
    assert len(cases) == 4
    for case in cases.values():
        check_times(case)
        assert "first_run" in case["once_ns"]


# ---- the processes -----------------------------------------------------------------------------


class Logged:
    """A run of the workers of logged.py, and their log."""

    def __init__(self, folder: Path, variants: list[str], expect: int, start_ns: float = 0) -> None:
        root = make_root(folder / "project")
        (root / "reference_logged").mkdir()
        workers = FIXTURES / "workers"
        shutil.copy(workers / "mine.py", root / "reference_logged" / "mine.py")
        shutil.copy(workers / "logged.py", root / "reference_logged" / "worker.py")
        sweep = write_sweep(
            folder / "s.json",
            "mlp_infer",
            [{"engine": "logged", "variants": variants, "device": ["cpu"]}],
            axes={"batch": [2]},
        )
        log, run = folder / "log", folder / "run"
        environment = {"BENCH_PYTHON": sys.executable, "WORKER_LOG": str(log)}
        environment["WORKER_START_S"] = str(start_ns / 1e9)
        environment |= impatient(folder)
        bench("run", sweep, *COLD, "--out", run, root=root, expect=expect, **environment)
        assert not processes_with(f"WORKER_LOG={log}")
        self.cases = {case["variant"]: case for case in read_cases(run).values()}
        self.lines = [line.split() for line in log.read_text("utf-8").splitlines()]

    def processes(self) -> list[list[list[str]]]:
        """Return the requests of each process in order of start: [op, id, others]."""
        return [
            [line[1:] for line in lines]
            for _, lines in itertools.groupby(self.lines, key=lambda line: line[0])
        ]


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Logged:
    return Logged(tmp_path_factory.mktemp("logged"), ["plain", "second", "third"], expect=0)


def test_every_sample_is_a_separate_process(logged: Logged) -> None:
    first, *cold, last = logged.processes()
    assert len(cold) == 3 * N_SAMPLES
    for process in cold:
        assert [op for op, _, _ in process] == ["hello", "open", "sample", "close", "bye"]
        assert all(others == "0" for _, _, others in process)  # no other worker uses the machine
        assert len({name for op, name, _ in process if op not in {"hello", "bye"}}) == 1
    for process in (first, last):  # outputs are checked only before and after
        ops = [op for op, _, _ in process]
        assert (ops.count("open"), ops.count("output"), ops.count("sample")) == (3, 3, 0)


def test_contenders_alternate_direction(logged: Logged) -> None:
    names = [process[1][1] for process in logged.processes()[1:-1]]
    passes = [names[i : i + 3] for i in range(0, len(names), 3)]
    assert all(len(set(turn)) == 3 for turn in passes)
    assert passes[1] == passes[0][::-1]
    assert passes[3] == passes[2][::-1]


def test_start_and_end_of_the_process_are_in_the_times(tmp_path: Path) -> None:
    case = Logged(tmp_path, ["slow"], expect=0, start_ns=START_NS).cases["slow"]
    check_times(case)
    phases = {name: case["phases"][name]["samples"] for name in PHASES}
    assert min(phases["cold_start"]) > START_NS
    for first_answer, total in zip(phases["cold_first_answer"], phases["cold_total"], strict=True):
        assert total - first_answer > EXIT_NS


def test_processes_that_exit_with_an_error(tmp_path: Path) -> None:
    cases = Logged(tmp_path, ["plain", "bad_exit", "stays", "fails_late", "breaks"], expect=1).cases
    check_times(cases["plain"])
    message = "stderr: RuntimeError: of a library, as it was unloaded"
    for variant, reasons in {
        "bad_exit": ["worker logged-cpu failed after bye (exit code 3)", message],
        "stays": ["worker logged-cpu did not end after bye"],
        "fails_late": ["the second process has no luck"],
        "breaks": ["ZeroDivisionError: it breaks"],
    }.items():
        assert cases[variant]["status"] == "failed"
        for reason in reasons:
            assert reason in cases[variant]["reason"]
        assert not any(phase["n"] for phase in cases[variant]["phases"].values())


# ---- two modes, two folders ----------------------------------------------------------------------


def cut(run: Path) -> None:
    """Keep one of two cases."""
    lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "cases.jsonl").write_text(lines[0], encoding="utf-8")


@pytest.mark.parametrize("mode", ["cold", "steady"])
def test_resume_requires_the_same_mode(tmp_path: Path, mode: str) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["noop", "steady"], [0]), tmp_path / "run"
    own, other = (["--cold"], []) if mode == "cold" else ([], ["--cold"])
    bench("run", sweep, "--out", run, *own)
    cut(run)
    before = (run / "cases.jsonl").read_bytes()
    refused = bench("run", sweep, "--out", run, "--resume", *other, expect=2).stderr
    assert f"{run} was measured {'with' if mode == 'cold' else 'without'} --cold" in refused
    assert (run / "cases.jsonl").read_bytes() == before
    bench("run", sweep, "--out", run, "--resume", *own)
    assert len(read_cases(run)) == 2


def test_a_run_without_a_mode_is_steady(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["noop", "steady"], [0]), tmp_path / "run"
    bench("run", sweep, "--out", run)
    header = (run / "run.json").read_text(encoding="utf-8")
    assert '"steady"' in header
    (run / "run.json").write_text(header.replace('"mode": "steady"', '"other": 1'), "utf-8")
    bench("run", sweep, "--out", run, "--resume", "--cold", expect=2)
    bench("run", sweep, "--out", run, "--resume")


def test_shards_of_two_modes_are_not_joined(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["noop"], [0, 1000])
    bench("run", sweep, "--out", tmp_path / "1", "--shard", "1/2")
    bench("run", sweep, "--out", tmp_path / "2", "--shard", "2/2", "--cold")
    refused = bench("merge", tmp_path / "both", tmp_path / "1", tmp_path / "2", expect=3).stderr
    assert "measure.mode is 'cold', but 'steady'" in refused


def test_cold_and_profile_exclude_each_other(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["noop"], [0])
    refused = bench("run", sweep, "--cold", "--profile", "--out", tmp_path / "run", expect=2).stderr
    assert "--cold and --profile exclude each other" in refused
    assert not (tmp_path / "run").exists()


def test_no_worker_for_a_contender(tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [
            {"engine": "cpu", "variants": ["omp"]},
            {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]},
        ],
    )
    bench("run", sweep, *COLD, "--out", tmp_path / "run", BENCH_PYTHON="/no/such/python")
    cases = read_cases(tmp_path / "run")
    check_times(cases["mlp_infer/cpu/omp/batch=64"])
    assert cases["mlp_infer/pytorch-cpu/eager/batch=64"]["status"] == "skipped"
