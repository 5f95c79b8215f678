"""Honest: runs are long, and an audit begins with copying what they start from, as a training."""

import time

import honest

VERDICT = {"status": "ok", "trust": "audited"}
RUN_S, PREPARATION_S = 0.025, 0.012


class Contender(honest.Contender):
    def compute(self) -> None:
        """Take as long as a training."""
        time.sleep(RUN_S)
        super().compute()

    def audit(self, runs: int) -> None:
        """Prepare once, which no sample's time has."""
        time.sleep(PREPARATION_S)
        super().audit(runs)
