#!/usr/bin/env python3
"""The PyTorch worker: runs cases of the engine `pytorch` for `bench run`.

It reads requests from stdin and writes answers to stdout, one JSON object a line
(`docs/worker-protocol.md`). To try it by hand:

    echo '{"op":"hello","protocol":2}' | python3 reference_pytorch/worker.py --device cpu
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(1, str(Path(__file__).absolute().parents[1] / "reference_common"))
sys.path.insert(2, str(Path(__file__).absolute().parents[1] / "reference_described"))

import needs
import torch_needs

if __name__ == "__main__":
    # The imports below may need a newer Python.
    needs.start(needs.python_lacks("PyTorch"), torch_needs.findings)

import serving


def set_environment(_device_kind: str) -> None:
    """Name a folder for compiled code that the supervisor removes."""
    if "BENCH_SCRATCH" in os.environ:  # for cases that are opened without `compile_cache`
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(
            os.environ["BENCH_SCRATCH"], "inductor"
        )


ENGINE = serving.Engine(
    "torch", torch_needs.packages_lack, torch_needs.torch_lacks, set_environment
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the worker and return its exit code."""
    return serving.main(ENGINE, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())
