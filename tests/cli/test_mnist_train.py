"""mnist_train on the command line: extreme parameters, trainings that do not learn, bad files."""

import gzip
import struct
from pathlib import Path
from typing import Any

import pytest
from project import bench, make_root, read_cases, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

CPU = {"engine": "cpu", "variants": ["omp"]}
ORACLE = {"engine": "cpu", "variants": ["ref"]}
EAGER = {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]}
SMALL = {"hidden": [8], "batch": [4], "steps": [3], "dtype": ["f32"]}

TRAIN_IMAGES, TRAIN_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
TEST_IMAGES, TEST_LABELS = "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"


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


@pytest.fixture(scope="session")
def project_without_images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project folder without MNIST."""
    top = tmp_path_factory.mktemp("without") / "inside"
    top.mkdir()
    return make_root(top / "project")


@pytest.fixture(scope="session")
def good_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a set of the correct shape: uniform grey images, labels 0 … 9."""
    folder = tmp_path_factory.mktemp("mnist")
    for images, labels, n in (
        (TRAIN_IMAGES, TRAIN_LABELS, 60_000),
        (TEST_IMAGES, TEST_LABELS, 10_000),
    ):
        grey = bytes(range(256)) * (n * 784 // 256)
        (folder / images).write_bytes(struct.pack(">4I", 0x803, n, 28, 28) + grey)
        digits = bytes(i % 10 for i in range(n))
        packed = gzip.compress(struct.pack(">2I", 0x801, n) + digits, compresslevel=1)
        (folder / f"{labels}.gz").write_bytes(packed)
    return folder


@pytest.fixture
def files(good_files: Path, tmp_path: Path) -> Path:
    """Return the set's files as links, which a test may replace."""
    folder = tmp_path / "mnist"
    folder.mkdir()
    for path in good_files.iterdir():
        (folder / path.name).symlink_to(path)
    return folder


# ---- parameters ---------------------------------------------------------------------------------


def test_smallest_of_everything(project_without_images: Path, tmp_path: Path) -> None:
    cases = train(
        tmp_path,
        [CPU, ORACLE, EAGER],
        axes={"hidden": [8], "batch": [1], "steps": [1], "dtype": ["f32"], "seed": [2**31 - 1]},
        root=project_without_images,
        MNIST_DIR="",
    )
    assert len(cases) == 3
    for case in cases.values():
        if case["engine"] == "pytorch" and case["status"] == "skipped":
            continue  # PyTorch is not installed
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
        assert case["results"]["dataset"] == "synthetic"
        assert [step for step, _ in case["results"]["loss"]] == [0]
        assert case["phases"]["step"]["median"] > 0


# ---- the check ----------------------------------------------------------------------------------

STEP, LOWER = "self._optimizer.step()", "lr=self._start_rate(), **"
FAULTS = {
    "nothing is updated": (STEP, "pass", "relative L2 error 1, allowed"),
    "it goes up": (LOWER, f"maximize=True, {LOWER}", "relative L2 error 2."),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_trainings_that_do_not_learn_are_wrong(fault: str, tmp_path: Path) -> None:
    project = make_root(tmp_path / "project", copy="reference_pytorch")
    right, planted, reason = FAULTS[fault]
    trainers = project / "reference_pytorch" / "mlp_trainers.py"
    text = trainers.read_text()
    assert text.count(right) == 1
    trainers.write_text(text.replace(right, planted))
    # At such a rate no losses change.
    axes = {"hidden": [24], "batch": [60], "steps": [4], "rate": [1e-7], "dtype": ["f32"]}
    cases = train(tmp_path, [CPU, EAGER], None, axes, root=project, MNIST_DIR="")
    for case in cases.values():
        if case["engine"] == "cpu":
            assert case["status"] == "ok", case["reason"]
        elif case["status"] != "skipped":  # PyTorch is not installed
            assert case["status"] == "wrong"
            assert case["reason"].startswith("descent differs from the reference output: ")
            assert reason in case["reason"]


# ---- files of the data set ----------------------------------------------------------------------


def test_good_files(files: Path, tmp_path: Path) -> None:
    for case in train(tmp_path, [CPU, EAGER], MNIST_DIR=str(files)).values():
        if case["engine"] == "cpu" or case["status"] != "skipped":
            assert case["status"] == "ok", case["reason"]
            assert case["results"]["dataset"] == "mnist"


def test_a_bad_file_fails_the_case_with_its_name(files: Path, tmp_path: Path) -> None:
    """tests/unit/test_mnist_idx.c has every kind."""
    whole = (files / TRAIN_IMAGES).read_bytes()
    (files / TRAIN_IMAGES).unlink()
    (files / TRAIN_IMAGES).write_bytes(whole[:-1])
    (case,) = train(tmp_path, [CPU], expect=1, MNIST_DIR=str(files)).values()
    assert case["status"] == "failed"
    ends = f"{files}/{TRAIN_IMAGES}: ends after 47040015 bytes, expected 47040016"
    assert ends in case["reason"]


def test_named_folder_without_files_is_an_error(tmp_path: Path) -> None:
    (case,) = train(tmp_path, [CPU], expect=1, MNIST_DIR=str(tmp_path)).values()
    assert case["status"] == "failed"
    assert case["reason"].startswith(f"$MNIST_DIR: {tmp_path} has no {TRAIN_IMAGES}")
