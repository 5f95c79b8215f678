"""What `bench compare` finds in recorded runs: planted slowdowns, nothing between two starts."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, bench

STARTS = ROOT / "tests/fixtures/starts"  # of 27 November 2026: of each workload's headline
STEADY = ROOT / "results/h200_operators"
NOISY = ROOT / "results/h200_mlp_infer"  # over half of its kernels take less than 2 us
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


def planted(base: Path, folder: Path, factor: float, chosen: Chosen) -> Path:
    folder.mkdir()
    shutil.copy(base / "run.json", folder)
    with (
        gzip.open(base / "cases.jsonl.gz", "rt") as lines,
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


def kernels(answer: Json) -> Json:
    (group,) = (
        group
        for group in answer["groups"]
        if (group["engine"], group["phase"]) == ("cuda", "kernel_graph")
    )
    return dict(group)


@pytest.mark.parametrize("percent", [10, 3])
@pytest.mark.parametrize("base", [STEADY, NOISY], ids=lambda base: base.name)
def test_slowdown_of_everything_is_found(tmp_path: Path, base: Path, percent: int) -> None:
    factor = 1 + percent / 100
    answer = compare(base, planted(base, tmp_path / "all", factor, lambda *_: True), expect=1)
    assert ("cuda", "kernel_graph") in regressed_groups(answer)
    found_beside = ("cuda", "host_to_host") in regressed_groups(answer)
    assert found_beside == (base == STEADY or percent == 10)
    found = kernels(answer)
    assert found["ratio"] == pytest.approx(factor, abs=0.001)
    low, high = found["ci95"]
    assert factor - 0.005 < low < factor < high < factor + 0.005
    assert found["n_moved"] > (0.9 if base == STEADY else 0.3) * found["n_cells"] > 30
    assert answer["headline"].startswith(f"REGRESSED: cuda kernel_graph slower by {percent}.0 % (")
    assert (answer["counts"]["regressed"] > 40) == (percent == 10)


def test_slowdown_of_one_rung_is_found(tmp_path: Path) -> None:
    rung = "/cuda/02_ring/"
    candidate = planted(STEADY, tmp_path / "rung", 1.1, lambda case, _: rung in case)
    answer = compare(STEADY, candidate, expect=1)
    assert regressed_groups(answer) == set()
    slower = [case["id"] for case in answer["cases"] if case["verdict"] == "regressed"]
    assert len(slower) >= 5
    assert all(rung in case for case in slower)


@pytest.mark.parametrize(
    ("base", "one"),
    [
        (STEADY, "gemm/cuda/03_wgmma/m=4096/n=4096/k=4096"),
        (NOISY, "mlp_infer/cuda/01_study/batch=1048576"),
    ],
)
def test_slowdown_of_one_phase_of_one_case_is_found(tmp_path: Path, base: Path, one: str) -> None:
    candidate = planted(
        base, tmp_path / "one", 1.1, lambda case, phase: (case, phase) == (one, "kernel_graph")
    )
    answer = compare(base, candidate, expect=1)
    assert [case["id"] for case in answer["cases"] if case["verdict"] == "regressed"] == [one]
    assert regressed_groups(answer) == set()
    assert kernels(answer)["verdict"] == "unchanged"


@pytest.mark.parametrize(("base", "most"), [(STEADY, 0.05), (NOISY, 0.45)])
def test_a_run_against_itself(tmp_path: Path, base: Path, most: float) -> None:
    answer = compare(base, planted(base, tmp_path / "same", 1, lambda *_: False), expect=0)
    assert not {"regressed", "improved"} & {case["verdict"] for case in answer["cases"]}
    assert share_undecided([answer]) < most
    undecided = [
        cell
        for case in answer["cases"]
        for cell in case["cells"]
        if cell["verdict"] == "undecided" and cell["more_passes"]
    ]
    assert undecided
    assert all(1 <= cell["more_passes"] <= 64 for cell in undecided)


# ---- two starts ----------------------------------------------------------------------------------

PAIRS = [  # each of one revision
    (NOISY, ROOT / "results/h200_mlp_infer_boot2"),
    (STARTS / "h200_headlines_boot2", STARTS / "h200_headlines_boot3"),
]


def test_two_starts_differ_in_nothing() -> None:
    answers = [compare(base, candidate, expect=0) for base, candidate in PAIRS]
    found = {
        verdict
        for answer in answers
        for part in (answer["cases"], answer["groups"])
        for verdict in (item["verdict"] for item in part)
    }
    assert not {"regressed", "improved"} & found
    assert share_undecided(answers) < 0.4
