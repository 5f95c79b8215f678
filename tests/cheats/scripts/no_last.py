"""Keeps no output of timed runs."""

import honest
import numpy as np

VERDICT = {"status": "failed", "reason": "no output is kept"}


class Contender(honest.Contender):
    def last(self) -> np.ndarray:
        raise ValueError("no output is kept")
