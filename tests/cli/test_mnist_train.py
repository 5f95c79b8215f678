"""mnist_train on the command line: extreme parameters, a folder without files."""

import json
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, bench, make_root_without_images, read_cases, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

CPU = {"engine": "cpu", "variants": ["omp"]}
EAGER = {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]}
SMALL = {"hidden": [8], "batch": [4], "steps": [3], "dtype": ["f32"]}


def train(
    folder: Path,
    contenders: list[dict[str, Any]],
    expect: int | None = 0,
    axes: dict[str, list[Any]] = SMALL,
    **keys: Any,
) -> dict[str, dict[str, Any]]:
    sweep = write_sweep(folder / "s.json", "mnist_train", contenders, axes=axes)
    bench("run", sweep, "--out", folder / "run", expect=expect, **keys)
    return read_cases(folder / "run")


def test_smallest_of_everything(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    cases = train(
        tmp_path,
        [CPU, EAGER],
        axes={"hidden": [8], "batch": [1], "steps": [1], "dtype": ["f32"], "seed": [2**31 - 1]},
        root=make_root_without_images(tmp_path_factory),
        MNIST_DIR="",
    )
    assert len(cases) == 2
    for case in cases.values():
        if case["engine"] == "pytorch" and case["status"] == "skipped":
            continue  # PyTorch is not installed
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
        assert case["results"]["dataset"] == "synthetic"
        assert [step for step, _ in case["results"]["loss"]] == [0]
        assert case["phases"]["step"]["median"] > 0


def test_a_call_is_the_first_steps_of_a_longer_training(tmp_path: Path) -> None:
    (case,) = train(tmp_path, [CPU], axes={**SMALL, "steps": [400], "images": [100]}).values()
    assert case["status"] == "ok", case["reason"]
    assert [step for step, _ in case["results"]["loss"]][-1] == 399


def test_named_folder_without_files_is_an_error(tmp_path: Path) -> None:
    (case,) = train(tmp_path, [CPU], expect=1, MNIST_DIR=str(tmp_path)).values()
    assert case["status"] == "failed"
    assert case["reason"].startswith(f"$MNIST_DIR: {tmp_path} has no train-images-idx3-ubyte")


def test_one_step_in_float16_can_be_checked(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What another batch changes was within the tolerance: all cases of the parts of a step failed."""
    pytest.importorskip("torch")
    of_parts = json.loads((ROOT / "sweeps/mnist_train_stages.json").read_text("utf-8"))["axes"]
    axes = {**of_parts, "hidden": [32]}
    root = make_root_without_images(tmp_path_factory)
    (case,) = train(tmp_path, [EAGER], axes=axes, root=root, MNIST_DIR="").values()
    assert case["status"] == "ok", case["reason"]
