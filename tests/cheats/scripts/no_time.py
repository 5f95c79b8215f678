"""Answers 0 ns."""

import honest

VERDICT = {"status": "failed", "reason": "expected a time over 0"}


class Contender(honest.Contender):
    def time_once(self) -> float:
        return 0
