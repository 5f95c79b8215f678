#!/usr/bin/env python3
"""An nvcc for the fake GPU: compiles host code as C++; kernels are functions of the host."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

FAKES = Path(__file__).resolve().parents[1] / "fixtures" / "fakes"
EMULATION = FAKES.parents[2] / "kernels"


def compile_object(words: list[str], source: Path) -> int:
    left_out = ("-X", "--ptxas", "--gpu", "-lcublas")
    kept = [word.replace("\\,", ",") for word in words if not word.startswith(left_out)]
    head = [
        "g++",
        "-x",
        "c++",
        "-w",
        "-fPIC",
        "-fno-strict-aliasing",
        f"-I{FAKES}",
        "-include",
        str(FAKES / "runtime.h"),
    ]
    files = {path.name: path.read_text("utf-8") for path in source.parent.glob("*.cu*")}
    if not any("<<<" in files[name] for name in (source.name, *_headers(files))):
        return subprocess.run([*head, *kept], check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            launched = re.sub(r"(\w+)<<<(.+?)>>>\(", r"launch_grid(\1, \2, ", text)
            (Path(folder) / name).write_text(launched, "utf-8")
        kept[kept.index(str(source))] = str(Path(folder) / source.name)
        emulates = ["-DEMULATES", f"-I{EMULATION}", f"-I{EMULATION}/emulation/cuda"]
        return subprocess.run([*head, *emulates, *kept], check=False).returncode


def _headers(files: dict[str, str]) -> list[str]:
    return [name for name in files if name.endswith(".cuh")]


def main(words: list[str]) -> int:
    if words == ["--version"]:
        print("Cuda compilation tools, release 13.0, V13.0.88")
        return 0
    if words == ["--list-gpu-code"]:
        print("sm_75\nsm_90\nsm_120")
        return 0
    return compile_object(words, Path(next(word for word in words if word.endswith(".cu"))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
