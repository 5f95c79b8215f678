"""Leaves a process without a parent, and without a trace of who started it, in each of its samples."""

import subprocess
from typing import Any

import honest

VERDICT = {"status": "ok"}
REASON = "a process that a worker had left, sleep"


class Contender(honest.Contender):
    def sample(self, request: dict[str, Any]) -> dict[str, list[float]]:
        # The shell ends at once.
        subprocess.run(["sh", "-c", "exec 0<&- 1>&- 2>&-; setsid env -i sleep 1000 &"], check=True)
        return super().sample(request)
