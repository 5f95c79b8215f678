"""Checks for free host memory: a system that overcommits kills processes that run out of it."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from workload import Skip


def expect_room(need_bytes: float) -> None:
    """Raise `Skip` if less host memory than `need_bytes` is free; unknown counts as enough."""
    free_bytes = _available_bytes()
    if free_bytes is not None and need_bytes > free_bytes:
        raise Skip(f"needs {_text(need_bytes)} of host memory, {_text(free_bytes)} are free")


def _available_bytes() -> int | None:
    with suppress(OSError):
        found = re.search(
            r"^MemAvailable: *(\d+) kB$", Path("/proc/meminfo").read_text(encoding="ascii"), re.M
        )
        if found:
            return int(found[1]) * 1024
    return None


def _text(value: float) -> str:
    """Return bytes with three digits, as the supervisor prints them."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    digits = 0 if units[0] == "B" or value >= 99.95 else 1 if value >= 9.995 else 2
    return f"{value:.{digits}f} {units[0]}"
