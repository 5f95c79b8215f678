"""`bench compare`: runs and cases that cannot be compared."""

from pathlib import Path
from typing import Any

import pytest
from compare_runs import (
    CUDA,
    OTHER,
    Run,
    case_of,
    compare,
    refused,
    rerun,
    verdicts,
)
from project import bench


@pytest.fixture
def base(tmp_path: Path) -> Run:
    run = Run(tmp_path / "base")
    run.write()
    return run


@pytest.mark.parametrize(
    ("part", "key", "value", "name"),
    [
        ("gpu", "name", "NVIDIA H100", "gpu"),
        ("gpu", "driver", "590.1", "driver"),
        ("gpu", "mig", True, "mig"),
        ("gpu", "ecc", False, "ecc"),
        ("host", "cpu", "Another CPU", "cpu"),
    ],
)
def test_other_machines_are_refused(base: Run, part: str, key: str, value: Any, name: str) -> None:
    candidate = rerun(base)
    candidate.environment[part][key] = value
    message = refused(base, candidate)
    assert f"{name}: " in message
    assert f"To compare them anyway: --allow {name}" in message
    answer = compare(base, candidate, "--allow", name)
    assert len(answer["allowed"]) == 1
    assert answer["allowed"][0].startswith(f"{name}: ")


def test_other_modes_schemas_and_engines_are_refused(base: Run) -> None:
    cold = rerun(base, "cold")
    cold.environment["measure"] = {"mode": "cold"}
    assert "mode: steady in BASE, cold in CANDIDATE" in refused(base, cold)
    later = rerun(base, "later")
    later.header["schema"] = 3
    assert "schema 3, expected 1 to 2" in refused(base, later)
    earlier = rerun(base, "earlier")
    earlier.header["schema"] = earlier.passes = 1
    assert "schema 2 (one pass) in one, 1 in the other" in refused(base, earlier)
    engine = rerun(base, "engine")
    engine.cases = {
        name: dict(case, id=name.replace("/cpu/", "/null/"), engine="null")
        for name, case in engine.cases.items()
        if case["engine"] == "cpu"
    }
    assert "no engine is in both (cuda in BASE, null in CANDIDATE)" in refused(base, engine)


def test_a_different_case_with_the_same_id_is_not_compared(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CUDA, 2)["dtype"] = "f16"
    candidate.scale(OTHER, 2)["params"]["layers"] = [4, 6, 1]
    answer = compare(base, candidate)
    assert case_of(answer, CUDA)["reason"] == "different dtype under the same id (--allow dtype)"
    assert case_of(answer, OTHER)["reason"].startswith("different set of params")
    allowed = compare(base, candidate, "--allow", "dtype", "--allow", "params", expect=1)
    assert verdicts(allowed)["regressed"] == 2


def test_throttled_and_twice_broken_cases_are_not_compared(base: Run) -> None:
    candidate = rerun(base)
    candidate.cases[CUDA]["status"] = "throttled"
    for run in (base, candidate):
        run.cases[OTHER].update(status="failed", reason="crashed")
    base.write()
    answer = compare(base, candidate)
    assert case_of(answer, CUDA)["verdict"] == "not comparable"
    assert case_of(answer, OTHER)["reason"].startswith("failed in CANDIDATE, and broken in BASE")


def test_mistakes_are_reported(base: Run) -> None:
    candidate = rerun(base)
    assert 'did you mean "driver"?' in refused(base, candidate, "--allow", "drivr", expect=2)
    assert "--threshold" in refused(base, candidate, "--threshold", "much", expect=2)
    assert "two run folders" in bench("compare", base.folder, expect=2).stderr
    missing = bench("compare", base.folder, base.folder / "nowhere", expect=2)
    assert "nowhere/run.json" in missing.stderr
