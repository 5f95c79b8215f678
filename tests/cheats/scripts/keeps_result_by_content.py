"""Looks at some inputs, and computes again only if they have changed."""

import honest
import numpy as np

VERDICT = {"status": "implausible", "reason": "slower on new inputs"}


class Contender(honest.Contender):
    key: bytes = b""

    def compute(self) -> None:
        key = self.x[:16].tobytes()
        if self.key != key:
            self.key, self.kept = key, self.forward(self.x)
        np.copyto(self.y, self.kept)
