"""How far honest gradients are off in their worst row and column, on the CPU.

    .venv/bin/python tests/tools/row_errors.py [WIDTH…]

Computes the gradients of one step of a network 784-WIDTH-WIDTH-WIDTH-10 in float64 and as contenders
do: in float32, with factors rounded to TF32, and with activations and deltas rounded to float16
(there, float64 rounds them, too). Of ten sets of start weights, prints the largest error of an
array, of a row and of a column, as a multiple of the tolerance, and how many arrays exceed it and
are left out: a neuron with an input close to 0 is switched on for one image and off for the other.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "reference_common"))
import mnist_data  # noqa: E402

SETS = 10


def as_is(array: Any) -> Any:
    return array


def to_tf32(array: Any) -> Any:
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def to_f16(array: Any) -> Any:
    return array.astype(np.float16).astype(array.dtype)


class Kind(NamedTuple):
    """A kind of contender: its tolerance, batch, and how it rounds factors and what it stores."""

    tolerance: float
    batch: int
    factor: Callable[[Any], Any]
    stored: Callable[[Any], Any]


KINDS = {
    "f32": Kind(1e-4, 64, as_is, as_is),
    "tf32": Kind(5e-2, 64, to_tf32, as_is),
    "f16": Kind(2.5e-2, 32, as_is, to_f16),
}


def gradients(weights: list[Any], x: Any, digits: Any, kind: Kind) -> list[Any]:
    """Return the gradients of the sum of losses, in the type of `x`."""
    kept, a = [], x
    for w in weights:
        kept.append(np.column_stack((a, np.ones(len(a), a.dtype))))
        z = kind.stored(kind.factor(kept[-1]) @ kind.factor(w.astype(x.dtype)).T)
        a = np.maximum(z, 0)
    shares = np.exp(z - z.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(x)), digits] -= 1
    delta, found = kind.stored(shares), []
    for w, a in zip(weights[::-1], kept[::-1], strict=True):
        found.insert(0, kind.stored(kind.factor(delta).T @ kind.factor(a)))
        back = kind.factor(delta) @ kind.factor(w[:, :-1].astype(x.dtype))
        delta = kind.stored(back * (a[:, :-1] > 0))
    return found


def errors(found: Any, expected: Any) -> list[float]:
    """Return the relative L2 error of the array, of its worst row and column (measure/verify.h)."""
    wrong, right = (found.astype(np.float64) - expected) ** 2, expected**2
    worst = [wrong.sum() / right.sum()]
    for axis in (1, 0):
        average = right.mean() * right.shape[axis]
        worst.append((wrong.sum(axis) / np.maximum(right.sum(axis), average)).max())
    return list(np.sqrt(worst))


def largest(kind: Kind, width: int, images: mnist_data.Dataset) -> Any:
    exact = kind._replace(factor=as_is)
    found = []
    for seed in range(SETS):
        draw = np.random.default_rng(seed)
        sizes = [784, width, width, width, 10]
        weights = [
            kind.stored(draw.uniform(-1, 1, (n_out, n_in + 1)).astype(np.float32) / n_in**0.5)
            for n_in, n_out in zip(sizes, sizes[1:], strict=False)
        ]
        numbers = draw.integers(0, len(images.train_labels), kind.batch)
        x = kind.stored(images.train_images[numbers].astype(np.float32) / np.float32(255))
        digits = images.train_labels[numbers]
        pairs = zip(
            gradients(weights, x, digits, kind),
            gradients(weights, x.astype(np.float64), digits, exact),
            strict=True,
        )
        found += [errors(*pair) for pair in pairs]
    times = np.array(found) / kind.tolerance
    passed = times[times[:, 0] <= 1]
    return [*np.max(passed, axis=0), len(times) - len(passed)]


def main() -> None:
    images = mnist_data.load()
    print(
        f"{'dtype':>5} {'width':>6} {'array':>8} {'row':>8} {'column':>8}   left out, of {4 * SETS}"
    )
    for width in [int(text) for text in sys.argv[1:]] or [32, 128, 784]:
        for name, kind in KINDS.items():
            numbers = largest(kind, width, images)
            print(f"{name:>5} {width:6}", *(f"{number:8.2g}" for number in numbers))


if __name__ == "__main__":
    main()
