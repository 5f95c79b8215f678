"""Returns for `last` what it computed for `output`."""

import honest
import numpy as np

VERDICT = {"status": "wrong", "reason": "the output of a timed sample"}


class Contender(honest.Contender):
    def output(self) -> np.ndarray:
        self.kept = super().output().copy()
        return self.kept

    def last(self) -> np.ndarray:
        return self.kept
