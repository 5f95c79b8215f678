#!/usr/bin/env python3
"""The JAX worker: runs cases of the engine `jax` for `bench run`.

It reads requests from stdin and writes answers to stdout, one JSON object a line
(`docs/worker-protocol.md`). To try it by hand:

    echo '{"op":"hello","protocol":2}' | python3 reference_jax/worker.py --device cpu
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(1, str(Path(__file__).absolute().parents[1] / "reference_common"))

import jax_needs
import needs

if __name__ == "__main__":
    # The imports below may need a newer Python.
    needs.start(needs.python_lacks("JAX", jax_needs.VARIABLE), jax_needs.findings)

import serving


def set_environment(device_kind: str) -> None:
    """Tell JAX before its import which device it gets, and to leave the others memory on it."""
    os.environ["JAX_PLATFORMS"] = device_kind
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    if "jax" in sys.modules:  # it has read that in the process that this one was forked from
        sys.modules["jax"].config.update("jax_platforms", device_kind)


ENGINE = serving.Engine("jax", jax_needs.packages_lack, jax_needs.jax_lacks, set_environment)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the worker and return its exit code."""
    return serving.main(ENGINE, __doc__ or "", arguments)


if __name__ == "__main__":
    sys.exit(main())
