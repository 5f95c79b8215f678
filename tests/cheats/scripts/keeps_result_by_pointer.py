"""Computes again only if the buffer of the inputs is another one."""

import honest

VERDICT = {"status": "wrong", "reason": "inputs refilled with seed"}


class Contender(honest.Contender):
    key = 0

    def compute(self) -> None:
        if self.key != self.x.ctypes.data:
            self.key = self.x.ctypes.data
            self.kept = self.forward(self.x)
        self.y[...] = self.kept
