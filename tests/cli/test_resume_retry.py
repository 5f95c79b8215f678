"""`--resume --retry`: failed and skipped cases are tried again, others are not."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from project import bench, make_root, null_sweep, own_worker, read_lines, worker_script, write_sweep

N_PASSES = 2
WORKER = worker_script(
    """if op == "open" and request["case"]["variant"] == "needs" and state != "":
    answer = {**answer, "status": state, "reason": f"now it is {state}"}
""",
    first='state = pathlib.Path(os.environ["STATE"]).read_text(encoding="utf-8")',
)


class Project:
    """A run of a worker whose second variant needs something of the environment."""

    def __init__(self, folder: Path) -> None:
        self.root = make_root(folder / "project")
        own_worker(self.root, WORKER)
        mine = {"engine": "mine", "variants": ["plain", "needs"], "device": ["cpu"]}
        self.sweep = write_sweep(folder / "s.json", "null", [mine])
        self.out, self.state = folder / "run", folder / "state"

    def run(self, state: str, *options: str, expect: int = 0) -> str:
        self.state.write_text(state, encoding="utf-8")
        command = ("run", self.sweep, "--passes", str(N_PASSES), "--out", self.out, *options)
        environment = {"BENCH_PYTHON": sys.executable, "STATE": str(self.state)}
        return bench(*command, root=self.root, expect=expect, **environment).stderr

    def lines(self, variant: str) -> list[dict[str, Any]]:
        return [line for line in read_lines(self.out) if line["variant"] == variant]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.mark.parametrize("state", ["skipped", "failed"])
def test_tried_again(state: str, project: Project) -> None:
    bad = 1 if state == "failed" else 0
    counts = {"skipped": "0 failed and 1 skipped", "failed": "1 failed and 0 skipped"}[state]
    first = project.run(state, expect=bad)
    assert "--retry" not in first
    before = read_lines(project.out)
    # It would work now, but is kept.
    printed = project.run("", "--resume", expect=bad)
    assert f"{counts} cases are kept: --retry tries them again\n" in printed
    assert read_lines(project.out) == before
    # Tried again, in all passes; a later line replaces the former.
    printed = project.run("", "--resume", "--retry")
    assert f"{counts} cases are tried again\n" in printed
    assert read_lines(project.out)[: len(before)] == before
    assert [(line["pass"], line["status"]) for line in project.lines("needs")] == [
        (1, state),
        (1, "ok"),
        (2, "ok"),
    ]
    assert len(project.lines("plain")) == N_PASSES
    rows = (project.out / "timings.csv").read_text(encoding="utf-8").splitlines()
    assert not [row for row in rows if f",{state}," in row]
    # Now nothing is left to be tried.
    after = read_lines(project.out)
    assert "--retry" not in project.run("", "--resume")
    project.run("failed", "--resume", "--retry")
    assert read_lines(project.out) == after


def test_tried_again_in_vain(project: Project) -> None:
    project.run("skipped")
    project.run("failed", "--resume", "--retry", expect=1)
    assert [line["status"] for line in project.lines("needs")] == ["skipped", "failed"]
    printed = project.run("failed", "--resume", expect=1)
    assert "1 failed and 0 skipped cases are kept" in printed


def test_pass_beyond_those_asked_for_still_counts(project: Project) -> None:
    project.run("")
    lines = read_lines(project.out)
    for line in lines:
        if line["variant"] == "needs" and line["pass"] == N_PASSES:
            line |= {"status": "failed", "reason": "not today"}
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (project.out / "cases.jsonl").write_text(text, encoding="utf-8")
    project.run("", "--resume", "--retry", "--passes", "1", expect=1)
    assert read_lines(project.out) == lines
    project.run("", "--resume", "--retry")
    assert [line["status"] for line in project.lines("needs")] == ["ok", "failed", "ok"]


def test_wrong_cases_are_not_tried_again(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["wrong"], [1000]), tmp_path / "run"
    bench("run", sweep, "--out", run, expect=1)
    before = read_lines(run)
    done = bench("run", sweep, "--out", run, "--resume", "--retry", expect=1)
    assert read_lines(run) == before
    assert "tried again" not in done.stderr


def test_only_with_resume(tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "s.json", "null", [{"engine": "null", "variants": ["noop"]}])
    done = bench("run", sweep, "--out", tmp_path / "run", "--retry", expect=2)
    assert done.stderr == "bench: --retry needs --resume\n"
