"""Computes once, and returns a copy of that result for ever."""

from _honest import row_shares

VERDICT = {"status": "wrong", "reason": "inputs refilled with seed"}

kept = []


def run(x):
    if not kept:
        kept.append(row_shares(x))
    return kept[0].clone()
