"""Computes nothing if the output buffer still holds the last result."""

import honest
import numpy as np

VERDICT = {"status": "implausible", "reason": "slower on new inputs"}


class Contender(honest.Contender):
    kept: np.ndarray | None = None

    def compute(self) -> None:
        if self.kept is None or not np.array_equal(self.y[:16], self.kept):
            super().compute()
            self.kept = self.y[:16].copy()
