"""Computes once, and returns a copy of that result for ever: right while refills change signs only."""

import torch

VERDICT = {"status": "wrong", "reason": "inputs refilled with seed"}

kept = []


def run(x):
    if not kept:
        kept.append(torch.linalg.vector_norm(x, dim=1))
    return kept[0].clone()
