"""Leaves out the second half of a timed training: the steps after those whose losses are compared."""

import honest_training

VERDICT = {"status": "wrong", "reason": "its weights have the loss"}


class Contender(honest_training.Contender):
    def compute(self) -> None:
        self.train(self.steps // 2)
