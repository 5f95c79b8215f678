"""Device memory of a training on the fake driver: out of memory, and graph capture."""

import re
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_driver
from project import bench, compiler_options, make_root, read_cases, write_sweep


@pytest.fixture(scope="session")
def project_without_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project folder without MNIST."""
    top = tmp_path_factory.mktemp("without") / "inside"
    top.mkdir()
    return make_root(top / "project")


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
    tmp_path: Path, project_without_images: Path
) -> None:
    """The driver cannot allocate while a graph is captured.

    Activations of 17000 images are blocks of large segments, those of the last 9000 of small ones,
    which full batches hardly use.
    """
    axes = {"width": [16], "depth": [3], "batch": [17_000], "epochs": [1]}
    contender = {"engine": "cuda", "variants": ["04_graph"]}
    (case,) = train(tmp_path, project_without_images, contender, axes)
    assert case["status"] == "wrong", case["reason"]
    assert "gradient_0 differs" in case["reason"]


@pytest.mark.long
def test_memory_that_runs_out_halfway(tmp_path: Path, project_without_images: Path) -> None:
    """After data and gathered images, only a small segment of the cache fits."""
    axes = {"width": [64, 4], "depth": [2], "batch": [6000], "epochs": [1]}
    contender = {"engine": "cuda", "variants": ["01_naive"]}
    wide, narrow = sorted(
        train(tmp_path, project_without_images, contender, axes, "-DGIVEN_MIB=234"),
        key=lambda case: -case["params"]["width"],
    )
    assert wide["status"] == "failed"
    assert re.fullmatch(
        r"out of device memory: could not allocate 1\.54 MB \(21\.0 MB from the driver\); "
        r"18\.8 MB allocated, 18\.9 MB reserved, largest free block 0 B, limit none",
        wide["reason"],
    ), wide["reason"]
    assert narrow["status"] == "wrong", narrow["reason"]
