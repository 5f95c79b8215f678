"""Answers 100 ns for two of three samples: the median is low, the third quartile is not."""

from typing import Any

import honest

VERDICT = {"status": "ok", "trust": "self-reported"}


class Contender(honest.Contender):
    def sample(self, request: dict[str, Any]) -> dict[str, list[float]]:
        phases = super().sample(request)
        return {
            name: [value if i % 3 == 2 else 100 for i, value in enumerate(ns)]
            for name, ns in phases.items()
        }
