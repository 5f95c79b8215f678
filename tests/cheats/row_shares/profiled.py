"""Has Python call it back at each call that the harness makes."""

import sys

from _honest import row_shares

VERDICT = {"status": "failed", "reason": "has left on a profile function (sys.setprofile)"}


def note(frame, event, argument):
    """Look at the harness's variables here."""


def run(x):
    sys.setprofile(note)
    return row_shares(x)
