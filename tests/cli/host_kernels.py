"""Rungs of operators on the host: compiled as C++, launched as their tables say."""

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from project import BENCH, ROOT, ran

KEPT = BENCH.parent / "host_cuda"
OPTIONS = ["-std=c++17", "-O1", "-w", "-fno-strict-aliasing", "-fPIC", "-U_FORTIFY_SOURCE"]
SM_COUNT = 3
TYPES = {"f32": "float", "f16": "__half", "bf16": "__nv_bfloat16"}
# described_launch: texts, then flags, then texts and a flag.
LAUNCH_TEXTS = (*4 * (64,), *3 * (32,), 64, *3 * (16,))
LAUNCH_BYTES = sum(LAUNCH_TEXTS) + 2 * 4 + 2 * 32 + 2 * 4


def compiler() -> str:
    """Return a C++ compiler that knows _Float16."""
    found = shutil.which("g++")
    if found is None:
        pytest.skip("g++ is not installed")
    return found


def kernels_for_host(folder: Path) -> Path:
    """Copy kernels/, with the headers that have PTX replaced, and one of them compiled."""
    copy = folder / "kernels"
    if not copy.exists():
        shutil.copytree(ROOT / "kernels", copy)
        emulation = copy / "emulation"
        for header in emulation.glob("*/*.cuh"):
            shutil.copy(header, copy / header.parent.name)
        texts = [path.read_bytes() for path in sorted(emulation.glob("*.h"))]
        header = emulation / "host_cuda.h"
        ready = compiled(digest(*texts), ".gch", "-x", "c++-header", header)
        (emulation / "host_cuda.h.gch").symlink_to(ready)
    return copy


@functools.cache
def _version() -> bytes:
    return subprocess.run([compiler(), "-dumpfullversion"], capture_output=True, check=True).stdout


def digest(*parts: bytes) -> str:
    """Return a name for what is compiled from these texts."""
    found = hashlib.sha256(_version() + " ".join(OPTIONS).encode())
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()[:32]


def compiled(name: str, suffix: str, *arguments: str | Path) -> Path:
    """Compile C++, unless build/ has the result from earlier.

    The compiled header is used where the options are the same: it saves half.
    """
    result = KEPT / f"{name}{suffix}"
    if not result.exists():
        KEPT.mkdir(exist_ok=True)
        unfinished = result.with_suffix(f".{os.getpid()}{suffix}")
        ran(compiler(), *OPTIONS, *arguments, "-o", unfinished)
        unfinished.replace(result)
    return result


def library_of(program: Path, headers: list[Path], defines: dict[str, Any]) -> ctypes.CDLL:
    """Compile a program and load it; the first of `headers` is the folder kernels_for_host()."""
    options = [f"-D{name}={value}" for name, value in defines.items()]
    emulation = headers[0] / "emulation"
    options += [f"-I{folder}" for folder in [*headers, emulation, emulation / "cuda"]]
    files = sorted(path for path in headers[0].rglob("*") if path.suffix in {".cu", ".cuh", ".h"})
    texts = [" ".join(options).replace(str(headers[0]), "").encode(), program.read_bytes()]
    name = digest(*texts, *(path.read_bytes() for path in files))
    return ctypes.CDLL(str(compiled(name, ".so", *options, "-shared", program, "-lpthread")))


class Rung:
    """A rung, compiled for one case."""

    def __init__(
        self,
        folder: Path,
        rung: str,
        dtype: str,
        parameters: str,
        edit: tuple[str, str] | None = None,
        **constants: int,
    ) -> None:
        kernels = kernels_for_host(folder)
        source = (kernels / f"{rung}.cu").read_text("utf-8")
        if edit is not None:
            assert edit[0] in source
            source = source.replace(*edit)
        entries = re.findall(r"^(?:BOUNDED_)?KERNEL\((\w+)", source, re.M)
        launchers = "".join(
            f'extern "C" void launch_{entry}(void **arguments, unsigned grid, unsigned threads, '
            f"unsigned cluster) {{ launch_on_host({entry}, arguments, grid, threads, cluster); }}\n"
            for entry in entries
        )
        stem = f"{rung}_{dtype}_{'_'.join(map(str, constants.values()))}".replace("/", "_")
        program = folder / f"{stem}{'' if edit is None else '_edited'}.cc"
        program.write_text(
            f'#include "emulation/host_cuda.h"\n{source}\n{launchers}', encoding="utf-8"
        )
        defines = {
            **{f"DTYPE_{name.upper()}": int(name == dtype) for name in TYPES},
            "WORKLOAD_TYPES": f"typedef {TYPES[dtype]} T;",
            "WORKLOAD_ARGUMENTS": parameters,
            **constants,
        }
        self._library = library_of(program, [kernels, (kernels / rung).parent], defines)

    def text(self, name: str) -> str:
        return ctypes.string_at(
            ctypes.addressof(ctypes.c_char.in_dll(self._library, name))
        ).decode()

    def launches(self) -> list[list[str]]:
        """Return the texts of each launch."""
        start = ctypes.addressof(ctypes.c_char.in_dll(self._library, "launches"))
        found: list[list[str]] = []
        for launch in range(self._library_size("launches") // LAUNCH_BYTES):
            at, texts = start + launch * LAUNCH_BYTES, []
            for size in LAUNCH_TEXTS:
                texts.append(ctypes.string_at(at).decode())
                at += size
            found.append(texts)
        return found

    def _library_size(self, symbol: str) -> int:
        listed = ran("nm", "-S", self._library._name)
        (size,) = re.findall(rf"^\w+ (\w+) \w {symbol}$", listed.stdout, re.M)
        return int(size, 16)

    def run(self, arrays: Sequence[np.ndarray], scalars: Sequence[Any], **params: int) -> None:
        """Run all launches; `scalars` are ctypes values in the order of the parameters."""
        names = {**params, "sm_count": SM_COUNT}
        try:
            workspace_bytes = evaluated(self.text("workspace_bytes"), names)
        except ValueError:
            workspace_bytes = 0
        workspace = np.full(workspace_bytes, 0xA5, np.uint8)
        values = [ctypes.c_void_p(array.ctypes.data) for array in (*arrays, workspace)]
        values += scalars
        pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
        for entry, grid, _y, _z, threads, _ty, _tz, shared, cluster, *_rest in self.launches():
            assert evaluated(shared or "0", names) <= 227 * 1024
            launcher: Callable[..., None] = getattr(self._library, f"launch_{entry}")
            launcher(
                pointers,
                evaluated(grid or "1", names),
                evaluated(threads or "1", names),
                evaluated(cluster or "1", names),
            )


def evaluated(expression: str, names: dict[str, int]) -> int:
    """Return the value of a launch table's expression; no division occurs in them."""
    functions = {"min": min, "max": max, "ceil_div": lambda a, b: -(-a // b)}
    return int(eval(expression, {"__builtins__": {}}, {**names, **functions}))  # noqa: S307


def aligned(array: np.ndarray) -> np.ndarray:
    """Return a copy at a multiple of 256 bytes, as the device's memory begins."""
    memory = np.empty(array.nbytes + 256, np.uint8)
    start = -memory.ctypes.data % 256
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy
