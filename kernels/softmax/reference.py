"""Softmax over the last dimension."""

import torch


def reference(x):
    """y[i, j] = exp(x[i, j]) / sum over k of exp(x[i, k]); x and y are (rows, cols)."""
    return torch.softmax(x, dim=-1)


def jax_reference(x):
    """As reference, in JAX: computed in float32 and rounded once."""
    import jax
    import jax.numpy as jnp

    return jax.nn.softmax(x.astype(jnp.float32), axis=-1).astype(x.dtype)
