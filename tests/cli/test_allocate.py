"""`allocate` without a GPU: the allocators' bookkeeping, and skipped cases."""

from pathlib import Path

from project import bench, read_cases, write_sweep


def test_allocators_on_the_cpu(tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "allocate",
        [
            {"engine": "cpu", "variants": ["*"]},
            {"engine": "pytorch", "device": ["cpu"], "variants": ["caching"]},
        ],
        axes={"live": [1, 300]},
    )
    bench("run", sweep, "--time-limit", "20ms", "--out", tmp_path / "run", expect=0)
    cases = read_cases(tmp_path / "run")
    for live in (1, 300):
        for variant in ("caching", "arena"):
            case = cases[f"allocate/cpu/{variant}/live={live}"]
            assert case["status"] == "ok"
            assert not case["check"]["before"]  # no reference output, and no failure
            ns = {name: phase["median"] for name, phase in case["phases"].items()}
            assert set(ns) == {"allocate", "free", "total"}
            assert min(ns.values()) > 0
            results = case["results"]
            assert results["calls"] >= 2 * results["changes"]
            assert results["hits"] <= results["calls"]
            assert results["reserved_bytes"] >= results["peak_bytes"] > 0
            assert results.get("algorithmic", False) == (variant == "arena")
            if variant == "arena":
                assert results["driver_calls"] == 0
        skipped = cases[f"allocate/pytorch-cpu/caching/live={live}"]
        assert skipped["status"] == "skipped"
        assert "needs a GPU" in skipped["reason"] or "not installed" in skipped["reason"]


def test_no_block_at_all(tmp_path: Path) -> None:
    contenders = [{"engine": "cpu", "variants": ["arena"]}]
    sweep = write_sweep(tmp_path / "s.json", "allocate", contenders, axes={"live": [0]})
    done = bench("run", sweep, expect=2)
    assert "live" in done.stderr
    assert "0" in done.stderr
