"""The training steps of a multilayer perceptron, without timing.

jit   A step is one call of a compiled function, which finds its place in the order itself and
      replaces weights and losses in place (donated buffers).
scan  All steps are one call: a `lax.scan` over the batches; the weights are donated to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mlp_model import logits_of, precision_of

# Steps in one iteration of XLA's loop: on a GPU the host starts every iteration, and XLA puts the
# kernels of one into a CUDA graph. With large weights several steps take longer than one (measured:
# docs/jax.md). On the CPU an iteration costs next to nothing.
_UNROLLED_ON_GPU = 10
_UNROLLED_WEIGHTS_BYTES = 1 << 24
# With the steps of an iteration in one computation, XLA for GPUs would keep weights in float32 from one
# to the next, as they are converted back at once: another training than the one that is written here.
_ROUND_AS_WRITTEN = {"xla_allow_excess_precision": False}
# A learning rate that reveals the gradient, as in PyTorch's `mlp_trainers.py`.
PROBE_RATE = 2.0**60


class Images(NamedTuple):
    """The data set in device memory, with pixels as floating-point numbers."""

    train_x: jax.Array
    train_y: jax.Array
    test_x: jax.Array
    test_y: jax.Array


def losses_of(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the cross-entropy of each image, in float32."""
    chances = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(chances, labels[:, None], axis=1)[:, 0]


def _update(
    weights: list[jax.Array], images: Images, numbers: jax.Array, rate: jax.Array, dtype: str
) -> tuple[list[jax.Array], jax.Array]:
    """Return the weights after a step on the images with these numbers, and the loss before it.

    The gradient is that of the sum of the losses, with a rate divided by their number: in float16 a
    constant loss scale, which keeps gradients away from the lower end of the range.
    """

    def loss_of(weights: list[jax.Array]) -> jax.Array:
        logits = logits_of(images.train_x[numbers], weights)
        return losses_of(logits, images.train_y[numbers]).sum()

    with precision_of(dtype):
        loss, gradients = jax.value_and_grad(loss_of)(weights)
    rate = rate / numbers.size
    weights = [
        (weight.astype(jnp.float32) - rate * gradient.astype(jnp.float32)).astype(weight.dtype)
        for weight, gradient in zip(weights, gradients, strict=True)
    ]
    return weights, loss / numbers.size


@partial(
    jax.jit,
    static_argnames=("batch", "dtype"),
    donate_argnames="state",
    compiler_options=_ROUND_AS_WRITTEN,
)
def one_step(
    state: Any, images: Images, order: jax.Array, rate: jax.Array, *, batch: int, dtype: str
) -> Any:
    """Return weights, losses, and the numbers of the next step and image."""
    weights, losses, step, first = state
    numbers = lax.dynamic_slice_in_dim(order, first, batch)
    weights, loss = _update(weights, images, numbers, rate, dtype)
    return weights, losses.at[step].set(loss), step + 1, first + batch


@partial(
    jax.jit,
    static_argnames=("batch", "dtype", "unroll"),
    donate_argnames="weights",
    compiler_options=_ROUND_AS_WRITTEN,
)
def all_steps(
    weights: list[jax.Array],
    images: Images,
    order: jax.Array,
    rate: jax.Array,
    *,
    batch: int,
    dtype: str,
    unroll: int,
) -> tuple[list[jax.Array], jax.Array]:
    """Return the weights after all steps of the order, and the loss before each."""

    def step(weights: list[jax.Array], numbers: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        return _update(weights, images, numbers, rate, dtype)

    full, rest = divmod(order.size, batch)
    batches = order[: full * batch].reshape(full, batch)
    weights, losses = lax.scan(step, weights, batches, unroll=max(1, min(unroll, full)))
    if rest > 0:
        weights, loss = step(weights, order[-rest:])
        losses = jnp.append(losses, loss)
    return weights, losses


class Trainer:
    """Runs the steps of an order from given weights; all of them are replaced without compiling."""

    def __init__(self, mode: str, images: Images, batch: int, dtype: str, device: Any) -> None:
        self._run = {"jit": self._step_by_step, "scan": self._at_once}[mode]
        self._images = images
        self._static = {"batch": batch, "dtype": dtype}
        self._device = device
        self._rates: dict[float, jax.Array] = {}

    def start(self, weights: Sequence[np.ndarray]) -> None:
        """Copy start weights to the device."""
        self.weights = jax.device_put(list(weights), self._device)

    def place(self, order: np.ndarray) -> None:
        """Copy the numbers of the images of all steps to the device."""
        self._order = jax.device_put(order.reshape(-1), self._device)

    def train(self, rate: float) -> None:
        """Run a step for each batch of the order, without waiting; the last may be smaller."""
        if rate not in self._rates:  # a number that is not on the device is copied in every call
            self._rates[rate] = jax.device_put(np.float32(rate), self._device)
        self.losses = self._run(self._rates[rate])

    def wait(self) -> None:
        """Wait until the weights and losses are computed, or copied to the device."""
        jax.block_until_ready((self.weights, self._order))

    def gradients(self, start: Sequence[np.ndarray], first: np.ndarray) -> list[np.ndarray]:
        """Return the gradients of the mean loss of the first batch.

        Compiled code keeps no gradients: they are the weights' change at a high rate.
        """
        self.start(start)
        self.place(first)
        self.train(PROBE_RATE)
        return [
            (old - np.asarray(new)) / np.float32(PROBE_RATE)
            for old, new in zip(start, self.weights, strict=True)
        ]

    def _at_once(self, rate: jax.Array) -> jax.Array:
        self.weights, losses = all_steps(
            self.weights,
            self._images,
            self._order,
            rate,
            unroll=self._unroll(),
            **self._static,
        )
        return losses

    def _unroll(self) -> int:
        bytes_of_weights = sum(weight.nbytes for weight in self.weights)
        if self._device.platform == "cpu" or bytes_of_weights > _UNROLLED_WEIGHTS_BYTES:
            return 1
        return _UNROLLED_ON_GPU

    def _step_by_step(self, rate: jax.Array) -> jax.Array:
        batch = self._static["batch"]
        full, rest = divmod(self._order.size, batch)
        losses = jnp.full(full + (rest > 0), jnp.nan, jnp.float32, device=self._device)
        counters = (jnp.zeros((), jnp.int32, device=self._device) for _ in range(2))
        state = self.weights, losses, *counters
        for _ in range(full):
            state = one_step(state, self._images, self._order, rate, **self._static)
        if rest > 0:
            state = one_step(
                state, self._images, self._order, rate, **{**self._static, "batch": rest}
            )
        self.weights = state[0]
        return state[1]
