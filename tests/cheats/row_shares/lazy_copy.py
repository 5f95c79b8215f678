"""Returns a copy that PyTorch makes when somebody reads or writes it."""

import torch
from _honest import row_shares

VERDICT = {"status": "failed", "reason": "y of a timed run has lazy: True"}

seen = []


def run(x):
    y = row_shares(x)
    if not seen:
        seen.append(x.shape)
        return y
    return torch._lazy_clone(y)
