"""Inputs of described workloads as bench hands them over, made by its own code."""

import math
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

KINDS = ("uniform", "normal", "integers", "permutation", "constant")  # as fill_kind_t


def told(array: dict[str, Any], seed: int, number: int, *refills: int) -> str:
    """Return what the program reads for input `number` of a case after these refills."""
    fill, n = array["fill"], math.prod(array["shape"])
    numbers = (repr(float(fill.get(name, 0))) for name in ("low", "high", "times"))
    added = fill.get("of", 0), KINDS.index(fill.get("of_kind", "uniform"))
    its = (repr(float(fill.get(name, 0))) for name in ("of_low", "of_high"))
    words = [array["dtype"], KINDS.index(fill["kind"]), *numbers, *added, *its, seed, number, n]
    words += refills
    return " ".join(map(str, words)) + "\n"


def bytes_of(program: Path, lines: list[str], *arguments: str | Path) -> bytes:
    return subprocess.run(
        [program, *arguments],
        input="".join(lines).encode(),
        capture_output=True,
        check=True,
        timeout=240,
    ).stdout


@cache
def program_of_inputs() -> Path:
    """Return the program, also in a process without pytest, which is told where it is."""
    if told_by := os.environ.get("OPERATOR_FILL"):
        return Path(told_by)
    from project import built

    return built("operator_fill")


def make(folder: Path, arrays: list[dict[str, Any]], seed: int, refill: int = 0) -> Path:
    """Write the inputs of a refill seed, but those that a function makes; return `folder`."""
    place = folder / str(refill)
    place.mkdir(parents=True, exist_ok=True)
    for number, array in enumerate(x for x in arrays if x["input"]):
        if array.get("fill", {}).get("kind") in KINDS:
            line = told(array, seed, number, *([refill] if refill else []))
            (place / array["name"]).write_bytes(bytes_of(program_of_inputs(), [line]))
    return folder
