"""Honest, on a machine that interrupts the first seven of its fresh samples for 20 ms."""

import time

import honest

VERDICT = {"status": "ok", "trust": "audited"}
INTERRUPTED, TAKEN_S = 7, 0.02


class Contender(honest.Contender):
    refills, is_fresh = 0, False

    def refill(self, seed: int) -> None:
        super().refill(seed)
        self.refills, self.is_fresh = self.refills + 1, True

    def compute(self) -> None:
        if self.is_fresh and self.refills <= INTERRUPTED:
            time.sleep(TAKEN_S)
        self.is_fresh = False
        super().compute()
