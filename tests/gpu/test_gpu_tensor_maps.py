"""Tensor maps on a real GPU: a transpose by TMA, and a rung that goes by its map."""

import json
from pathlib import Path
from typing import Any

import pytest
from project import bench
from test_gpu_faults import REASON
from transposes import copy_transpose

pytestmark = pytest.mark.gpu(REASON)

NEEDS = "needs TMA (sm_90)"
MEASURE = ("--passes", "2", "--time-limit", "300ms")
SIZES = ("--set", "rows=1000,4096", "--set", "cols=1032,4096", "--set", "dtype=f32,f16")


def run(folder: Path, *options: str, expect: int) -> list[dict[str, Any]]:
    command = ["run", "--workload", folder, "--engine", "cuda", *options, *MEASURE]
    done = bench(*command, "--out", folder.parent / "run", "--json", expect=expect)
    cases = json.loads(done.stdout)
    if any(case["reason"] == NEEDS for case in cases):
        pytest.skip(NEEDS)
    return cases


@pytest.mark.parametrize(
    "ways",
    [
        ("alloc=arena,malloc,async", "copy=pinned,pageable", "launch=stream"),
        ("alloc=arena", "copy=pinned", "launch=graph"),
        ("alloc=arena", "copy=mapped", "launch=stream,graph"),
    ],
    ids=["allocators", "graph", "mapped"],
)
def test_it_is_right_wherever_the_arrays_are(tmp_path: Path, ways: tuple[str, ...]) -> None:
    """A map of the last sample's memory would read what is there now, or nothing."""
    folder = copy_transpose(tmp_path / "transpose")
    sets = [word for way in ways for word in ("--set", way)]
    cases = run(folder, "--variant", "01_tma", *SIZES, *sets, expect=0)
    assert {case["id"]: case["reason"] for case in cases if case["status"] != "ok"} == {}
    assert len(cases) >= 8


def test_sizes_without_a_map_are_skipped(tmp_path: Path) -> None:
    folder = copy_transpose(tmp_path / "transpose")
    sizes = ("--set", "rows=1000", "--set", "cols=1001,1002,1004")
    cases = run(folder, "--variant", "01_tma", *sizes, "--set", "launch=stream", expect=0)
    found = {
        case["params"]["cols"]: case["status"] for case in cases if case["variant"] == "01_tma"
    }
    assert found == {1001: "skipped", 1002: "skipped", 1004: "ok"}


def test_the_same_map_is_not_the_same_input(tmp_path: Path) -> None:
    folder = copy_transpose(tmp_path / "transpose")
    sizes = ("--set", "rows=4096", "--set", "cols=4096", "--set", "launch=stream")
    cases = {case["variant"]: case for case in run(folder, *sizes, expect=1)}
    assert cases["01_tma"]["status"] == "ok", cases["01_tma"]["reason"]
    assert cases["90_same_map"]["status"] in {"wrong", "implausible"}
