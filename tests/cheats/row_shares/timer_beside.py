"""Leaves a timer running, whose signal could compute while no clock runs."""

import signal

from _honest import row_shares

VERDICT = {"status": "ok", "trust": "self-reported"}

signal.signal(signal.SIGVTALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_VIRTUAL, 3600)


def run(x):
    return row_shares(x)
