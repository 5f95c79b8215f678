"""The training of mlp_train in float64 with NumPy."""

from typing import Any, NamedTuple

import numpy as np

TOLERANCE = {"f32": 1e-4, "tf32": 1e-2}
"""The workload's tolerance: relative L2 error of each array."""


class Trained(NamedTuple):
    losses: list[float]
    """The loss of each step, before the update."""
    gradients: list[Any]
    """The gradients of the first step by layer, with the bias's in the last column."""
    validation_loss: float
    accuracy: float


def train(inputs, steps: int) -> Trained:
    """Train from the start weights of `inputs` and validate after the last step."""
    params, images = inputs.params, inputs.dataset
    layers = [weight.double().numpy() for weight in inputs.weights]
    # The bias is the weight of an additional input that is always 1.
    weights = [np.column_stack(pair) for pair in zip(layers[0::2], layers[1::2], strict=True)]
    losses, first = [], []
    batches = _batches(inputs.order.numpy(), params.batch)
    for _, numbers in zip(range(steps), batches, strict=False):
        x, digits = _x(images.train_images[numbers]), images.train_labels[numbers]
        loss, gradients, _ = _loss_and_gradients(weights, x, digits)
        losses.append(loss)
        first = first or gradients
        weights = [w - params.rate * g for w, g in zip(weights, gradients, strict=True)]
    assert len(losses) == steps
    tested = _loss_and_gradients(weights, _x(images.test_images), images.test_labels)
    return Trained(losses, first, tested[0], tested[2])


def error_of(found, expected) -> float:
    """Return the relative L2 error."""
    found, expected = (np.asarray(array, dtype=np.float64) for array in (found, expected))
    assert found.shape == expected.shape
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def _batches(orders, batch):
    for order in orders:
        for first in range(0, len(order), batch):
            yield order[first : first + batch]


def _x(pixels):
    return (pixels.astype(np.float32) / np.float32(255)).astype(np.float64)


def _loss_and_gradients(weights, x, digits):
    kept, a = [], x
    for w in weights:
        kept.append(np.column_stack((a, np.ones(len(a)))))
        z = kept[-1] @ w.T
        a = np.maximum(z, 0)
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    right = np.arange(len(x)), digits
    loss = -np.log(shares[right]).mean()
    accuracy = (z.argmax(axis=1) == digits).mean()
    shares[right] -= 1
    delta = shares / len(x)
    gradients = []
    for w, a in zip(weights[::-1], kept[::-1], strict=True):
        gradients.insert(0, delta.T @ a)
        delta = (delta @ w[:, :-1]) * (a[:, :-1] > 0)
    return loss, gradients, accuracy
