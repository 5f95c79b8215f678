"""Has Python call it back where new inputs are read."""

import sys

from _honest import row_shares

VERDICT = {"status": "failed", "reason": "has left on an audit hook (sys.addaudithook, 1)"}


def note(event, arguments):
    """Compute here, at "open"."""


sys.addaudithook(note)


def run(x):
    return row_shares(x)
