"""A run that is gone on with ends as badly as the worst of its cases, whenever that was measured."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import bench, null_sweep, read_lines


@pytest.mark.parametrize("variant", ["wrong", "crash"])
def test_what_was_bad_before_is_bad_still(variant: str, tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", [variant, "steady"], [1000]), tmp_path / "run"
    said = bench("run", sweep, "--out", run, expect=1).stderr
    assert "1 of 2 cases were wrong or failed" in said
    before = read_lines(run)
    again = bench("run", sweep, "--out", run, "--resume", expect=1).stderr
    assert "1 of 2 cases were wrong or failed" in again
    assert read_lines(run) == before
