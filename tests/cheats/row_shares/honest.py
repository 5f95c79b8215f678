"""Honest."""

from _honest import row_shares

VERDICT = {"status": "ok"}


def run(x):
    return row_shares(x)
