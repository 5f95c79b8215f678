"""A worker that dies in a case: the case is opened once more, in a new process, and both are told."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from project import FIXTURES, bench, make_root, read_cases, read_lines, report_of, write_sweep

OPS = ("open", "output", "sample", "close")
RETRIED = "worker: died, and the case was opened again in a new process ({})"


def death(op: str, number: int) -> str:
    return f"{op}: worker odd-cpu died (exit code 1); stderr: MemoryError: number {number}"


def case_id(variant: str) -> str:
    return f"mlp_infer/odd-cpu/{variant}/batch=3"


def run_odd(folder: Path, variants: list[str], *options: str, expect: int) -> tuple[Path, str]:
    """Run cases of the odd worker in one group; return the run and its stderr."""
    root = make_root(folder / "project")
    (root / "reference_odd").mkdir()
    shutil.copy(FIXTURES / "workers" / "odd.py", root / "reference_odd" / "worker.py")
    shutil.copy(FIXTURES / "workers" / "mine.py", root / "reference_odd" / "mine.py")
    contender = {"engine": "odd", "device": ["cpu"], "variants": variants}
    sweep = write_sweep(folder / "s.json", "mlp_infer", [contender], axes={"batch": [3]})
    run = folder / "run"
    done = bench(
        *("run", sweep, "--out", run, *options),
        root=root,
        expect=expect,
        BENCH_PYTHON=sys.executable,
    )
    return run, done.stderr


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a run in which each request kills its worker once, beside a case without failures."""
    variants = ["plain", *(f"first_{op}" for op in OPS)]
    return run_odd(tmp_path_factory.mktemp("once"), variants, expect=0)


@pytest.mark.parametrize("op", OPS)
def test_second_try_that_works_is_ok_and_flagged(op: str, once: tuple[Path, str]) -> None:
    run, printed = once
    flag = RETRIED.format(death(op, 1))
    case = read_cases(run)[case_id(f"first_{op}")]
    assert (case["status"], case["reason"]) == ("ok", None)
    assert case["flags"] == [flag]
    assert case["check"]["after"]["ok"]
    (line,) = (line for line in printed.splitlines() if case_id(f"first_{op}") in line)
    assert line.endswith(f"; {flag}")


def test_case_open_in_the_same_process_is_not_blamed(once: tuple[Path, str]) -> None:
    case = read_cases(once[0])[case_id("plain")]
    assert (case["status"], case["flags"]) == ("ok", [])


def test_report_warns(once: tuple[Path, str], tmp_path: Path) -> None:
    report = report_of(once[0], out=tmp_path / "REPORT.md")
    (line,) = (line for line in report.splitlines() if line.startswith("- **worker: died, and "))
    assert f"**: {len(OPS)} cases, the worst: " in line
    assert "MemoryError: number 1" in line


@pytest.mark.parametrize("op", OPS)
def test_second_death_fails_the_case_with_both_reasons(op: str, tmp_path: Path) -> None:
    run, _ = run_odd(tmp_path, [f"both_{op}", "plain"], expect=1)
    cases = read_cases(run)
    case = cases[case_id(f"both_{op}")]
    assert case["status"] == "failed"
    assert case["reason"] == f"{death(op, 2)}; first try: {death(op, 1)}"
    assert case["flags"] == []
    assert cases[case_id("plain")]["status"] == "ok"


def test_equal_deaths_are_told_once(tmp_path: Path) -> None:
    run, _ = run_odd(tmp_path, ["dies_at_output"], expect=1)
    (case,) = read_lines(run)
    assert case["reason"] == (
        "output: worker odd-cpu died (signal 11 (Segmentation fault)); first try: the same"
    )


def test_every_pass_has_its_own_second_try(tmp_path: Path) -> None:
    """The second pass opens the case for the second time, and dies of it for the first time."""
    run, _ = run_odd(tmp_path, ["both_open", "second_open"], "--passes", "2", expect=1)
    lines: dict[str, list[dict[str, Any]]] = {}
    for line in read_lines(run):
        lines.setdefault(line["variant"], []).append(line)
    assert [line["status"] for line in lines["both_open"]] == ["failed"]
    assert [line["status"] for line in lines["second_open"]] == ["ok", "ok"]
    assert [line["flags"] for line in lines["second_open"]][0] == []
    assert [line["flags"] for line in lines["second_open"]][1] == [RETRIED.format(death("open", 2))]


@pytest.mark.parametrize("variant", ["rubbish", "other_id"])
def test_worker_that_answers_badly_is_not_asked_again(variant: str, tmp_path: Path) -> None:
    run, _ = run_odd(tmp_path, [variant], expect=1)
    (case,) = read_lines(run)
    assert case["status"] == "failed"
    assert "first try" not in case["reason"]


def test_trace_has_no_second_try(tmp_path: Path) -> None:
    """The new process would have no tracer."""
    run, _ = run_odd(tmp_path, ["first_open"], "--trace", expect=1)
    sources = json.loads((run / "trace.json").read_text(encoding="utf-8"))["otherData"]["sources"]
    assert sources[case_id("first_open")] == f"no trace: {death('open', 1)}"
