"""Linear regression by full-batch gradient descent: mean squares of w x + b - y."""

import torch

# As in the published runs of JAX: fifty epochs in a turn of XLA's loop.
JAX_UNROLLED = 50


def step(line, x, y, rate, inverse_n, step, fused):
    """Return the new (w, b), and the loss before the step.

    Gradients by hand are fewer passes over the points where each operation is one. Compiled, they and the
    loss are one pass, with those of `torch.func` two, and each sum also makes its step.
    """
    off = torch.addcmul(line[1], x, line[0]) - y
    # First: asked for last, PyTorch 2.11 makes two further passes of it, one of which writes `off`.
    loss = off.square().mean()
    slopes = (off * x).mean(), off.mean()
    if fused:
        new = torch.stack([old - 2 * rate * slope for old, slope in zip(line, slopes)])
    else:
        new = torch.sub(line, torch.stack(slopes), alpha=2 * rate)
    return new, loss


def jax_step(line, x, y, rate, inverse_n, step):
    """As step, in JAX, which finds the gradients."""
    import jax
    import jax.numpy as jnp

    def loss_of(w, b):
        return jnp.mean(jnp.square(w * x + b - y))

    loss, slopes = jax.value_and_grad(loss_of, argnums=(0, 1))(line[0], line[1])
    return line - rate * jnp.stack(slopes), loss
