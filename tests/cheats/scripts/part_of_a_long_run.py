"""Answers five eighths of what a run of 40 ms took."""

import time

import honest

VERDICT = {"status": "ok", "trust": "self-reported"}
RUN_S = 0.04


class Contender(honest.Contender):
    def compute(self) -> None:
        time.sleep(RUN_S)
        super().compute()

    def time_once(self) -> float:
        return super().time_once() * 5 / 8
