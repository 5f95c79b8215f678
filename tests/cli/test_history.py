"""`bench history`: planted changes are shown, with the runs that may not be compared."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from make_pair import Run
from project import bench

STEP = "mlp_infer/cuda/03_vectorized/batch=4"
CREEP = "mlp_infer/cpu/omp/batch=4"
QUIET = "mlp_infer/cuda/01_study/batch=2"
N_RUNS = 16
STEP_AT = 10


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Sixteen runs: one case steps by 8 %, one drifts by 1.5 % per run, one is sometimes missing."""
    folder = tmp_path_factory.mktemp("history")
    rng = random.Random(5)
    base = Run(folder / "base")
    base.cases = {name: base.cases[name] for name in (STEP, CREEP, QUIET)}
    made = []
    for i in range(N_RUNS):
        run = base.copy_to(folder / f"2026-03-{i + 1:02}")
        run.noise(100 + i)
        for name in run.cases:
            planted = {STEP: 1.08 if i >= STEP_AT else 1, CREEP: 1.015**i}.get(name, 1)
            run.scale(name, planted * (1 + rng.gauss(0, 0.004)))
        if i in (3, 7):
            del run.cases[QUIET]
        if i == STEP_AT - 1:
            del run.cases[STEP]
        made.append(run.write())
    return made


def history(runs: list[Path], *options: str | Path) -> dict[str, Any]:
    return json.loads(bench("history", *runs, "--json", *options).stdout)


def series_of(answer: dict[str, Any], case: str, phase: str) -> dict[str, Any]:
    (found,) = [one for one in answer["series"] if (one["id"], one["phase"]) == (case, phase)]
    return found


def test_changes_are_shown(runs: list[Path]) -> None:
    table = bench("history", *runs).stdout
    rows = {tuple(line.split()[:2]): line.split() for line in table.splitlines() if "/" in line}
    assert set(rows) == {(case, phase) for case, phase in rows if case in (STEP, CREEP)}
    assert 7 < float(rows[STEP, "kernel_graph"][-2]) < 9
    assert float(rows[CREEP, "host_to_host"][-2]) > 15
    assert f"{N_RUNS} runs, " in table
    assert "changed by at least 2 %" in table
    assert QUIET in bench("history", *runs, "--all").stdout


def test_points_have_the_interval_over_passes(runs: list[Path]) -> None:
    quiet = series_of(history(runs), QUIET, "host_to_host")
    assert quiet["ci95_ns"][3] == [None, None]
    timed = [i for i, value in enumerate(quiet["median_ns"]) if value is not None]
    for i in timed:
        low, high = quiet["ci95_ns"][i]
        assert low < quiet["median_ns"][i] < high < 1.02 * low


def test_a_run_without_the_case_is_a_gap(runs: list[Path]) -> None:
    quiet = series_of(history(runs), QUIET, "host_to_host")
    assert [i for i, value in enumerate(quiet["median_ns"]) if value is None] == [3, 7]


def test_small_changes_are_not_shown(runs: list[Path]) -> None:
    table = bench("history", *runs, "--least", "10%", "--case", STEP).stdout
    assert STEP not in table
    assert ", 0 changed by at least 10 %" in table


def test_mistakes_are_reported(runs: list[Path], tmp_path: Path) -> None:
    assert "at least two runs" in bench("history", runs[0], expect=2).stderr
    unknown = bench("history", *runs, "--case", "x", expect=2)
    assert "--case x: no run has that case\n" in unknown.stderr
    near = bench("history", *runs, "--case", f"{STEP}x", expect=2).stderr
    assert near == f'bench: --case {STEP}x: no run has that case; did you mean "{STEP}"?\n'
    assert (
        "--phase no: no case of these runs"
        in bench("history", *runs, "--phase", "no", expect=2).stderr
    )
    header = json.loads((runs[1] / "run.json").read_text(encoding="utf-8"))
    header["environment"]["gpu"]["name"] = "NVIDIA H100"
    other = tmp_path / "other"
    other.mkdir()
    (other / "run.json").write_text(json.dumps(header), encoding="utf-8")
    lines = (runs[1] / "cases.jsonl").read_bytes()
    (other / "cases.jsonl").write_bytes(lines.replace(b"NVIDIA H200", b"NVIDIA H100"))
    assert "--allow gpu" in bench("history", runs[0], other, expect=3).stderr
    bench("history", runs[0], other, "--allow", "gpu")
