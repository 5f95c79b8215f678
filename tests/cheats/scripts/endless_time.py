"""Answers 1e300 ns, so that an average of others looks better."""

import honest

VERDICT = {"status": "failed", "reason": "but the request took"}


class Contender(honest.Contender):
    def time_once(self) -> float:
        return 1e300
