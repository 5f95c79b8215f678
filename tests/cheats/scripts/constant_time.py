"""Answers 100 ns for every sample."""

import honest

VERDICT = {"status": "ok", "trust": "self-reported"}


class Contender(honest.Contender):
    def time_once(self) -> float:
        self.compute()
        return 100
