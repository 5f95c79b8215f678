"""Has the garbage collector call it back: between the clocks."""

import gc

from _honest import row_shares

VERDICT = {"status": "failed", "reason": "has left on a callback of the garbage collector"}


def work(phase, info):
    """Compute here."""


gc.callbacks.append(work)


def run(x):
    return row_shares(x)
