"""Computes for `output` only; a timed run does nothing."""

import honest
from honest import now_ns

VERDICT = {"status": "wrong", "reason": "the output of a timed sample"}


class Contender(honest.Contender):
    def time_once(self) -> float:
        start_ns = now_ns()
        return now_ns() - start_ns + 1

    def audit(self, runs: int) -> None:
        pass
