"""The forward pass of a perceptron."""

import torch
from torch import Tensor, nn
from torch.nn import functional

# torch.compile turns a sum over fewer terms into code that it fuses with what surrounds it
# (unroll_reductions_threshold of torch._inductor.config).
UNROLLED = 8
# Weights of so many elements at most are written out for XLA.
WRITTEN_OUT = 64


def reference(x: Tensor, w: list[Tensor], b: list[Tensor], *, fused: bool) -> Tensor:
    """Return y for each row of x; `fused`: small layers as sums, so that they become one kernel."""
    for weights, bias in zip(w[:-1], b[:-1], strict=True):
        x = torch.relu(linear(x, weights, bias, fused))
    return linear(x, w[-1], b[-1], fused)


def linear(x: Tensor, w: Tensor, b: Tensor, fused: bool) -> Tensor:
    """Return x·wᵀ + b."""
    if fused and w.shape[1] < UNROLLED:
        return (x[:, None, :] * w).sum(-1) + b
    return functional.linear(x, w, b)


def model(w: list[Tensor], b: list[Tensor]) -> nn.Module:
    """Build the model as users do: modules, then these weights."""
    modules: list[nn.Module] = []
    for weights, bias in zip(w, b, strict=True):
        layer = nn.Linear(weights.shape[1], weights.shape[0], dtype=weights.dtype)
        with torch.no_grad():
            layer.weight.copy_(weights)
            layer.bias.copy_(bias)
        modules += [layer, nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def jax_reference(x, w, b, *, fused):
    """Return the same in JAX."""
    import jax.numpy as jnp

    if fused and all(weights.size <= WRITTEN_OUT for weights in w):
        return written_out(x, w, b)
    for layer, (weights, bias) in enumerate(zip(w, b, strict=True)):
        x = x if layer == 0 else x.clip(0)
        x = (jnp.matmul(x, weights.T, preferred_element_type=jnp.float32) + bias).astype(x.dtype)
    return x


def written_out(x, w, b):
    """Return the same with each product of each layer by itself."""
    import jax.numpy as jnp

    columns = [x[:, i] for i in range(x.shape[1])]
    for layer, (weights, bias) in enumerate(zip(w, b, strict=True)):
        columns = [column if layer == 0 else column.clip(0) for column in columns]
        columns = [
            sum((column * weights[j, i] for i, column in enumerate(columns)), start=bias[j])
            for j in range(weights.shape[0])
        ]
    return jnp.stack(columns, axis=1)
