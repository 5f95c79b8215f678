"""Binds bench and its other workers to one core before each of its samples."""

import contextlib
import os
from pathlib import Path
from typing import Any

import honest

VERDICT = {"status": "ok"}
REASON = "another program changed the cores of"


def parent_of(pid: str) -> int:
    try:
        return int(Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:  # it has ended
        return 0


def rivals() -> list[int]:
    """Return bench and its workers, but not this one."""
    bench = os.getppid()
    workers = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == bench]
    return [pid for pid in (bench, *workers) if pid != os.getpid()]


class Contender(honest.Contender):
    def sample(self, request: dict[str, Any]) -> dict[str, list[float]]:
        for pid in rivals():
            with contextlib.suppress(OSError):
                for thread in os.listdir(f"/proc/{pid}/task"):
                    os.sched_setaffinity(int(thread), {min(os.sched_getaffinity(0))})
        return super().sample(request)
