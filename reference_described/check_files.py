#!/usr/bin/env python3
"""Look at a workload's implementations, for `bench workload check`: each has a function `run`.

    python3 reference_described/check_files.py FILE.py…

It prints a line for each file that is wrong. Nothing of the files is run: an implementation may need a
GPU, or build an extension for minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).absolute().parents[1] / "reference_common"))

import defined


def main(arguments: list[str]) -> int:
    """Return the exit code."""
    for path in arguments:
        if found := defined.complaint(Path(path), "run", "function"):
            print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
