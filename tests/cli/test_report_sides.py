"""Who stands for each side: the terminal's table, the report and its charts say the same."""

import re
from pathlib import Path
from typing import Any

import pytest
from make_pair import Run
from project import bench, report_of

MEDIAN = "host_to_host"


def sides(run: Run, batch: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return ours and the rival's cases on the GPU of a size, the fastest first."""
    found = [
        case
        for case in run.cases.values()
        if case["params"].get("batch") == batch
        and case["on"] == "cuda"
        and MEDIAN in case["phases"]
        and case["workload"] == "mlp_infer"
    ]
    found.sort(key=lambda case: float(case["phases"][MEDIAN]["median"]))
    engines = ("cuda", "pytorch")
    ours, theirs = ([case for case in found if case["engine"] == engine] for engine in engines)
    return ours, theirs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """All of ours at batch 4 is self-reported, and at batch 8 the fastest rival."""
    run = Run(tmp_path_factory.mktemp("sides") / "run")
    for case in [*sides(run, 4)[0], sides(run, 8)[1][0]]:
        case["trust"] = "self-reported"
    run.write()
    return run


def row_of(table: str, size: str) -> str:
    return next(line for line in table.splitlines() if f"  {size}  " in line)


def test_the_terminal_says_what_the_report_says(run: Run, tmp_path: Path) -> None:
    table = bench("report", run.folder, "--print", "workloads").stdout
    claimed, lower = sides(run, 4)[0][0]["variant"], sides(run, 8)[1][0]["variant"]
    assert "ours is self-reported" in row_of(table, "batch 4")
    assert f" {claimed} (self-reported)" in row_of(table, "batch 4")
    left_out = re.search(r"batch 8, faster, but not compared: PyTorch (\S+) (.*)$", table, re.M)
    assert left_out and left_out[1] == lower and left_out[2].endswith("is self-reported"), table
    assert row_of(table, "batch 8").endswith(f" {sides(run, 8)[1][1]['variant']}")
    top = report_of(run.folder, out=tmp_path / "REPORT.md")
    assert "\n- Not compared, a time is self-reported: [mlp_infer] f32, batch 4.\n" in top
    assert (
        "\n- A rival with a lower time is not compared: [mlp_infer] f32, batch 8 "
        f"(PyTorch {lower} {left_out[2]}).\n" in top
    )
    assert top.count(f"PyTorch {lower} takes") == 1
    assert f" {claimed} *(self-reported)* |" in top
