"""The device that a worker runs on, as far as all engines need it."""

from __future__ import annotations

import gc
import platform
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

from timing import no_mark


class Device:
    """What a worker needs of a device; the defaults suit the CPU."""

    kind: str
    once_ns: dict[str, int]
    """One-time costs of initialising the device."""

    def describe(self) -> dict[str, Any]:
        """Return the `device` object of the answer to hello."""
        return {"kind": self.kind, "name": cpu_name()}

    def versions(self) -> dict[str, str]:
        """Return the versions and settings that matter on this device."""
        return {}

    def synchronize(self) -> None:
        """Wait until all submitted work is done."""

    def wake(self) -> None:
        """Have it work on something that no case knows, so that threads wait for work as in samples."""

    def mark(self, name: str) -> AbstractContextManager[Any]:
        """Return a context that the device's profiler shows under this name."""
        return no_mark(name)

    def watch_memory(self) -> None:
        """Start measuring the peak of allocated device memory."""

    def peak_bytes(self) -> int | None:
        """Return the peak above what was allocated at `watch_memory`; None: unknown."""
        return None

    def expect_alive(self, error: BaseException) -> None:
        """Raise `DeviceLost` if the device is unusable after `error`."""

    def release_unused(self) -> None:
        """Return unused memory to the system, for other processes on the device."""
        gc.collect()


def cpu_name() -> str:
    """Return the name of the host's processor."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n"):
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine() or "unknown CPU"
