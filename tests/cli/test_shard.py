"""Shards: `--shard auto`."""

from __future__ import annotations

from pathlib import Path

import pytest
from project import bench, null_sweep, read_cases

ARRAY = {
    "SLURM_ARRAY_TASK_ID": "5",
    "SLURM_ARRAY_TASK_MIN": "4",
    "SLURM_ARRAY_TASK_MAX": "5",
    "SLURM_ARRAY_TASK_COUNT": "2",
    "SLURM_ARRAY_TASK_STEP": "1",
}


@pytest.mark.parametrize(
    ("environment", "option", "variable"),
    [
        (ARRAY, "auto", "SLURM_ARRAY_TASK_ID"),
        ({"JOB_COMPLETION_INDEX": "1"}, "auto/2", "JOB_COMPLETION_INDEX"),
    ],
)
def test_auto_measures_that_shard(
    tmp_path: Path, environment: dict[str, str], option: str, variable: str
) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "noisy"], [1000, 2000, 3000])
    bench("run", sweep, "--out", tmp_path / "named", "--shard", "2/2")
    done = bench("run", sweep, "--out", tmp_path / "auto", "--shard", option, **environment)
    assert f"shard 2/2, from {variable}\n" in done.stderr
    assert set(read_cases(tmp_path / "auto")) == set(read_cases(tmp_path / "named"))


def test_quiet_does_not_tell_the_shard(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    command = ("run", sweep, "--out", tmp_path / "run", "--shard", "auto", "--quiet")
    assert bench(*command, **ARRAY).stderr == ""


def test_wrong_environment_is_refused(tmp_path: Path) -> None:
    command = ("run", "--workload", "null", "--out", tmp_path / "run", "--shard", "auto/3")
    done = bench(*command, expect=2, **ARRAY)
    assert done.stderr == "bench: --shard auto/3: SLURM_ARRAY_TASK_COUNT is 2, expected 3\n"
    assert not (tmp_path / "run").exists()
