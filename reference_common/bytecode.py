"""Where Python keeps the bytecode of large packages."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

ROOT = Path(__file__).absolute().parents[1]


def keep(module: str) -> None:
    """Have this process and its children keep bytecode, if an installed module has none.

    Containers often have packages without bytecode, and `PYTHONDONTWRITEBYTECODE`, or a folder
    that cannot be written. Each process then compiles all that it imports: PyTorch's import took
    5 s instead of 1.5 s, that of its compiler 11 s instead of 2.5 s, and the latter starts further
    processes that import PyTorch. The bytecode goes to a folder of ours, with the cubins.
    """
    spec = importlib.util.find_spec(module)
    if spec is None or spec.cached is None or os.path.exists(spec.cached):
        return
    cache = os.environ.get("BENCH_CACHE") or str(ROOT / "build" / "cache")
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = os.path.join(cache, "python")
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
