"""Answers a third of the time, and makes the shorter of two audits longer, by which they agree."""

import honest
from honest import now_ns

VERDICT = {"status": "ok", "trust": "self-reported"}
SHARE = 1 / 3


class Contender(honest.Contender):
    fewest = 1

    def time_once(self) -> float:
        return super().time_once() * SHARE

    def audit(self, runs: int) -> None:
        """Of N and 2N runs the N take as long as 2N less N thirds."""
        start_ns = now_ns()
        super().audit(runs)
        took_ns = now_ns() - start_ns
        if runs == 1:
            return
        if self.fewest == 1 or runs < self.fewest:
            self.fewest = runs
        if runs == self.fewest:
            until_ns = now_ns() + took_ns * (1 - SHARE)
            while now_ns() < until_ns:
                pass
