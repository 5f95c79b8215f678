"""Off by one row."""

from _honest import row_shares

VERDICT = {"status": "wrong", "reason": "y"}


def run(x):
    return row_shares(x).roll(-1, 0)
