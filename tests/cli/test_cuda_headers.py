"""CUDA's headers, which NVRTC's wheel lacks: where bench searches, and their effect on the cache."""

import json
from pathlib import Path

import pytest
from fake_driver import compile_fake
from project import bench, write_sweep

# A workload whose programs include them, and one without.
VARIANTS = {"mnist_train": "03_tensor_cores", "null": "01_empty"}


@pytest.fixture(params=["nvidia/cu13", "nvidia/cuda_nvrtc"])
def wheels(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[dict[str, str], Path]:
    """Make a folder of wheels with NVRTC and headers, in both layouts of NVIDIA's wheels."""
    library = tmp_path / request.param / "lib" / "libnvrtc.so"
    headers = tmp_path / request.param.replace("nvrtc", "runtime") / "include"
    library.parent.mkdir(parents=True)
    headers.mkdir(parents=True)
    compile_fake(library, ["nvrtc", "script"])
    (headers / "cuda_fp16.h").write_text("/* one */\n", encoding="utf-8")
    return {"BENCH_NVRTC": str(library), "BENCH_CACHE": str(tmp_path / "cache")}, headers


def compiled(environment: dict[str, str], folder: Path, workload: str) -> bool:
    """Return whether the workload's program was compiled, not cached."""
    cuda = {"engine": "cuda", "variants": [VARIANTS[workload]]}
    sweep = write_sweep(folder / f"{workload}.json", workload, [cuda])
    done = bench("compile", sweep, "--arch", "sm_90", "--json", **environment)
    programs = json.loads(done.stdout)["programs"]
    assert programs
    cached = {program["cached"] for program in programs}
    assert len(cached) == 1
    return not cached.pop()


def test_headers_of_wheels_are_found(wheels: tuple[dict[str, str], Path]) -> None:
    environment, headers = wheels
    done = bench("doctor", "--json", BENCH_JAX_PYTHON="none", **environment)
    found = {item["what"]: item for item in json.loads(done.stdout)}
    assert found["CUDA headers"]["found"]
    assert found["CUDA headers"]["detail"] == str(headers)
    assert "nvidia-cuda-runtime" in found["CUDA headers"]["install"]


def test_other_headers_in_the_same_place_make_other_programs(
    wheels: tuple[dict[str, str], Path], tmp_path: Path
) -> None:
    environment, headers = wheels
    for workload in VARIANTS:
        assert compiled(environment, tmp_path, workload)
        assert not compiled(environment, tmp_path, workload)
    (headers / "cuda_fp16.h").write_text("/* two */\n", encoding="utf-8")
    assert compiled(environment, tmp_path, "mnist_train")
    assert not compiled(environment, tmp_path, "null"), "a program without them is the same"
