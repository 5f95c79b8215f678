#!/usr/bin/env python3
"""The Python worker: runs implementations of described workloads, NAME.py beside reference.py.

It reads requests from stdin and writes answers to stdout, one JSON object a line
(`docs/worker-protocol.md`). To try it by hand:

    echo '{"op":"hello","protocol":2}' | python3 reference_python/worker.py --device cpu
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(1, str(Path(__file__).absolute().parents[1] / "reference_common"))
sys.path.insert(2, str(Path(__file__).absolute().parents[1] / "reference_described"))
sys.path.insert(3, str(Path(__file__).absolute().parents[1] / "reference_pytorch"))

import needs
import torch_needs

if __name__ == "__main__":
    # The imports below may need a newer Python.
    needs.start(needs.python_lacks("Python"), torch_needs.findings)

import serving

# What compilers and builders of extensions write, by the variable that says where.
_CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "TORCH_EXTENSIONS_DIR": "extensions",
}


def set_environment(_device_kind: str) -> None:
    """Name folders for compiled code that the supervisor removes."""
    scratch = os.environ.get("BENCH_SCRATCH")
    if scratch is not None:
        for variable, folder in _CACHES.items():
            os.environ[variable] = os.path.join(scratch, folder)


ENGINE = serving.Engine(
    "torch", torch_needs.packages_lack, torch_needs.torch_lacks, set_environment
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the worker and return its exit code."""
    return serving.main(ENGINE, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())
