#!/usr/bin/env python3
"""An nvcc for the fake GPU: compiles host code as C++; kernels are functions of the host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FAKES = Path(__file__).resolve().parents[1] / "fixtures" / "fakes"


def main(words: list[str]) -> int:
    if words == ["--version"]:
        print("Cuda compilation tools, release 13.0, V13.0.88")
        return 0
    if words == ["--list-gpu-code"]:
        print("sm_75\nsm_90\nsm_120")
        return 0
    kept = [
        word.replace("\\,", ",")
        for word in words
        if not word.startswith(("-X", "--ptxas", "--gpu"))
    ]
    head = ["g++", "-x", "c++", "-w", "-fPIC", f"-I{FAKES}", "-include", str(FAKES / "runtime.h")]
    return subprocess.run([*head, *kept], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
