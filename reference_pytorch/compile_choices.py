"""What a tuning compiler chose for its kernels, as the process that compiled them left it.

A process that loads compiled code may tune kernels anew, and writes its choice over the first one
(https://github.com/pytorch/pytorch/issues/172819, seen with PyTorch 2.11); the next process would
load that. So the files of choices are kept when the first case that uses them is open, and each later
process begins with those.
"""

from __future__ import annotations

import hashlib
import shutil
from functools import cache
from pathlib import Path

_FILES = "*.best_config"
_KEPT = "chosen"  # a folder beside the compiler's own, with the same names inside
_CASES = "cases"  # another, with a file for each case that was compiled


@cache
def restore(folder: str) -> None:
    """Give a compiler's cache folder the choices that were kept; once in a process."""
    kept = Path(folder, _KEPT)
    for file in kept.rglob(_FILES):
        shutil.copyfile(file, Path(folder, file.relative_to(kept)))


def are_made(folder: str, case_id: str) -> bool:
    """Return whether the folder has what was compiled for a case."""
    return _mark(folder, case_id).exists()


def _mark(folder: str, case_id: str) -> Path:
    return Path(folder, _CASES, hashlib.sha256(case_id.encode()).hexdigest())


def keep(folder: str, case_id: str) -> None:
    """Keep the choices in the folder that are not kept yet, and that the case was compiled."""
    if not Path(folder).is_dir():
        return
    mark = _mark(folder, case_id)
    mark.parent.mkdir(exist_ok=True)
    mark.touch()
    kept = Path(folder, _KEPT)
    for file in Path(folder).rglob(_FILES):
        copy = kept / file.relative_to(folder)
        if kept not in file.parents and not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, copy)
