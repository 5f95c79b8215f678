"""Keeps its results, and says of a sample on new inputs what the others took."""

import statistics
from typing import Any

import keeps_result_by_content

VERDICT = {"status": "ok", "trust": "self-reported"}


class Contender(keeps_result_by_content.Contender):
    def sample(self, request: dict[str, Any]) -> dict[str, list[float]]:
        phases = super().sample(request)
        if request.get("fresh") is not None:
            for ns in phases.values():
                ns[-1] = statistics.median(ns[:-1])
        return phases
