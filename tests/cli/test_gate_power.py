"""What `bench compare` finds in the runs of results/: planted slowdowns, nothing between two starts."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, bench

RESULTS = ROOT / "results"
BASE = RESULTS / "h200_mlp_infer"
Json = dict[str, Any]
Chosen = Callable[[str, str], bool]

TIMES = ("median", "q25", "q75", "p5", "p95", "p99", "min", "max", "mad")


def slow_down(case: Json, factor: float, chosen: Chosen) -> None:
    for name, phase in case["phases"].items():
        if case["id"].startswith("device/") or not chosen(case["id"], name):
            continue
        phase.update({key: factor * phase[key] for key in TIMES})
        for key in ("samples", "fresh"):
            phase[key] = [factor * value for value in phase.get(key) or []]


def planted(folder: Path, factor: float, chosen: Chosen) -> Path:
    folder.mkdir()
    shutil.copy(BASE / "run.json", folder)
    with (
        gzip.open(BASE / "cases.jsonl.gz", "rt") as lines,
        (folder / "cases.jsonl").open("w") as out,
    ):
        for line in lines:
            case = json.loads(line)
            slow_down(case, factor, chosen)
            out.write(json.dumps(case) + "\n")
    return folder


def compare(base: Path, candidate: Path, expect: int) -> Json:
    answer: Json = json.loads(bench("compare", base, candidate, "--json", expect=expect).stdout)
    return answer


def regressed_groups(answer: Json) -> set[tuple[str, str]]:
    return {
        (group["engine"], group["phase"])
        for group in answer["groups"]
        if group["verdict"] == "regressed"
    }


def share_undecided(answers: list[Json]) -> float:
    """Return the share of cases with times on both sides."""
    cases = [case for answer in answers for case in answer["cases"] if case["cells"]]
    return sum(case["verdict"] == "undecided" for case in cases) / len(cases)


@pytest.mark.parametrize("percent", [10, 3])
def test_slowdown_of_everything_is_found(tmp_path: Path, percent: int) -> None:
    factor = 1 + percent / 100
    answer = compare(BASE, planted(tmp_path / "all", factor, lambda *_: True), expect=1)
    assert regressed_groups(answer) >= {("cuda", "host_to_host"), ("cuda", "kernel_graph")}
    (kernels,) = (
        group
        for group in answer["groups"]
        if (group["engine"], group["phase"]) == ("cuda", "kernel_graph")
    )
    assert kernels["ratio"] == pytest.approx(factor, abs=0.001)
    low, high = kernels["ci95"]
    assert factor - 0.005 < low < factor < high < factor + 0.005
    assert kernels["n_moved"] > 0.5 * kernels["n_cells"] > 50
    assert answer["headline"].startswith(f"REGRESSED: cuda kernel_graph slower by {percent}.0 % (")
    assert (answer["counts"]["regressed"] > 50) == (percent == 10)


def test_slowdown_of_one_rung_is_found(tmp_path: Path) -> None:
    candidate = planted(tmp_path / "rung", 1.1, lambda case, _: "/01_study/" in case)
    answer = compare(BASE, candidate, expect=1)
    assert regressed_groups(answer) == set()
    slower = [case["id"] for case in answer["cases"] if case["verdict"] == "regressed"]
    assert len(slower) >= 5
    assert all("/01_study/" in case for case in slower)


def test_slowdown_of_one_phase_of_one_case_is_found(tmp_path: Path) -> None:
    one = "mlp_infer/cuda/01_study/batch=1048576"
    candidate = planted(
        tmp_path / "one", 1.1, lambda case, phase: (case, phase) == (one, "kernel_graph")
    )
    answer = compare(BASE, candidate, expect=1)
    assert [case["id"] for case in answer["cases"] if case["verdict"] == "regressed"] == [one]
    assert answer["groups"][0]["verdict"] == "unchanged"


def test_a_run_against_itself_is_mostly_decided(tmp_path: Path) -> None:
    answer = compare(BASE, planted(tmp_path / "same", 1, lambda *_: False), expect=0)
    assert not {"regressed", "improved"} & {case["verdict"] for case in answer["cases"]}
    assert share_undecided([answer]) < 1 / 3
    undecided = [
        cell
        for case in answer["cases"]
        for cell in case["cells"]
        if cell["verdict"] == "undecided" and cell["more_passes"]
    ]
    assert undecided
    assert all(1 <= cell["more_passes"] <= 64 for cell in undecided)


# ---- two starts ----------------------------------------------------------------------------------

NEAR = [
    ("headlines_boot2", "headlines_boot3"),
    ("mlp_infer_boot2", "headlines_boot2"),
    ("mlp_infer_boot2", "headlines_boot3"),
]
FAR = [
    ("mlp_infer", "mlp_infer_boot2"),
    *(("mlp_infer", boot) for boot in ("headlines_boot2", "headlines_boot3")),
]


@pytest.mark.parametrize(
    "pairs", [NEAR, pytest.param(NEAR + FAR, marks=pytest.mark.long)], ids=["near", "all"]
)
def test_two_starts_differ_in_nothing(pairs: list[tuple[str, str]]) -> None:
    """Their revisions differ, the machine code of the cases that they share does not."""
    answers = [
        compare(RESULTS / f"h200_{base}", RESULTS / f"h200_{candidate}", expect=0)
        for base, candidate in pairs
    ]
    found = {
        verdict
        for answer in answers
        for part in (answer["cases"], answer["groups"])
        for verdict in (item["verdict"] for item in part)
    }
    assert not {"regressed", "improved"} & found
    assert share_undecided(answers) < 0.4
