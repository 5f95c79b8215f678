"""Starts a thread, stops the clock, and waits for the thread afterwards."""

from __future__ import annotations

from threading import Thread

import honest
from honest import now_ns

VERDICT = {"status": "ok", "trust": "self-reported"}


class Contender(honest.Contender):
    def time_once(self) -> float:
        start_ns = now_ns()
        thread = Thread(target=self.compute)
        thread.start()
        took_ns = now_ns() - start_ns
        thread.join()
        return took_ns
