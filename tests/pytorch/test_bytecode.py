"""Packages without bytecode are compiled once and not in every process."""

import os
import sys
from pathlib import Path

import pytest
from project import ran

SOURCE = Path(__file__).parents[2] / "reference_common"
IMPORT = "import bytecode; bytecode.keep('large'); import large"
WORKER = """
import sys, types, serving
class Session:
    def __init__(self, device_kind):
        pass
    def describe(self):
        return {"once_ns": {}}
sys.modules["session"] = types.SimpleNamespace(Session=Session)
nothing = lambda *_: None
engine = serving.Engine("large", nothing, nothing, nothing)
assert serving.Worker(engine, "cpu").answer(b'{"op":"hello","protocol":2}')[0]["status"] == "ok"
"""
IN_CHILD = "; import subprocess, sys; subprocess.run([sys.executable, '-c', 'import of_child'])"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    folder = tmp_path / "packages"
    folder.mkdir()
    for name in ("large", "of_child"):
        (folder / f"{name}.py").write_text("__version__ = '1.0'\n", "utf-8")
    return folder


def run(code: str, packages: Path, tmp_path: Path, **environment: str) -> set[str]:
    """Run code that imports packages; return the modules whose bytecode is in our cache."""
    cache = tmp_path / "cache"
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PYTHON")},
        "PYTHONPATH": f"{SOURCE}:{packages}",
        "BENCH_CACHE": str(cache),
        **environment,
    }
    ran(sys.executable, "-c", code, env=environment)
    return {path.name.split(".")[0] for path in cache.rglob("*.pyc")}


def test_bytecode_that_nobody_else_keeps_is_ours(packages: Path, tmp_path: Path) -> None:
    kept = run(IMPORT + IN_CHILD, packages, tmp_path, PYTHONDONTWRITEBYTECODE="1")
    assert kept >= {"large", "of_child"}  # and what the child needs of Python itself
    assert not (packages / "__pycache__").exists()


def test_a_worker_keeps_that_of_its_module(packages: Path, tmp_path: Path) -> None:
    pytest.importorskip("numpy")
    assert "large" in run(WORKER, packages, tmp_path, PYTHONDONTWRITEBYTECODE="1")


def test_installed_bytecode_is_used(packages: Path, tmp_path: Path) -> None:
    run("import large", packages, tmp_path)
    assert (packages / "__pycache__").exists()
    assert run(IMPORT, packages, tmp_path, PYTHONDONTWRITEBYTECODE="1") == set()


def test_a_package_that_is_missing_is_no_error(packages: Path, tmp_path: Path) -> None:
    assert run("import bytecode; bytecode.keep('nothing')", packages, tmp_path) == set()
