"""Shards: what run.json records, and what `--resume` refuses."""

from pathlib import Path

import pytest
from fake_driver import build_gpu, cuda_sweep
from project import bench, null_sweep, read_cases, read_header, read_passes, write_sweep


def test_equal_groups_are_dealt_to_and_fro(tmp_path: Path) -> None:
    """Sizes ascend in sweeps: no shard gets the larger of every two."""
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000, 3000, 4000])
    bench("run", sweep, "--out", tmp_path / "run", "--shard", "2/2")
    sizes = {name.split("work_ns=")[1] for name in read_cases(tmp_path / "run")}
    assert sizes == {"2000", "3000"}


def test_a_group_with_more_cases_weighs_more(tmp_path: Path) -> None:
    """Two shards take about as long: three cases of one size here, three small groups there."""
    many = null_sweep(tmp_path / "many.json", ["steady", "noisy", "drifting"], [1000])
    few = null_sweep(tmp_path / "few.json", ["steady"], [2000, 3000, 4000])
    bench("run", many, few, "--out", tmp_path / "run", "--shard", "1/2")
    sizes = [name.split("work_ns=")[1] for name in read_cases(tmp_path / "run")]
    assert sizes == ["1000"] * 3


def test_a_group_with_more_memory_weighs_more(tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cpu", "variants": ["omp"]}],
        axes={"batch": [1, 2, 3, 8000000]},
    )
    bench("run", sweep, "--out", tmp_path / "run", "--shard", "1/2", "--quick")
    assert set(read_cases(tmp_path / "run")) == {"mlp_infer/cpu/omp/batch=8000000"}


def test_memory_that_is_only_allocated_weighs_nothing(tmp_path: Path) -> None:
    """No shard has the most blocks of `allocate` alone, and the other everything else."""
    contenders = [{"engine": "cpu", "variants": ["arena"]}]
    axes = {"live": [1, 100, 10000]}
    sweep = write_sweep(tmp_path / "s.json", "allocate", contenders, axes=axes)
    bench("run", sweep, "--out", tmp_path / "run", "--shard", "1/2", "--quick")
    assert set(read_cases(tmp_path / "run")) == {"allocate/cpu/arena/live=1"}


def test_a_script_weighs_more_than_built_in_cases(tmp_path: Path) -> None:
    """It opens its cases slowly: two shards take about as long."""
    contenders = [
        {"engine": "cpu", "variants": ["omp"]},
        {
            "engine": "pytorch",
            "device": ["cpu"],
            "variants": ["eager", "inference"],
            "axes": {"batch": [2]},
        },
    ]
    axes = {"batch": [1, 2, 3, 4, 5, 6]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", contenders, axes=axes)
    bench("run", sweep, "--out", tmp_path / "run", "--shard", "2/2", "--quick")
    batches = {name.split("batch=")[1] for name in read_cases(tmp_path / "run")}
    assert batches == {"1", "3", "4", "5", "6"}


@pytest.mark.parametrize(
    ("before", "now"),
    [("1/2", "1/2"), ("1/2", "2/2"), ("1/2", "1/3"), ("1/2", None), (None, "1/2")],
)
def test_another_shard_is_not_resumed(tmp_path: Path, before: str | None, now: str | None) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000]), tmp_path / "run"

    def options(shard: str | None) -> list[str]:
        return ["--shard", shard] if shard is not None else []

    bench("run", sweep, "--out", run, *options(before))
    assert read_header(run).get("shard") == before
    kept = (run / "cases.jsonl").read_bytes(), (run / "run.json").read_bytes()
    command = ("run", sweep, "--out", run, "--resume", *options(now))
    done = bench(*command, expect=0 if now == before else 3)
    if now == before:
        assert read_header(run).get("shard") == before
        return
    found, expected = now or "all cases", before or "all cases"
    assert done.stderr == (
        f"bench: {run} cannot be resumed: shard: found {found}, expected {expected}: "
        "give the same --shard, or choose another --out\n"
    )
    assert kept == ((run / "cases.jsonl").read_bytes(), (run / "run.json").read_bytes())


def test_shards_calibrate_each(tmp_path: Path) -> None:
    """Every shard measures the device. A pass of the merged run has the first shard's calibration."""
    gpu = build_gpu(tmp_path / "gpu")
    sweep = cuda_sweep(tmp_path, [1, 2])
    shards = [tmp_path / "1", tmp_path / "2"]
    for i, shard in enumerate(shards, start=1):
        bench("run", sweep, "--out", shard, "--passes", "2", "--shard", f"{i}/2", **gpu)
    first, second = (read_passes(shard) for shard in shards)
    assert any(name.startswith("device/cuda/copy/") for name, _ in set(first) & set(second))
    assert bench("merge", tmp_path / "merged", *shards).stderr == ""
    assert read_passes(tmp_path / "merged") == {**second, **first}
