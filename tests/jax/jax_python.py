"""The Python that runs JAX's worker, and programs in it."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKER = ROOT / "reference_jax" / "worker.py"
TIMEOUT_S = 300


@cache
def python() -> str:
    found = subprocess.run(
        [str(ROOT / "tests" / "tools" / "python.sh"), "jax"],
        capture_output=True,
        text=True,
        check=True,
    )
    return found.stdout.strip()


@cache
def _has_jax() -> bool:
    program = "import importlib.util, sys; sys.exit(importlib.util.find_spec('jax') is None)"
    # In another folder: this one is tests/jax.
    return subprocess.run([python(), "-c", program], cwd="/", check=False).returncode == 0


def needs_jax() -> Any:
    reason = "JAX is not installed: tests/tools/setup.sh check installs it into .venv-jax"
    return pytest.mark.skipif(not _has_jax(), reason=reason)


def run_program(path: Path, *arguments: str) -> Any:
    """Run a Python program with JAX and return what it prints as JSON."""
    done = subprocess.run(
        [python(), str(path), *arguments],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ask_worker(*requests: dict[str, Any], device: str = "cpu") -> list[dict[str, Any]]:
    """Return a worker's answers to hello and these requests."""
    lines = [json.dumps(request) for request in ({"op": "hello", "protocol": 2}, *requests)]
    done = subprocess.run(
        [python(), str(WORKER), "--device", device],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def open_request(workload: str, variant: str, params: dict[str, Any], **case: Any) -> Any:
    spec = {
        "id": "c",
        "workload": workload,
        "engine": "jax",
        "device": "cpu",
        "variant": variant,
        "dtype": "f32",
        "params": params,
        **case,
    }
    return {"op": "open", "case": spec, "seed": 42}
