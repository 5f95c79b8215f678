"""Ignores `refill` and goes on with the inputs as opened."""

import honest

VERDICT = {"status": "wrong", "reason": "inputs refilled with seed"}


class Contender(honest.Contender):
    def refill(self, seed: int) -> None:
        pass
