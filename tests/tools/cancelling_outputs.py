"""Print how far float32 is from float64 where the only output of mlp_infer (4-5-1, batch 1) cancels.

Relative to the output itself and to the terms of the last layer, over the seeds 1 to N (30000):
the numbers in docs/measuring.md, Checks.
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_common"))

from philox import fill_uniform  # noqa: E402

TOLERANCE = 1e-5


def uniform(n: int, seed: int, stream: int, bound: float) -> np.ndarray:
    values = np.empty(n, np.float32)
    fill_uniform(values, seed, stream, -bound, bound)
    return values


def errors_of(seed: int) -> tuple[float, float]:
    """Return the error of y relative to y, and to the larger of y and its terms."""
    x, outer = uniform(4, seed, 1, 1.0), 1 / np.sqrt(np.float32(5))
    w1, b1 = uniform(20, seed, 16, 0.5).reshape(5, 4), uniform(5, seed, 17, 0.5)
    w2, b2 = uniform(5, seed, 18, outer), uniform(1, seed, 19, outer)
    y = float((w2 @ np.maximum(w1 @ x + b1, 0) + b2)[0])
    hidden = np.maximum(w1.astype(float) @ x + b1, 0)
    terms = np.append(w2 * hidden, b2.astype(float))
    expected = float(terms.sum())
    return (
        abs(y - expected) / abs(expected),
        abs(y - expected) / max(abs(expected), float(np.linalg.norm(terms))),
    )


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 30000
    errors = np.array([errors_of(seed) for seed in range(1, n + 1)])
    over = int((errors[:, 0] > TOLERANCE).sum())
    print(
        f"{n} seeds: relative to y {over} errors over {TOLERANCE:g}, largest {errors[:, 0].max():.2g}"
    )
    print(f"relative to the terms where they are larger: largest {errors[:, 1].max():.2g}")


if __name__ == "__main__":
    main()
