"""`bench merge`: the header of the joined run, and refused shards."""

import json
from pathlib import Path
from typing import Any

import pytest
from project import bench, null_sweep, read_cases, read_header

EARLY, LATE = ("2026-03-02T11:00:00Z", "2026-03-02T11:30:00Z"), ("2026-03-02T11:10:00Z",) * 2


@pytest.fixture
def shards(tmp_path: Path) -> list[Path]:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000])
    folders = [tmp_path / "one", tmp_path / "two"]
    for i, folder in enumerate(folders):
        bench("run", sweep, "--shard", f"{i + 1}/2", "--out", folder)
    return folders


def change(run: Path, **keys: Any) -> None:
    header = {**read_header(run), **keys}
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")


@pytest.mark.parametrize("turned", [False, True])
def test_times_span_all_shards(shards: list[Path], tmp_path: Path, turned: bool) -> None:
    """From the first start to the last end, in any order of shards."""
    for shard, (started, finished) in zip(shards, (EARLY, LATE), strict=True):
        change(shard, started=started, finished=finished)
    named = shards[::-1] if turned else shards
    bench("merge", tmp_path / "merged", *named)
    header = read_header(tmp_path / "merged")
    assert (header["started"], header["finished"]) == EARLY
    assert len(read_cases(tmp_path / "merged")) == 2


@pytest.mark.parametrize("unfinished", [0, 1])
def test_unfinished_shards_stay_unfinished(
    shards: list[Path], tmp_path: Path, unfinished: int
) -> None:
    change(shards[unfinished], finished=None)
    bench("merge", tmp_path / "merged", *shards)
    assert read_header(tmp_path / "merged")["finished"] is None


def test_shards_draw_their_own_seeds(shards: list[Path], tmp_path: Path) -> None:
    seeds = [read_header(shard)["seed"] for shard in shards]
    assert len(set(seeds)) == len(shards)
    bench("merge", tmp_path / "merged", *shards)
    assert len(read_cases(tmp_path / "merged")) == len(shards)
