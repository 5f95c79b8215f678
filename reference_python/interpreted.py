"""Triton without a GPU: its interpreter, which shows whether a kernel is right, not how fast it is."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

_VARIABLE = "TRITON_INTERPRET"
_NOTE = (
    f"triton: run by its interpreter on the CPU ({_VARIABLE}=1): it shows what is right; "
    "its time is not that of a kernel"
)


def choose(folder: Path) -> None:
    """Have Triton interpret kernels if a file of the folder uses it; called before it is imported."""
    if any(b"triton" in path.read_bytes() for path in folder.glob("*.py")):
        os.environ.setdefault(_VARIABLE, "1")


def notes(folder: Path) -> list[str]:
    """Return what is to be said of a case if a file of the folder has run there by Triton."""
    if os.environ.get(_VARIABLE) != "1":
        return []
    files = [m for m in list(sys.modules.values()) if _is_in(m, folder)]
    return [_NOTE] if any(_is_of_triton(v) for m in files for v in vars(m).values()) else []


def _is_in(module: ModuleType, folder: Path) -> bool:
    return Path(getattr(module, "__file__", None) or "/").parent == folder


def _is_of_triton(value: Any) -> bool:
    name = value.__name__ if isinstance(value, ModuleType) else type(value).__module__
    return name.split(".")[0] == "triton"
