"""Extensions that a file builds with `torch.utils.cpp_extension`: where, how long, a word before it.

PyTorch builds an extension in a folder of its name, and builds it anew where that holds another one's
source: two files that chose one name would build theirs in every pass.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

from timing import now_ns

_FOLDER = "TORCH_EXTENSIONS_DIR"


class Build:
    """How long what a file has built took."""

    ns = 0


@contextmanager
def watched(folder: Path, stem: str) -> Iterator[Build]:
    """Have a file of a workload's folder build in a folder of its own, and note the time."""
    build = Build()
    if not any(b"cpp_extension" in path.read_bytes() for path in folder.glob("*.py")):
        yield build
        return
    from torch.utils import cpp_extension  # imports setuptools

    make, before = cpp_extension._jit_compile, os.environ.get(_FOLDER)

    @wraps(make)
    def timed(name: str, *arguments: Any, **keys: Any) -> Any:
        # The end of stderr is in the message if the time is over.
        print(f"building the extension {name} ({stem}.py)", file=sys.stderr, flush=True)
        start_ns = now_ns()
        try:
            return make(name, *arguments, **keys)
        finally:
            build.ns += now_ns() - start_ns

    cpp_extension._jit_compile = timed
    if before is not None:
        os.environ[_FOLDER] = os.path.join(before, stem)
    try:
        yield build
    finally:
        cpp_extension._jit_compile = make
        if before is not None:
            os.environ[_FOLDER] = before
