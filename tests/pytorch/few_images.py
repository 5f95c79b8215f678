"""A tenth of the synthetic images; as a program, a worker that uses only these."""

import sys
from pathlib import Path

FOLDERS = ("reference_pytorch", "reference_common")
IMAGES, TESTS = 6000, 1000


def few_images():
    """Return a synthetic set of fewer images."""
    import mnist_data

    shape = mnist_data.MNIST
    mnist_data.MNIST = mnist_data.Shape(IMAGES, TESTS, shape.rows, shape.columns)
    try:
        return mnist_data.synthetic()
    finally:
        mnist_data.MNIST = shape


def main() -> int:
    sys.path[:0] = [str(Path(__file__).parents[2] / name) for name in FOLDERS]
    import mnist_data
    import worker

    few = few_images()
    mnist_data.load = lambda: few
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
