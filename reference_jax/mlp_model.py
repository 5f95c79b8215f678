"""The multilayer perceptron of `mlp_train`, as a function of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp

# W and b of layer 0, 1, …
Weights = Sequence[Any]


def precision_of(dtype: str) -> AbstractContextManager[Any]:
    """Return the context in which code for this dtype is traced: no TF32 for float32."""
    names = {"f32": "highest", "tf32": "tensorfloat32", "f16": "default"}
    return jax.default_matmul_precision(names[dtype])


@jax.custom_vjp
def _linear(x: jax.Array, w: jax.Array, b: jax.Array) -> jax.Array:
    """Return x·Wᵀ + b; in float16 rounded once, after the bias.

    A product that is rounded before it gets its bias changes the sign of some small sums, and with
    it what ReLU lets pass. JAX would derive products of float32 and float16 from this; hence the
    derivative below, whose products are in the inputs' dtype.
    """
    product = jnp.matmul(x, w.T, preferred_element_type=jnp.float32)
    return (product + b.astype(jnp.float32)).astype(x.dtype)


def _linear_forward(x: jax.Array, w: jax.Array, b: jax.Array) -> tuple[jax.Array, Any]:
    return _linear(x, w, b), (x, w)


def _linear_backward(kept: Any, dy: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    x, w = kept
    return dy @ w, dy.T @ x, dy.sum(axis=0)


_linear.defvjp(_linear_forward, _linear_backward)


def logits_of(x: jax.Array, weights: Weights) -> jax.Array:
    """Return the model's output by matrix products in x's dtype."""
    layers = _layers([weight.astype(x.dtype) for weight in weights])
    for w, b in layers[:-1]:
        x = jax.nn.relu(_linear(x, w, b))
    return _linear(x, *layers[-1])


def _layers(weights: Weights) -> list[tuple[Any, Any]]:
    return list(zip(weights[0::2], weights[1::2], strict=True))
