"""The Python that runs JAX's worker, and programs in it."""

import json
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from project import ran

ROOT = Path(__file__).resolve().parents[2]
WORKER = ROOT / "reference_jax" / "worker.py"
TIMEOUT_S = 300


@cache
def python() -> str:
    found = ran(ROOT / "tests" / "tools" / "python.sh", "jax")
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
    done = ran(python(), path, *arguments)
    return json.loads(done.stdout)


class Worker:
    """A worker after hello; each takes seconds to import JAX."""

    def __init__(self, device: str = "cpu") -> None:
        self._process = subprocess.Popen(
            [python(), str(WORKER), "--device", device],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.hello = self.ask("hello", protocol=2)

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.stdin.close()
        assert self._process.wait(TIMEOUT_S) == 0
        self._process.stdout.close()

    def ask(self, op: str, **keys: Any) -> dict[str, Any]:
        self._process.stdin.write(json.dumps({"op": op, **keys}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def open(
        self, workload: str, variant: str, params: dict[str, Any], dtype: str = "f32", **keys: Any
    ) -> dict[str, Any]:
        spec = {"id": "c", "workload": workload, "engine": "jax", "device": "cpu"}
        spec |= {"variant": variant, "dtype": dtype, "params": params}
        return self.ask("open", case=spec, seed=42, **keys)
