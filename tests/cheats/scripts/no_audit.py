"""Does not know `audit`."""

import honest

VERDICT = {"status": "ok", "trust": "self-reported"}


class Contender(honest.Contender):
    def audit(self, runs: int) -> None:
        raise ValueError("unknown op 'audit'")
