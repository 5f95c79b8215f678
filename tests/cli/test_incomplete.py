"""Runs that are not complete: every command that reads them says so, once and in the same words."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from project import bench, null_sweep, read_header

HALF_LINE = '{"schema": 2, "id": "null/null/ste'
UNFINISHED = "the run did not finish: it has only the finished cases"
DROPPED = "dropped the half-written last line of cases.jsonl"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a complete run and one that was killed in the middle of a line."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("whole", "killed"):
        sweep = null_sweep(folder / "s.json", ["steady"], [1000, 2000])
        shard = "1/2" if name == "whole" else "2/2"
        bench("run", sweep, "--out", folder / name, "--passes", "2", "--shard", shard)
    killed = folder / "killed"
    header = read_header(killed)
    header["finished"] = None
    (killed / "run.json").write_text(json.dumps(header), encoding="utf-8")
    with (killed / "cases.jsonl").open("a", encoding="utf-8") as file:
        file.write(HALF_LINE)
    return folder / "whole", killed


COMMANDS: dict[str, Callable[[Path, Path, Path], list[str | Path]]] = {
    "report": lambda whole, killed, out: ["report", killed, whole, "--out", out],
    "report --print": lambda whole, killed, _: ["report", killed, whole, "--print", "workloads"],
    "plot": lambda _, killed, out: ["plot", killed, "--out", out],
    "compare": lambda whole, killed, _: ["compare", whole, killed],
    "history": lambda whole, killed, _: ["history", whole, killed],
    "repeat": lambda whole, killed, _: ["repeat", whole, killed],
    "merge": lambda whole, killed, out: ["merge", out, whole, killed],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_told_once_by(name: str, runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = bench(*COMMANDS[name](*runs, tmp_path / "out"), expect=None)
    whole, killed = runs
    assert done.stderr.count(f"{killed}: {UNFINISHED}\n") == 1
    assert done.stderr.count(f"{killed}: {DROPPED}\n") == 1
    assert f"{whole}: " not in done.stderr
    assert (killed / "cases.jsonl").read_text(encoding="utf-8").endswith(HALF_LINE)


def test_cases_with_fewer_passes_are_counted(tmp_path: Path) -> None:
    """As of a run whose time was over before its last pass: a published boot."""
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000, 3000]), tmp_path / "run"
    bench("run", sweep, "--out", run, "--passes", "2")
    header = read_header(run)
    header["finished"] = None
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "cases.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    done = bench("report", run, "--print", "workloads")
    assert (
        f"{run}: the run did not finish: 1 of its 3 cases with times has fewer than 2 passes, "
        "1 or more\n" in done.stderr
    )


def test_resume_tells_the_line_in_the_same_words(runs: tuple[Path, Path], tmp_path: Path) -> None:
    sweep, run = runs[0].parent / "s.json", tmp_path / "run"
    shutil.copytree(runs[1], run)
    command = ("run", sweep, "--passes", "2", "--shard", "2/2", "--out", run)
    done = bench(*command, "--resume")
    assert done.stderr.count(f"{run}: {DROPPED}\n") == 1
    assert UNFINISHED not in done.stderr
