"""Rungs that cheat: each gets the verdict in its first line (`tests/cheats/rungs/`)."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from project import QUICK_MEASURE, bench, make_root, write_sweep
from rung_cheats import CHEATS, NORMS, OPERATOR, TURNS, verdict_of
from test_gpu_faults import REASON

pytestmark = pytest.mark.gpu(REASON)

# 97 is seen only by a host that polls.
BATCHES = [1000, 8388608]
POLLING = {"alloc": ["arena"], "copy": ["mapped"], "wait": ["poll"]}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("cheats")
    root = make_root(folder / "project", copy="kernels")
    for file in CHEATS.iterdir():
        shutil.copy(file, root / "kernels" / "mlp_infer")
    variants = ["02_thread_per_sample", *sorted(file.stem for file in CHEATS.glob("*.cu"))]
    contenders = [
        {"engine": "cuda", "variants": variants},
        {
            "engine": "cuda",
            "variants": [variants[0], "97_garbage_first"],
            "techniques": POLLING,
            "axes": {"batch": BATCHES[:1]},
        },
    ]
    measure = {**QUICK_MEASURE, "time_limit_s": 0.3, "min_rounds": 6, "passes": 2}
    sweep = write_sweep(
        folder / "cheats.json", "mlp_infer", contenders, axes={"batch": BATCHES}, measure=measure
    )
    done = bench("run", sweep, "--out", folder / "run", "--json", root=root, expect=1)
    return {case["id"]: case for case in json.loads(done.stdout)}


def status_of(cases: dict[str, dict[str, Any]], variant: str) -> dict[str, str]:
    return {key: case["status"] for key, case in cases.items() if case["variant"] == variant}


def test_the_honest_rung_is_right(cases: dict[str, dict[str, Any]]) -> None:
    assert set(status_of(cases, "02_thread_per_sample").values()) == {"ok"}


@pytest.mark.parametrize("file", sorted(CHEATS.glob("*.cu")), ids=lambda file: file.stem)
def test_verdict(file: Path, cases: dict[str, dict[str, Any]]) -> None:
    found = status_of(cases, file.stem)
    assert verdict_of(file) in found.values(), found
    # Where a trick gains nothing, it may pass.
    assert set(found.values()) <= {verdict_of(file), "ok"}


def run_operator(
    run: Path, *options: str, operator: Path = OPERATOR, expect: int | None = 1
) -> dict[str, dict[str, Any]]:
    """Return the cases by variant: large enough that a launch is much shorter than the work."""
    sizes = ("--set", "rows=5000", "--set", "cols=1024") if operator != TURNS else ()
    measure = ("--passes", "2", "--time-limit", "300ms", "--out", run)
    done = bench("run", "--workload", operator, *options, *sizes, *measure, "--json", expect=expect)
    return {case["variant"]: case for case in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def rungs_of_an_operator(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("operator")
    return {
        variant: case
        for operator in (OPERATOR, NORMS)
        for variant, case in run_operator(
            folder / operator.name, "--engine", "cuda", operator=operator
        ).items()
    }


@pytest.mark.parametrize(
    "file",
    [*sorted(OPERATOR.glob("*.cu")), *sorted(NORMS.glob("*.cu"))],
    ids=lambda file: file.stem,
)
def test_verdict_of_an_operators_rung(
    file: Path, rungs_of_an_operator: dict[str, dict[str, Any]]
) -> None:
    case = rungs_of_an_operator[file.stem]
    assert case["status"] == verdict_of(file), case["reason"]


def test_a_captured_file_that_remembers_its_output(tmp_path: Path) -> None:
    options = ("--engine", "python", "--variant", "output_is_there", "--set", "device=cuda")
    case = run_operator(tmp_path / "run", *options)["output_is_there"]
    assert case["status"] == "implausible", case["reason"]
    assert any("forward_graph is slower on new inputs" in flag for flag in case["flags"])


def test_a_file_that_moves_the_start_of_its_samples(tmp_path: Path) -> None:
    options = ("--engine", "python", "--variant", "honest,moved_start", "--set", "device=cuda")
    cases = run_operator(tmp_path / "run", *options, expect=None)  # samples may tell, too
    assert cases["honest"]["trust"] == "audited"  # mood: on a GPU of its own
    assert cases["moved_start"]["trust"] == "self-reported"


def test_host_code_that_moves_the_clock(tmp_path: Path) -> None:
    options = ("--engine", "cuda", "--set", "launch=stream")
    cases = run_operator(tmp_path / "run", *options, operator=TURNS, expect=None)
    for file in TURNS.glob("*.cu"):
        assert cases[file.stem]["trust"] == verdict_of(file), cases[file.stem]["flags"]


def test_sums_over_the_points_must_be_declared(tmp_path: Path) -> None:
    """200 epochs in the time of one: rung 07 of linreg_train, once more without its mark."""
    root = make_root(tmp_path / "project", copy="kernels")
    folder = root / "kernels" / "linreg_train"
    rung = (folder / "07_sufficient_statistics.cu").read_text(encoding="utf-8")
    assert rung.count("ALGORITHMIC;\n") == 1
    undeclared = rung.replace("ALGORITHMIC;\n", "")
    (folder / "99_undeclared.cu").write_text(undeclared, encoding="utf-8")
    variants = ["07_sufficient_statistics", "08_lean_epochs", "99_undeclared"]
    sweep = write_sweep(
        tmp_path / "sums.json",
        "linreg_train",
        [{"engine": "cuda", "variants": variants}],
        axes={"points": [5000000]},
        measure={**QUICK_MEASURE, "time_limit_s": 0.3},
    )
    done = bench("run", sweep, "--out", tmp_path / "run", "--json", root=root, expect=1)
    statuses = {case["variant"]: case["status"] for case in json.loads(done.stdout)}
    assert [statuses[variant] for variant in variants] == ["ok", "ok", "implausible"]
