"""Computes the first half in timed runs; for `output` all of it."""

import honest
import numpy as np

VERDICT = {"status": "wrong", "reason": "the output of a timed sample"}


class Contender(honest.Contender):
    whole = True

    def output(self) -> np.ndarray:
        self.whole = True
        y = super().output()
        self.whole = False
        return y

    def compute(self) -> None:
        n = len(self.x) if self.whole else len(self.x) // 2
        self.y[:n] = self.forward(self.x[:n])
