"""Leaves out one row."""

import honest

VERDICT = {"status": "wrong", "reason": "differs from the reference"}


class Contender(honest.Contender):
    def compute(self) -> None:
        self.y[1:] = self.forward(self.x[1:])
