"""A machine that other programs keep busy, as BENCH_BUSY says that it is (docs/testing.md)."""

import gzip
import json
from pathlib import Path

import pytest
from project import FIXTURES, bench, null_sweep, read_lines, report_of

IDLE = "0 0.00 0.00 0.00 1/1 1"
BUSY = "0.48 999.00 5.00 4.00 5/300 1"
SLIGHTLY = "0.04 999.00 5.00 4.00 1/300 1"  # 4 % taken, and what loaded the machine has ended
SIX_PASSES = FIXTURES / "report" / "gpu"
SIZES = [0, 1000, 2000, 3000, 4000]
TAKEN = "other programs took over 5 % of the CPU time of 5 of 5 cases, 48 % of null/null/"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return runs of the same cases, by how busy the machine was."""
    folder = tmp_path_factory.mktemp("busy")
    sweep = null_sweep(folder / "s.json", ["steady"], SIZES)
    runs = {}
    for name, given in ("idle", IDLE), ("busy", BUSY), ("slightly", SLIGHTLY):
        runs[name] = folder / name
        done = bench("run", sweep, "--passes", 2, "--out", runs[name], BENCH_BUSY=given)
        (folder / f"{name}.out").write_text(done.stdout, encoding="utf-8")
        (folder / f"{name}.err").write_text(done.stderr, encoding="utf-8")
    return runs


def printed(run: Path, what: str) -> str:
    return run.with_name(f"{run.name}.{what}").read_text(encoding="utf-8")


def test_the_share_is_recorded(runs: dict[str, Path]) -> None:
    for name, frac in ("idle", 0), ("busy", 0.48), ("slightly", 0.04):
        lines = read_lines(runs[name])
        assert [line["cpu_taken_frac"] for line in lines] == [frac] * 2 * len(SIZES)
        flagged = [f for line in lines for f in line["flags"] if f.startswith("busy: ")]
        assert len(flagged) == (2 * len(SIZES) if name == "busy" else 0)


def test_the_screen_says_so(runs: dict[str, Path]) -> None:
    before, after = (
        line for line in printed(runs["busy"], "err").splitlines() if line.startswith("busy ")
    )
    assert before.startswith("busy machine: load 999.00 on ")
    assert "and 4 other threads run now: times may be too long" in before
    assert after.startswith(f"busy machine: {TAKEN}")


def test_the_headline_marks_the_case(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "run.json").write_bytes((SIX_PASSES / "run.json").read_bytes())
    lines = gzip.decompress((SIX_PASSES / "cases.jsonl.gz").read_bytes()).decode().splitlines()
    cases = [json.loads(line) for line in lines]
    for case in cases:
        if case["engine"] == "pytorch":
            case["flags"].append(
                "busy: other programs took 6 % of the CPU time that its worker could have had"
            )
    text = "".join(f"{json.dumps(case)}\n" for case in cases)
    (run / "cases.jsonl").write_text(text, encoding="utf-8")
    before, after = (
        bench("report", folder, "--print", "headline").stdout for folder in (SIX_PASSES, run)
    )
    assert "§" not in before
    assert after.count("µs §") >= 1, after
    assert "§: on a busy machine; other programs took over 5 % of its CPU time." in after


@pytest.mark.parametrize("name", ["idle", "slightly"])
def test_else_nothing_is_said(runs: dict[str, Path], name: str) -> None:
    report = report_of(runs[name], out=runs[name].with_suffix(".md"))
    for text in printed(runs[name], "err"), printed(runs[name], "out"), report:
        assert "busy machine" not in text.lower()
        assert "§" not in text


def test_quiet_runs_say_it_at_the_end(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    done = bench("run", sweep, "--quiet", "--out", tmp_path / "run", BENCH_BUSY=BUSY)
    (line,) = done.stderr.splitlines()
    assert line.startswith("busy machine: other programs took over 5 % of the CPU time of 1 of 1")
    assert "warning      busy: other programs took 48 %" in done.stdout


def test_the_report_says_so(runs: dict[str, Path]) -> None:
    report = report_of(runs["busy"], out=runs["busy"].with_suffix(".md"))
    assert f"- **Busy machine:** {TAKEN}" in report
    assert "Load at the start: " in report
    assert "§: on a busy machine" in report
    assert any("§" in line for line in report.splitlines() if line.startswith("|"))


def test_a_run_without_the_fact_is_read_as_before(runs: dict[str, Path], tmp_path: Path) -> None:
    older = tmp_path / "older"
    older.mkdir()
    (older / "run.json").write_bytes((runs["idle"] / "run.json").read_bytes())
    lines = read_lines(runs["idle"])
    for line in lines:
        del line["cpu_taken_frac"]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    (older / "cases.jsonl").write_text(text, encoding="utf-8")
    report = report_of(older, out=tmp_path / "older.md").lower()
    assert "busy machine" not in report
    assert "§" not in report
