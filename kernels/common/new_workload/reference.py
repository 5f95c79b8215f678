"""What new_workload computes, in PyTorch: its modes are the rivals, and in float64 it is the oracle.

To change: `reference` gets the inputs of workload.json in their order, then its scalars, and
returns the outputs in theirs, as a tuple if there are several. It must not change an input, not
even one that is in place, nor cast: the oracle calls it with float64.
"""

import torch


def reference(x):
    """Return y[i, j] = x[i, j] · sigmoid(x[i, j]); x and y are (rows, cols)."""
    return x * torch.sigmoid(x)


# For the engine jax, called in the same way with arrays of JAX; import jax inside, as PyTorch's
# processes are without it:
#
# def jax_reference(x):
#     import jax
#
#     return x * jax.nn.sigmoid(x)
