"""`bench repeat`: how well runs agree, on runs whose intervals and medians are planted."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from compare_runs import CPU, CUDA, OTHER, TORCH
from project import FIXTURES, bench

sys.path.insert(0, str(FIXTURES))

from make_pair import Run

PHASE = "host_to_host"


def run_of(folder: Path, medians: dict[str, float], half_width: float = 0.01) -> Run:
    """Return a run with these cases, whose phases have one median and an interval around it."""
    run = Run(folder)
    run.cases = {name: run.cases[name] for name in medians}
    for name, median in medians.items():
        run.cases[name]["phases"] = {PHASE: run.cases[name]["phases"][PHASE]}
        run.cases[name]["phases"][PHASE].update(
            median=median, ci95=[median * (1 - half_width), median * (1 + half_width)]
        )
    run.write()
    return run


def repeat(*runs: Run, expect: int = 0) -> dict[str, Any]:
    return json.loads(
        bench("repeat", *(run.folder for run in runs), "--json", expect=expect).stdout
    )


def row_of(answer: dict[str, Any], engine: str) -> dict[str, Any]:
    (row,) = [row for row in answer["rows"] if row["engine"] == engine]
    return row


def test_intervals_and_medians(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {CUDA: 1000, OTHER: 1000, CPU: 1000})
    # CUDA: the intervals overlap, and neither median lies in the other's; OTHER: apart.
    two = run_of(tmp_path / "two", {CUDA: 1015, OTHER: 1100, CPU: 1004})
    answer = repeat(one, two)
    cuda, cpu = row_of(answer, "cuda"), row_of(answer, "cpu")
    assert (cuda["phase"], cuda["clock"], cuda["pairs"]) == (PHASE, "host", 2)
    assert (cuda["overlap_frac"], cuda["centre_in_frac"]) == (0.5, 0)
    assert (cuda["within_2_percent"], cuda["within_5_percent"]) == (0.5, 0.5)
    assert cuda["half_width_frac"] == pytest.approx(0.01)
    assert (cpu["overlap_frac"], cpu["centre_in_frac"], cpu["within_2_percent"]) == (1, 1, 1)
    assert cpu["median_move_frac"] == pytest.approx(0.004)
    worst = answer["worst"][0]
    assert (worst["id"], worst["phase"], worst["runs"]) == (OTHER, PHASE, ["one", "two"])
    assert worst["medians_ns"] == [1000, 1100]
    assert worst["moved_frac"] == pytest.approx(0.1)
    assert [one["id"] for one in answer["worst"]] == [OTHER, CUDA, CPU]


def test_every_two_of_many_runs(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / str(i), {CUDA: 1000 + i}) for i in range(4)]
    assert row_of(repeat(*runs), "cuda")["pairs"] == 6


def test_phase_without_interval_counts_for_its_median(tmp_path: Path) -> None:
    one, two = (run_of(tmp_path / name, {CUDA: 1000, TORCH: 1000}) for name in ("one", "two"))
    two.cases[CUDA]["phases"][PHASE]["ci95"] = [None, None]
    two.write()
    row = row_of(repeat(one, two), "cuda")
    assert (row["pairs"], row["overlap_frac"], row["half_width_frac"]) == (1, None, None)
    assert row["within_2_percent"] == 1


def test_only_cases_that_are_ok_in_both(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {CUDA: 1000, CPU: 1000})
    two = run_of(tmp_path / "two", {CUDA: 1000, OTHER: 1000, CPU: 1000})
    two.cases[CPU]["status"] = "wrong"
    two.write()
    assert [row["engine"] for row in repeat(one, two)["rows"]] == ["cuda"]
    lonely = run_of(tmp_path / "lonely", {OTHER: 1000})
    done = bench("repeat", one.folder, lonely.folder, expect=3)
    assert "no case is ok in two of these runs" in done.stderr


def test_tables(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {CUDA: 1000})
    two = run_of(tmp_path / "two", {CUDA: 1100})
    printed = bench("repeat", one.folder, two.folder).stdout
    assert "cuda    host   host_to_host      1      0 %" in printed
    assert f"10 %  {CUDA}  host_to_host  1.00 µs, 1.10 µs  one, two" in printed


def test_wrong_arguments(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {CUDA: 1000})
    assert "at least two run folders" in bench("repeat", one.folder, expect=2).stderr
    assert "run.json" in bench("repeat", one.folder, tmp_path / "none", expect=2).stderr
