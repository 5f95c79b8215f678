"""Computes once, and answers with that result for ever."""

import honest
import numpy as np

VERDICT = {"status": "wrong", "reason": "inputs refilled with seed"}


class Contender(honest.Contender):
    kept: np.ndarray | None = None

    def compute(self) -> None:
        if self.kept is None:
            self.kept = self.forward(self.x)
        self.y[...] = self.kept
