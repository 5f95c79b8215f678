"""The program under test as a user meets it: a command line, a project's folder, a run's folder."""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
BENCH = Path(os.environ.get("BENCH", ROOT / "build" / "bench")).resolve()
# Far beyond what any command here needs: it only keeps a hanging one from hanging the tests.
TIMEOUT_S = 240
# Enough for made-up times and small batches: rounds of a few samples, no long search for precision.
QUICK_MEASURE = {
    "precision": 0.2,
    "time_limit_s": 0.3,
    "round_s": 0.002,
    "min_rounds": 2,
    "min_samples": 6,
}
# Where a sample is an epoch: the least that there is.
EPOCH_MEASURE = {**QUICK_MEASURE, "time_limit_s": 0.01, "min_rounds": 1, "min_samples": 1}
# Small batches have little for several threads, which spin where they meet on a busy machine.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def bench(
    *arguments: str | Path,
    root: Path = ROOT,
    cwd: Path | None = None,
    expect: int | None = 0,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run bench to its end; `expect` is the exit code that it must have (None: any)."""
    done = subprocess.run(
        [str(BENCH), *map(str, arguments)],
        cwd=cwd,
        text=True,
        env={**os.environ, "BENCH_ROOT": str(root), **environment},
        capture_output=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if expect is not None:
        assert done.returncode == expect, f"{done.stdout}\n{done.stderr}"
    return done


def make_root(folder: Path, *, copy: str = "") -> Path:
    """Make a project's folder of links to the real one; `copy` names a part to be written to."""
    folder.mkdir()
    for name in ("kernels", "sweeps", "plots", "reference_pytorch", ".venv"):
        if name == copy:
            shutil.copytree(ROOT / name, folder / name)
        elif (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    return folder


def make_root_without_images(factory: pytest.TempPathFactory) -> Path:
    """Make a project's folder in which only the synthetic set is found."""
    top = factory.mktemp("without") / "inside"
    top.mkdir()
    return make_root(top / "project")


def write_sweep(path: Path, workload: str, contenders: list[dict[str, Any]], **keys: Any) -> Path:
    sweep = {
        "schema": 1,
        "name": path.stem,
        "workload": workload,
        "contenders": contenders,
        "measure": QUICK_MEASURE,
        **keys,
    }
    path.write_text(json.dumps(sweep), encoding="utf-8")
    return path


def null_sweep(path: Path, variants: list[str], work_ns: list[int]) -> Path:
    return write_sweep(
        path, "null", [{"engine": "null", "variants": variants}], axes={"work_ns": work_ns}
    )


def read_lines(run: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's journal, in order."""
    text = (run / "cases.jsonl").read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def read_cases(run: Path) -> dict[str, dict[str, Any]]:
    """Return the cases of a run by id; no case may be there twice."""
    lines = read_lines(run)
    cases = {line["id"]: line for line in lines}
    assert len(cases) == len(lines), "a case was run twice"
    return cases


def read_header(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text(encoding="utf-8"))


@functools.cache
def compiler_options() -> list[str]:
    """Return the options that choose a compiler which is here."""
    done = bench("doctor", "--json", expect=None, BENCH_PYTHON="none")
    found = {item["what"]: item["found"] for item in json.loads(done.stdout)}
    for what, name in (("NVRTC", "nvrtc"), ("nvcc", "nvcc")):
        if found[what]:
            return ["--compiler", name]
    pytest.skip("neither NVRTC nor nvcc is here")
