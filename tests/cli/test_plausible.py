"""Implausible numbers are flagged in the journal and on the screen."""

import sys
from pathlib import Path

import pytest
from project import FIXTURES, bench, make_root, read_cases, write_sweep

MINE = (FIXTURES / "workers" / "mine.py").read_text(encoding="utf-8")
CASE = "mlp_infer/mine-cpu/plain/batch=4"
FLAG = "implausible: the total is less than the sum of its phases"


def with_residual(residual_ns: int) -> str:
    """Return a worker with the phase `residual`."""
    worker = MINE.replace('("forward", "total",', '("forward", "residual", "total",').replace(
        '{"forward": times,', f'{{"forward": times, "residual": [{residual_ns}] * len(times),'
    )
    assert worker.count("residual") == 2
    return worker


@pytest.mark.parametrize(("residual_ns", "flags"), [(50, []), (-50, [FLAG])])
def test_total_under_the_sum_of_its_phases(
    residual_ns: int, flags: list[str], tmp_path: Path
) -> None:
    root = make_root(tmp_path / "project")
    (root / "reference_mine").mkdir()
    worker = root / "reference_mine" / "worker.py"
    worker.write_text(with_residual(residual_ns), encoding="utf-8")
    mine = {"engine": "mine", "variants": ["plain"], "device": ["cpu"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [mine], axes={"batch": [4]})
    run = tmp_path / "run"
    done = bench("run", sweep, "--out", run, root=root, BENCH_PYTHON=sys.executable)
    case = read_cases(run)[CASE]
    assert (case["status"], case["flags"]) == ("ok", flags)
    assert (f"warning      {FLAG}" in done.stdout) == bool(flags)
