"""Works in the first four rounds, then leaves the output as it was filled."""

from typing import Any

import honest

VERDICT = {"status": "wrong", "reason": "inputs refilled with seed", "passes": "10"}
ROUNDS = 4


class Contender(honest.Contender):
    rounds = 0

    def compute(self) -> None:
        if self.rounds < ROUNDS:
            super().compute()

    def sample(self, request: dict[str, Any]) -> dict[str, list[float]]:
        answer = super().sample(request)
        self.rounds += request.get("fresh") is not None
        return answer
