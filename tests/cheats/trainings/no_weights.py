"""Leaves out the second half of a timed training, and does not show its weights."""

import half_the_steps
import numpy as np

VERDICT = {"status": "wrong", "reason": "the worker writes no weights"}


class Contender(half_the_steps.Contender):
    def last(self) -> dict[str, np.ndarray]:
        return {"losses": super().last()["losses"]}
