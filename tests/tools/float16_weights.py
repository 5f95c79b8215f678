"""What the checks of mnist_train, dtype mixed, find of weights that are float16 in truth.

    .venv/bin/python tests/tools/float16_weights.py WIDTH…

For two seeds: the error of `small_descent` with float16 weights, and with float32 weights but float16
logits, as autocast computes them; and where a sample with float16 weights ends, 0 being the loss of
the reference after all steps and 1 that after half of them. Products and sums are float32.
"""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "reference_common"))

import mnist_data
from mlp_weights import start_weights
from mnist_params import MIXED_DESCENTS, SAMPLE_STEPS, MnistTrainParams

TEST_IMAGES = 2000
Array = Any


def half(values: Array) -> Array:
    return values.astype(np.float16).astype(np.float32)


def forward(x: Array, weights: list[Array]) -> list[Array]:
    """Return the inputs of each layer, then the logits."""
    a = [half(x / np.float32(255))]
    for layer in range(4):
        z = a[-1] @ half(weights[2 * layer]).T + half(weights[2 * layer + 1])
        a.append(half(np.maximum(z, 0)) if layer < 3 else z)
    return a


def losses_of(logits: Array, labels: Array) -> tuple[float, Array]:
    """Return the mean loss and the gradient of the sum."""
    logits = logits.astype(np.float64) - logits.max(axis=1, keepdims=True)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    right = np.arange(len(labels)), labels
    loss = float(-np.log(shares[right]).mean())
    shares[right] -= 1
    return loss, half(shares)


def train(
    params: MnistTrainParams, order: Array, half_weights: bool, half_logits: bool = False
) -> tuple[list[float], list[Array]]:
    """Return the losses before each step, and the weights after the last."""
    images = mnist_data.load()
    stored = half if half_weights else np.asarray
    weights = [stored(weight) for weight in start_weights(params.layers, params.seed)]
    losses = []
    for numbers in order:
        a = forward(images.train_images[numbers], weights)
        logits = half(a[4]) if half_logits else a[4]
        loss, delta = losses_of(logits, images.train_labels[numbers])
        losses.append(loss)
        for layer in (3, 2, 1, 0):
            gradients = delta.T @ a[layer], delta.sum(axis=0)
            delta = half((delta @ half(weights[2 * layer])) * (a[layer] > 0))
            for i, gradient in enumerate(gradients, 2 * layer):
                step = np.float32(params.rate / params.batch) * gradient
                weights[i] = stored(weights[i] - step)
    return losses, weights


def falls(params: MnistTrainParams, half_weights: bool, half_logits: bool = False) -> Array:
    order = np.repeat(params.order()[:1], params.descent_steps, axis=0)
    losses, _ = train(params, order, half_weights, half_logits)
    return losses[0] - np.array(losses)


def test_loss(params: MnistTrainParams, steps: int, half_weights: bool) -> float:
    images = mnist_data.load()
    _, weights = train(params, params.order()[:steps], half_weights)
    logits = forward(images.test_images[:TEST_IMAGES], weights)[4]
    return losses_of(logits, images.test_labels[:TEST_IMAGES])[0]


def main() -> None:
    for width in map(int, sys.argv[1:]):
        for seed in (1, 2):
            params = MnistTrainParams(width, 32, SAMPLE_STEPS, 0.003, seed)
            slow = replace(params, rate=MIXED_DESCENTS["small_descent"])
            right = falls(slow, half_weights=False)
            errors = [
                np.linalg.norm(other - right) / np.linalg.norm(right)
                for other in (falls(slow, True), falls(slow, False, half_logits=True))
            ]
            middle, end, found = (
                test_loss(params, steps, half_weights)
                for steps, half_weights in (
                    (SAMPLE_STEPS // 2, False),
                    (SAMPLE_STEPS, False),
                    (SAMPLE_STEPS, True),
                )
            )
            print(
                f"width {width}, seed {seed}: float16 weights {errors[0]:.1%}, "
                f"float16 logits {errors[1]:.2%}; after all steps {(found - end) / (middle - end):.2f}"
            )


if __name__ == "__main__":
    main()
