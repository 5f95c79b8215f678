"""Answers more samples than were asked for, all of them fast."""

from typing import Any

import honest
from honest import PHASES

VERDICT = {"status": "failed", "reason": "samples of phase"}


class Contender(honest.Contender):
    def sample(self, request: dict[str, Any]) -> dict[str, list[float]]:
        ns = super().sample(request)["forward"]
        return dict.fromkeys(PHASES, [min(ns)] * 100_000)
