"""Answers 100 ns for what is compared, the truth for a part of it, and has that part audited."""

from typing import Any

import honest

VERDICT = {"status": "ok", "trust": "self-reported"}


class Contender(honest.Contender):
    compared = "forward"

    def sample(self, request: dict[str, Any]) -> dict[str, list[float]]:
        found = super().sample(request)
        return {**found, "host_to_host": [100.0] * len(found["forward"])}
