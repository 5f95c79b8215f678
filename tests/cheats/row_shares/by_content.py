"""Computes if one of the first inputs has changed."""

import torch
from _honest import row_shares

VERDICT = {"status": "implausible", "reason": "slower on new inputs"}

kept = [None, None]


def run(x):
    if kept[0] is None or not torch.equal(kept[0], x[0]):
        kept[:] = x[0].clone(), row_shares(x)
    return kept[1].clone()
