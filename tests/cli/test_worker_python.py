"""The Python of an engine's worker: its own variable and environment come before the common ones."""

import sys
from pathlib import Path

import pytest
from project import bench, make_root, own_worker, read_cases, write_sweep

# Answers with the program that started it.
WORKER = """
import json, os, sys
sys.stdin.readline()
reason = "started by " + os.environ["STARTED_BY"]
print(json.dumps({"status": "failed", "reason": reason}), flush=True)
sys.stdin.readline()
"""


def make_python(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    script = f'#!/bin/sh\nSTARTED_BY={path.parent.parent.name} exec "{sys.executable}" "$@"\n'
    path.write_text(script, encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("has", "chosen"),
    [
        ({"variable", "venv-of-engine", "common"}, "variable"),
        ({"venv-of-engine", "common"}, ".venv-my-own"),
        ({"common"}, "common"),
    ],
    ids=["variable", "environment", "common"],
)
def test_which_python_starts_a_worker(has: set[str], chosen: str, tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    own_worker(root, WORKER, "my-own")
    environment = {"BENCH_PYTHON": make_python(tmp_path / "common" / "bin" / "python3")}
    if "venv-of-engine" in has:
        make_python(root / ".venv-my-own" / "bin" / "python3")
    if "variable" in has:
        python = make_python(tmp_path / "variable" / "bin" / "python3")
        environment["BENCH_MY_OWN_PYTHON"] = python
    mine = {"engine": "my-own", "device": ["cpu"], "variants": ["any"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [mine], axes={"batch": [1]})
    bench("run", sweep, "--out", tmp_path / "run", root=root, expect=None, **environment)
    (case,) = read_cases(tmp_path / "run").values()
    assert case["reason"] == f"started by {chosen}"


def test_a_variable_that_names_no_program_is_named(tmp_path: Path) -> None:
    mine = {"engine": "jax", "device": ["cpu"], "variants": ["jit"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [mine], axes={"batch": [1]})
    done = bench(
        "run", sweep, "--out", tmp_path / "run", expect=None, BENCH_JAX_PYTHON="/no/python"
    )
    assert "$BENCH_JAX_PYTHON is not a program (/no/python): unset it, or set it to" in done.stderr
