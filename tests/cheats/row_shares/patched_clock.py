"""Divides the phase by which operators are compared by ten."""

from _honest import row_shares

import timing

VERDICT = {"status": "failed", "reason": "has replaced timing.PhaseClock.finish of the harness"}

finish = timing.PhaseClock.finish


def tenth(clock):
    ns = finish(clock)
    ns["residual"] += ns["forward"] - ns["forward"] // 10
    ns["forward"] //= 10
    return ns


timing.PhaseClock.finish = tenth


def run(x):
    return row_shares(x)
