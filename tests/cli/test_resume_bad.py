"""The exit code of a resumed run covers all its cases; bad ones are not measured again."""

from pathlib import Path

import pytest
from project import bench, null_sweep, read_lines


@pytest.mark.parametrize("variant", ["wrong", "crash"])
def test_bad_cases_from_before_still_count(variant: str, tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", [variant, "steady"], [1000]), tmp_path / "run"
    command = ("run", sweep, "--passes", "2", "--out", run)
    printed = bench(*command, expect=1).stderr
    assert "1 of 2 cases were wrong or failed" in printed
    before = read_lines(run)
    assert sorted(line["pass"] for line in before) == [1, 1, 2]
    again = bench(*command, "--resume", expect=1).stderr
    assert "1 of 2 cases were wrong or failed" in again
    assert read_lines(run) == before
