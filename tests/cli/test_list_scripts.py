"""`bench list variants` with contenders of the user's own: it asks their workers."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from project import FIXTURES, bench, make_root

MINE = [
    "mlp_infer    mine-cpu plain",
    "mlp_infer    mine-cpu wrong",
    "mlp_infer    mine-cpu breaks",
    "–            mine-cuda plain Python runs on the CPU only",
]


def listed(root: Path) -> list[str]:
    """Return the lines that only this project has."""
    known = bench("list", "variants").stdout.splitlines()
    found = bench("list", "variants", root=root, BENCH_PYTHON=sys.executable).stdout.splitlines()
    return [line for line in found if line not in known]


def test_contender_is_listed_with_device_and_workload(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    (root / "reference_mine").mkdir()
    shutil.copy(FIXTURES / "workers" / "mine.py", root / "reference_mine" / "worker.py")
    (root / "reference_empty").mkdir()
    assert listed(root) == MINE


def test_workers_of_the_project_are_not_started() -> None:
    """Their variants are known; asking PyTorch would take seconds."""
    assert "pytorch-" not in bench("list", "variants", BENCH_PYTHON="/no/such/python").stdout


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import no_such_module", "died (exit code 1); stderr: "),
        ("print('Loading: 100 %', flush=True); input()", 'printed "Loading: 100 %"'),
        ("import json; input(); print(json.dumps({'status': 'ok'}))", 'no "capabilities"'),
    ],
)
def test_contender_that_does_not_start_is_listed_with_the_reason(
    script: str, reason: str, tmp_path: Path
) -> None:
    root = make_root(tmp_path / "project")
    (root / "reference_mine").mkdir()
    (root / "reference_mine" / "worker.py").write_text(script, encoding="utf-8")
    for line, device in zip(listed(root), ("cpu", "cuda"), strict=True):
        assert line.startswith(f"–            mine-{device}")
        assert reason in line
