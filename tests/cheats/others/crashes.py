"""Dies by a signal as it is opened; no cheat, but walls must not hide how."""

import os
import signal

import honest

VERDICT = {"status": "failed"}


class Contender(honest.Contender):
    def compute(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)
