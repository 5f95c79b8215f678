"""What JAX needs on this machine, and how to install what is missing.

As `needs.py`, this works with an old Python.
"""

from __future__ import annotations

import importlib.util
import os
import sys

import needs
from needs import Lack, finding, missing, module_version, python_lacks, version_lacks

OLDEST_JAX = (0, 6)
# The environment of its own that JAX may have, and the variable that names another Python.
VENV = ".venv-jax"
VARIABLE = "BENCH_JAX_PYTHON"


def pip_install(package: str, *options: str) -> str:
    """Return how to install a package for this Python or for the project's own environment."""
    chosen = os.environ.get(VARIABLE) or os.path.basename(sys.prefix) == VENV
    return (
        needs.pip_install(package, *options) if chosen else f"./run_all.sh sets up {VENV} with it"
    )


def packages_lack() -> Lack | None:
    """Return which package is not installed, without importing any."""
    packages = (("jax", "JAX"), ("numpy", "NumPy"))
    return next(filter(None, (missing(*package, pip_install) for package in packages)), None)


def jax_lacks(version: str) -> Lack | None:
    """Return that this version of JAX is too old; None: it is not."""
    oldest = ".".join(map(str, OLDEST_JAX))
    return version_lacks("JAX", version, OLDEST_JAX, lambda: pip_install(f"jax>={oldest}"))


def built_for() -> str:
    """Return what the installed JAX can use: the CPU, or CUDA's version."""
    for version in ("13", "12"):
        if importlib.util.find_spec(f"jax_cuda{version}_plugin") is not None:
            return f"CUDA {version}"
    return "the CPU"


def findings() -> list[dict]:
    """Return what is installed and what is missing, for `bench doctor`."""
    version, broken = module_version("jax", pip_install)
    lacks = python_lacks("JAX", VARIABLE) or broken or jax_lacks(version)
    detail = f"JAX {version} for {built_for()} {sys.executable}"
    return [finding("JAX", lacks, detail, "JAX cases are skipped")]
