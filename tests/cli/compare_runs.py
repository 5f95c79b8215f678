"""Pairs of runs for the tests of `bench compare`."""

import json
from pathlib import Path
from typing import Any

from make_pair import Run
from project import bench

CUDA = "mlp_infer/cuda/03_vectorized/batch=4"
CPU = "mlp_infer/cpu/omp/batch=4"
OTHER = "mlp_infer/cuda/01_study/batch=2"
TORCH = "mlp_infer/pytorch-cuda/eager/batch=2"


def rerun(base: Run, name: str = "candidate", seed: int = 2) -> Run:
    """Return another run of the same build: only the noise differs."""
    other = base.copy_to(base.folder.parent / name)
    other.noise(seed)
    return other


def compare(base: Run, candidate: Run, *options: str | Path, expect: int = 0) -> dict[str, Any]:
    candidate.write()
    done = bench("compare", base.folder, candidate.folder, "--json", *options, expect=expect)
    return json.loads(done.stdout)


def refused(base: Run, candidate: Run, *options: str | Path, expect: int = 3) -> str:
    candidate.write()
    done = bench("compare", base.folder, candidate.folder, *options, expect=expect)
    assert done.stdout == ""
    return done.stderr


def case_of(answer: dict[str, Any], case_id: str) -> dict[str, Any]:
    (found,) = [case for case in answer["cases"] if case["id"] == case_id]
    return found


def verdicts(answer: dict[str, Any]) -> dict[str, int]:
    return {name: count for name, count in answer["counts"].items() if count}
