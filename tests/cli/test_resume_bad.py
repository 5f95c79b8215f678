"""The exit code of a resumed run covers all its cases, also those measured before."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import bench, null_sweep, read_lines


@pytest.mark.parametrize("variant", ["wrong", "crash"])
def test_bad_cases_from_before_still_count(variant: str, tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", [variant, "steady"], [1000]), tmp_path / "run"
    printed = bench("run", sweep, "--out", run, expect=1).stderr
    assert "1 of 2 cases were wrong or failed" in printed
    before = read_lines(run)
    again = bench("run", sweep, "--out", run, "--resume", expect=1).stderr
    assert "1 of 2 cases were wrong or failed" in again
    assert read_lines(run) == before
