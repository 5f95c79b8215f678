"""Print how far an epoch whose last batch is smaller is from its steps, one by one."""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_common"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_jax"))

import jax.numpy as jnp
import numpy as np

from mlp_trainers import Images, all_steps

BATCH, ORDER = 2, [3, 1, 4, 0, 2]


def main() -> int:
    dice = np.random.default_rng(1)
    x, y = jnp.array(dice.random((5, 3), np.float32)), jnp.array([0, 1, 1, 0, 1])
    images = Images(x, y, x, y)
    start = [dice.normal(size=shape).astype(np.float32) for shape in ((2, 3), (2,))]

    def trained(weights, order, batch):
        given = [jnp.array(weight) for weight in weights], images, jnp.array(order), 0.5
        return all_steps(*given, batch=batch, dtype="f32", unroll=1)

    at_once, losses = trained(start, ORDER, BATCH)
    weights, expected = start, []
    for first in range(0, len(ORDER), BATCH):
        step = ORDER[first : first + BATCH]
        weights, loss = trained(weights, step, len(step))
        expected.append(loss[0])
    pairs = [(losses, jnp.stack(expected)), *zip(at_once, weights, strict=True)]
    print(json.dumps([float(abs(found - right).max()) for found, right in pairs]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
