"""A CUDA driver that is put in the place of the real one, and runs against it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from project import FIXTURES, bench, read_cases, read_header, write_sweep


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


def build_driver(folder: Path, *flags: str) -> dict[str, str]:
    """Compile the fake driver; return the environment in which it is found."""
    folder.mkdir()
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler is here")
    source = FIXTURES / "fakes" / "driver.c"
    library = folder / "libcuda.so.1"
    command = [compiler, "-shared", "-fPIC", *flags, "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    return {"LD_LIBRARY_PATH": str(folder)}


def run_with_driver(
    folder: Path, batches: list[int], environment: dict[str, str], expect: int
) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the sweep's own cases by id, and what the run said."""
    run = folder / "run"
    done = bench("run", cuda_sweep(folder, batches), "--out", run, expect=expect, **environment)
    cases = read_cases(run)
    assert read_header(run)["finished"]
    for batch in batches:
        assert cases[f"mlp_infer/cpu/omp/batch={batch}"]["status"] == "ok"
    own = {name: case for name, case in cases.items() if name.startswith("mlp_infer/cuda/")}
    assert len(own) == len(batches)
    return own, done.stderr
