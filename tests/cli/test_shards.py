"""Shards: what each has of the cases, and that `bench merge` joins what they measured."""

from pathlib import Path

import pytest
from project import (
    QUICK_MEASURE,
    bench,
    null_sweep,
    read_cases,
    read_header,
    read_passes,
    write_sweep,
)

ROUNDS = {**QUICK_MEASURE, "time_limit_s": 0.05}


def cpu_sweep(path: Path, variants: list[str], batches: list[int]) -> Path:
    contender = {"engine": "cpu", "variants": variants}
    return write_sweep(path, "mlp_infer", [contender], axes={"batch": batches}, measure=ROUNDS)


def measure_shards(folder: Path, *sweeps: Path, n: int = 2) -> list[Path]:
    shards = [folder / str(i + 1) for i in range(n)]
    for i, shard in enumerate(shards):
        options = ("--shard", f"{i + 1}/{n}", "--out", shard, "--quiet")
        bench("run", *sweeps, *options)
    return shards


def test_two_sweeps_with_cases_and_groups_in_common(tmp_path: Path) -> None:
    """A case is in one shard, and so are its rivals in the other sweep."""
    ref = cpu_sweep(tmp_path / "ref.json", ["ref"], [1, 2, 3])
    both = cpu_sweep(tmp_path / "both.json", ["ref", "omp"], [2, 4, 3])
    shards = measure_shards(tmp_path, ref, both)
    found = [set(read_cases(shard)) for shard in shards]
    batches = [{name.split("batch=")[1] for name in cases} for cases in found]
    assert batches == [{"1", "4"}, {"2", "3"}]
    bench("merge", tmp_path / "merged", *shards)
    bench("run", ref, both, "--out", tmp_path / "whole", "--quiet")
    assert found[0] | found[1] == set(read_cases(tmp_path / "merged"))
    assert found[0] | found[1] == set(read_cases(tmp_path / "whole"))


@pytest.mark.parametrize("order", [1, -1])
def test_more_shards_than_groups(tmp_path: Path, order: int) -> None:
    """A shard without a case is a complete run."""
    sweep = cpu_sweep(tmp_path / "s.json", ["ref"], [1, 2])
    shards = measure_shards(tmp_path, sweep, n=3)
    assert read_header(shards[2])["finished"]
    bench("merge", tmp_path / "merged", *shards[::order])
    assert len(read_cases(tmp_path / "merged")) == 2
    assert read_header(tmp_path / "merged")["finished"]


def test_a_merged_run_has_the_order_of_its_sweeps(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [3000, 1000, 4000, 2000, 5000])
    shards = [tmp_path / str(number) for number in (3, 1, 2)]
    for shard in shards:
        bench("run", sweep, "--passes", "2", "--shard", f"{shard.name}/3", "--out", shard)
    bench("merge", tmp_path / "merged", *shards)
    merged = read_passes(tmp_path / "merged")
    planned = [f"null/null/steady/work_ns={work}" for work in (3000, 1000, 4000, 2000, 5000)]
    assert list(merged) == [(case, number) for case in planned for number in (1, 2)]


@pytest.mark.parametrize("option", [["--shard", "1/1"], ["--shard=1/1"]])
def test_the_command_of_a_merged_run_is_that_of_all_shards(
    option: list[str], tmp_path: Path
) -> None:
    sweep = cpu_sweep(tmp_path / "s.json", ["ref"], [1])
    bench("run", sweep, *option, "--out", tmp_path / "1", "--quiet")
    bench("merge", tmp_path / "merged", tmp_path / "1")
    argv = read_header(tmp_path / "merged")["argv"]
    assert argv[1:] == ["run", str(sweep), "--out", str(tmp_path / "1"), "--quiet"]
