"""Honest, on a machine that something else keeps busy for the first 0.3 seconds of its audits."""

import honest
from honest import now_ns

VERDICT = {"status": "ok", "trust": "audited"}
BUSY_NS = 300e6


class Contender(honest.Contender):
    audited_since_ns = 0

    def audit(self, runs: int) -> None:
        """Take three times as long at first."""
        self.audited_since_ns = self.audited_since_ns or now_ns()
        busy = now_ns() - self.audited_since_ns < BUSY_NS
        super().audit(3 * runs if busy else runs)
