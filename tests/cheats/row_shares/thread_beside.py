"""Leaves a thread running, which could compute while no clock runs."""

import threading

from _honest import row_shares

VERDICT = {"status": "ok", "trust": "self-reported"}


def wait():
    threading.Event().wait()


threading.Thread(target=wait, name="helper", daemon=True).start()


def run(x):
    return row_shares(x)
