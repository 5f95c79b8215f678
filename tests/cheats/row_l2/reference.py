"""The L2 norm of each row, which no change of signs and no order of its elements changes."""

import torch


def reference(x):
    return torch.linalg.vector_norm(x, dim=1)
