"""Does nothing when it is audited."""

import honest

VERDICT = {"status": "ok", "trust": "self-reported"}


class Contender(honest.Contender):
    def audit(self, runs: int) -> None:
        """Answer at once."""
