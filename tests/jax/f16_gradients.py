"""Print how far a training in a dtype (f16 or mixed) is from one in float32.

Both start from the same float16 numbers, as products take them.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_common"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "reference_jax"))

import numpy as np
from mnist_train import MnistTraining

from device import CpuDevice
from mnist_params import MnistTrainParams
from timing import no_mark
from training import Inputs


def main() -> int:
    params = MnistTrainParams(hidden=512, batch=32, steps=10, rate=0.003, seed=1)
    half, single = Inputs(params, sys.argv[1]), Inputs(params, "f32")
    single.weights = [weight.astype(np.float16).astype(np.float32) for weight in half.weights]
    images = half.images
    single.__dict__["images"] = images._replace(
        train_x=images.train_x.astype(np.float32), test_x=images.test_x.astype(np.float32)
    )
    found, expected = (
        MnistTraining("scan", inputs, CpuDevice(), no_mark).output() for inputs in (half, single)
    )
    print(
        json.dumps(
            {
                name: float(np.linalg.norm(found[name] - array) / np.linalg.norm(array))
                for name, array in expected.items()
            }
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
