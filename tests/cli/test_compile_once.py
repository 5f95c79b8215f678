"""A run reports compile times only for programs that it compiled, not for cached ones."""

from pathlib import Path
from typing import Any

from fake_driver import build_gpu, cuda_sweep
from project import bench, read_cases

CASE = "mlp_infer/cuda/02_thread_per_sample/batch=64"


def test_cached_programs_took_no_time(tmp_path: Path) -> None:
    gpu, sweep = build_gpu(tmp_path / "gpu"), cuda_sweep(tmp_path, [64])
    cases: list[dict[str, Any]] = []
    for name in ("first", "second"):
        bench("run", sweep, "--out", tmp_path / name, **gpu)
        cases.append(read_cases(tmp_path / name)[CASE])
    assert cases[0]["once_ns"]["compile"] > 0
    assert "compile" not in cases[1]["once_ns"]
    assert cases[0]["resources"] == cases[1]["resources"]
