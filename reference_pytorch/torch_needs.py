"""What PyTorch and its compiler need on this machine, and how to install what is missing.

The worker checks before it starts and before it compiles; `bench doctor` asks it for its findings.
As `needs.py`, this works with an old Python.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import needs
from needs import (
    Lack,
    causes,
    finding,
    first_line,
    install,
    missing,
    module_version,
    python_lacks,
    version_lacks,
)

OLDEST_TORCH = (2, 4)

PREPROCESS_TIMEOUT_S = 60


def pip_install(package: str, *options: str) -> str:
    """Return how to install a package for this Python or for the project's .venv."""
    installed = (Path(__file__).parents[1] / "installed.txt").exists()  # by make install
    chosen = os.environ.get("BENCH_PYTHON") or sys.prefix != sys.base_prefix or installed
    return needs.pip_install(package, *options) if chosen else "./run_all.sh sets up .venv with it"


def packages_lack() -> Lack | None:
    """Return which package is not installed, without importing any."""
    packages = (("torch", "PyTorch"), ("numpy", "NumPy"))
    return next(filter(None, (missing(*package, pip_install) for package in packages)), None)


def torch_lacks(version: str) -> Lack | None:
    """Return that this version of PyTorch is too old; None: it is not."""
    oldest = ".".join(map(str, OLDEST_TORCH))
    return version_lacks("PyTorch", version, OLDEST_TORCH, lambda: pip_install(f"torch>={oldest}"))


# ---- torch.compile -------------------------------------------------------------------------------


def compile_lacks(device_kind: str) -> Lack | None:
    """Return what `torch.compile` lacks on this kind of device; None: nothing found."""
    if device_kind == "cuda":
        return triton_lacks() or _c_lacks()
    return _cpp_lacks()


def triton_lacks() -> Lack | None:
    """Return that Triton, which `torch.compile` needs for a GPU, is missing; None: it is not."""
    if importlib.util.find_spec("triton") is None:
        return Lack("torch.compile needs Triton for a GPU", pip_install("triton"))
    return None


def compile_cause(error: BaseException, device_kind: str) -> str | None:
    """Return what a failed compilation lacks; None: it failed for another reason."""
    for cause in causes(error):
        text = str(cause)
        if "GPUTooOldForTriton" in {kind.__name__ for kind in type(cause).__mro__}:
            return "torch.compile needs a GPU of compute capability 7.0 or newer"
        if re.search(r"not (yet )?supported (on|for) Python", text):
            cure = "set $BENCH_PYTHON to an older Python, or install a newer PyTorch"
            return f"{first_line(cause)}: {cure}"
        header = re.search(r"fatal error: '?([\w./+-]+)'?(: No such file| file not found)", text)
        if header and header[1] != "Python.h":
            return f"torch.compile needs {header[1]}: install the package that has it"
    return compile_lacks(device_kind)


def _cpp_lacks() -> Lack | None:
    # The same choice as in torch._inductor.config.
    compiler = os.environ.get("CXX", "clang++" if sys.platform == "darwin" else "g++")
    if os.environ.get("TORCH_INDUCTOR_INSTALL_GXX"):
        return None  # PyTorch installs one
    if shutil.which(compiler):
        return _header_lacks(compiler, "c++")
    if "CXX" in os.environ:
        return Lack(
            f"torch.compile needs a C++ compiler, but $CXX is not one ({compiler})", "unset it"
        )
    return Lack("torch.compile needs a C++ compiler", install("g++", "gcc-c++", "gcc"))


def _c_lacks() -> Lack | None:
    # Triton's choice of compiler for its launch code.
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang")
    if compiler and shutil.which(compiler):
        return _header_lacks(compiler, "c")
    if compiler:
        return Lack(
            f"torch.compile needs a C compiler, but $CC is not one ({compiler})", "unset it"
        )
    return Lack("torch.compile needs a C compiler", install("gcc", "gcc", "gcc"))


def _header_lacks(compiler: str, language: str) -> Lack | None:
    folders = [sysconfig.get_path("include"), sysconfig.get_path("include", "posix_prefix")]
    if any(os.path.exists(os.path.join(folder, "Python.h")) for folder in folders):
        return None
    # $CPATH and similar variables may name other folders: ask the compiler.
    command = [compiler, "-x", language, *(f"-I{folder}" for folder in folders), "-E", "-"]
    try:
        done = subprocess.run(
            command,
            input=b"#include <Python.h>\n",
            capture_output=True,
            timeout=PREPROCESS_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Lack("torch.compile needs Python.h", _install_headers()) if done.returncode else None


def _install_headers() -> str:
    if sys.base_prefix != "/usr":
        return f"reinstall the Python in {sys.base_prefix} with its headers"
    # The system's default Python, or another installed version?
    versioned = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    is_default = os.path.basename(os.path.realpath("/usr/bin/python3")) == versioned
    name = "python3" if is_default else versioned
    return install(f"{name}-dev", f"{name}-devel", "python")


# ---- for bench doctor ----------------------------------------------------------------------------


def findings() -> list[dict]:
    """Return what is installed and what is missing, for `bench doctor`."""
    return [_find_numpy(), _find_torch(), _find_compile()]


def _find_numpy() -> dict:
    version, lacks = module_version("numpy", pip_install)
    return finding("NumPy", lacks, f"NumPy {version}", "PyTorch cases are skipped")


def _find_torch() -> dict:
    version, broken = module_version("torch", pip_install)
    lacks = python_lacks("PyTorch") or broken or torch_lacks(version)
    detail = f"PyTorch {version} {sys.executable}"
    costs = "nothing to compare CUDA with: PyTorch cases are skipped"
    return finding("PyTorch", lacks, detail, costs)


def _find_compile() -> dict:
    kinds = ["cpu"]
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        kinds.append("cuda")
    lacks = next(filter(None, map(compile_lacks, kinds)), None)
    if torch is None:
        lacks = missing("torch", "PyTorch", pip_install) or Lack(
            "PyTorch cannot be imported", "as for PyTorch"
        )
    where = " and ".join({"cpu": "CPU", "cuda": "GPU"}[kind] for kind in kinds)
    detail = f"has a compiler and Python.h for the {where}"
    return finding("torch.compile", lacks, detail, "PyTorch's compile modes are skipped")
