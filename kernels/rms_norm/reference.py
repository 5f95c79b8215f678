"""RMS norm over the last dimension (Zhang and Sennrich, 2019)."""

from torch.nn import functional


def reference(x, weight, eps):
    """y[i, j] = x[i, j] * weight[j] / sqrt(mean over k of x[i, k] ** 2 + eps)."""
    return functional.rms_norm(x, weight.shape, weight, eps)


def jax_reference(x, weight, eps):
    """As reference, in JAX: computed in float32 and rounded once."""
    import jax
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    scale = jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + eps)
    return (wide * scale * weight).astype(x.dtype)
