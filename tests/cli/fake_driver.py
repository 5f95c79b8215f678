"""A fake CUDA driver that replaces the real one, and runs with it."""

import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from project import FIXTURES, ROOT, bench, ran, read_cases, read_header, write_sweep


def cuda_sweep(folder: Path, batches: list[int]) -> Path:
    return write_sweep(
        folder / "s.json",
        "mlp_infer",
        [
            {"engine": "cuda", "variants": ["02_thread_per_sample"]},
            {"engine": "cpu", "variants": ["omp"]},
        ],
        axes={"batch": batches},
    )


@functools.cache
def compiled(sources: tuple[str, ...], flags: tuple[str, ...]) -> bytes:
    """Return a shared library, compiled once for all tests of a session."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    paths = [str(FIXTURES / "fakes" / f"{source}.c") for source in sources]
    language = ["-std=gnu11", "-D_GNU_SOURCE"]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "fake.so"
        command = [compiler, *language, "-shared", "-fPIC", *flags, "-o", str(library), *paths]
        ran(*command)
        return library.read_bytes()


def compile_fake(library: Path, sources: list[str], *flags: str) -> None:
    library.write_bytes(compiled(tuple(sources), flags))


def build_driver(folder: Path, *flags: str) -> dict[str, str]:
    """Compile the fake driver; return the environment that selects it."""
    folder.mkdir()
    sources = ["driver", "device_memory", "graph", "kernels", "rungs", "script"]
    compile_fake(folder / "libcuda.so.1", sources, *flags)
    return {"LD_LIBRARY_PATH": str(folder)}


def build_gpu(folder: Path, *flags: str) -> dict[str, str]:
    """Compile a fake GPU that computes; return the environment that selects it."""
    environment = build_driver(folder, *flags)
    compile_fake(folder / "libnvidia-ml.so.1", ["nvml", "script"])
    compile_fake(folder / "libnvrtc.so", ["nvrtc", "script"])
    return {
        **environment,
        "BENCH_NVRTC": str(folder / "libnvrtc.so"),
        "BENCH_CACHE": str(folder / "cache"),
    }


def build_cublaslt(folder: Path) -> dict[str, str]:
    """Compile a fake cuBLASLt; return the environment that selects it."""
    library = folder / "libcublasLt.so.13"
    compile_fake(library, ["cublaslt"], f"-I{ROOT}/bench", f"{ROOT}/bench/base/half.c")
    return {"BENCH_CUBLASLT": str(library)}


def run_with_driver(
    folder: Path, batches: list[int], environment: dict[str, str], expect: int
) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the sweep's cases by id, and the run's stderr."""
    run = folder / "run"
    done = bench("run", cuda_sweep(folder, batches), "--out", run, expect=expect, **environment)
    cases = read_cases(run)
    assert read_header(run)["finished"]
    for batch in batches:
        assert cases[f"mlp_infer/cpu/omp/batch={batch}"]["status"] == "ok"
    selected = {name: case for name, case in cases.items() if name.startswith("mlp_infer/cuda/")}
    assert len(selected) == len(batches)
    return selected, done.stderr
