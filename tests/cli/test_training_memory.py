"""Device memory of a training on the fake driver: out of memory, and graph capture."""

from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_driver
from project import bench, compiler_options, make_root_without_images, read_cases, write_sweep


def train(
    folder: Path, root: Path, contender: dict[str, Any], axes: dict[str, list[Any]], *flags: str
) -> list[dict[str, Any]]:
    """Return the cases; nothing is computed, so finished cases are wrong."""
    compiler_options()
    driver = build_driver(folder / "lib", "-DMEMORY_MIB=1024", *flags)
    sweep = write_sweep(folder / "s.json", "mlp_train", [contender], axes=axes)
    keys = {
        **driver,
        "MNIST_DIR": "",
        "BENCH_CUPTI": "none",
    }
    bench("run", sweep, "--out", folder / "run", expect=1, root=root, **keys)
    cases = read_cases(folder / "run").items()
    return [case for name, case in cases if name.startswith("mlp_train/")]


@pytest.mark.long
def test_last_batch_of_another_size_class_can_be_captured(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The driver cannot allocate while a graph is captured.

    Activations of 17000 images are blocks of large segments, those of the last 9000 of small ones,
    which full batches hardly use.
    """
    axes = {"width": [16], "depth": [3], "batch": [17_000], "epochs": [1]}
    contender = {"engine": "cuda", "variants": ["04_graph"]}
    (case,) = train(tmp_path, make_root_without_images(tmp_path_factory), contender, axes)
    assert case["status"] == "wrong", case["reason"]
    assert "gradient_0 differs" in case["reason"]
