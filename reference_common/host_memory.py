"""Host memory: whether enough of it is free, and what becomes of what is freed.

A system that overcommits kills processes that run out of it.
"""

from __future__ import annotations

import ctypes
import re
from contextlib import suppress
from pathlib import Path

from workload import Skip

# Of malloc.h, and the most that glibc takes.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_NEVER, _LARGEST = 2**31 - 1, 32 << 20


def keep_freed() -> None:
    """Have malloc reuse what was freed, also after new inputs were made in memory between two runs.

    Runs in a row reuse the memory of copies up to 32 MB. Making inputs gave it back to the system, and
    the next run took over twice as long: of JAX `jit`, 7.6 and 16 ms from host to host (softmax of
    1024 x 4096 on an H200), so that it seemed to keep results.
    """
    with suppress(AttributeError, OSError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, _NEVER)
        mallopt(_M_MMAP_THRESHOLD, _LARGEST)


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
