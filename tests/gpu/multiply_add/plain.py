"""Plain PyTorch: compiled by the harness, too."""

import torch


def run(a, b):
    return torch.addcmul(a, a, b)
