"""mnist_train on the command line: bad and extreme parameters, and bad files of the data set."""

import gzip
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, bench, make_root, read_cases, write_sweep

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


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("hidden", 7, "an integer 8…16384"),
        ("hidden", 16385, "an integer 8…16384"),
        ("batch", 0, "an integer 1…4096"),
        ("batch", 4097, "an integer 1…4096"),
        ("steps", 0, "an integer 1…1000000"),
        ("steps", 1000001, "an integer 1…1000000"),
        ("rate", 0, "a number 1e-09…1"),
        ("seed", 0, "an integer 1…2147483647"),
        ("seed", 2**31, "an integer 1…2147483647"),
    ],
)
def test_refused_parameter_measures_nothing(
    key: str, value: int, expected: str, tmp_path: Path
) -> None:
    sweep = write_sweep(tmp_path / "s.json", "mnist_train", [CPU], axes={key: [value]})
    done = bench("run", sweep, "--out", tmp_path / "run", expect=2)
    problem = f"found integer {value}, expected {expected}"
    assert done.stderr == f"bench: {sweep}: $.axes.{key}[0]: {problem}\n"
    options = ["--workload", "mnist_train", "--set", f"{key}={value}", "--out", tmp_path / "run"]
    assert f"bench: --set {key}: {problem}\n" in bench("run", *options, expect=2).stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("batch", [7, 64, 4096])
def test_batch_must_divide_the_images(batch: int, tmp_path: Path) -> None:
    sweep = write_sweep(tmp_path / "s.json", "mnist_train", [CPU], axes={"batch": [32, batch]})
    done = bench("run", sweep, "--out", tmp_path / "run", expect=2)
    assert f"batch {batch} does not divide the 60000 training images" in done.stderr
    assert str(sweep) in done.stderr
    assert not (tmp_path / "run").exists()


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


def test_cases_unsupported_by_omp_are_skipped(project_without_images: Path, tmp_path: Path) -> None:
    cases = train(
        tmp_path,
        [CPU],
        axes={"hidden": [8, 513], "steps": [1], "dtype": ["f32", "f16"]},
        root=project_without_images,
        MNIST_DIR="",
    )
    reasons = {
        (case["params"]["hidden"], case["dtype"]): (case["status"], case["reason"])
        for case in cases.values()
    }
    wide = ("skipped", "hidden 513: omp supports at most 512")
    half = ("skipped", "dtype f16: only f32 is written for omp")
    assert reasons == {
        (8, "f32"): ("ok", None),
        (513, "f32"): wide,
        (8, "f16"): half,
        (513, "f16"): half,
    }


def test_rate_that_diverges_fails_with_the_step(
    project_without_images: Path, tmp_path: Path
) -> None:
    cases = train(
        tmp_path,
        [CPU, EAGER],
        expect=1,
        axes={"hidden": [256], "batch": [1], "steps": [400], "rate": [1], "dtype": ["f32"]},
        root=project_without_images,
        MNIST_DIR="",
    )
    for case in cases.values():
        if case["engine"] == "pytorch" and case["status"] == "skipped":
            continue  # PyTorch is not installed
        assert case["status"] == "failed"
        assert re.fullmatch(r"loss is not finite from step [1-9]\d* on", case["reason"])


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


def rewrite(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return what replaces the unpacked bytes of one file."""

    def act(folder: Path) -> None:
        path = folder / name
        content = path.read_bytes()
        path.unlink()
        packed = name.endswith(".gz")
        changed = change(gzip.decompress(content) if packed else content)
        path.write_bytes(gzip.compress(changed, compresslevel=1) if packed else changed)

    return act


def damage(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return what replaces the bytes of one file on disk."""

    def act(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).unlink()
        (folder / name).write_bytes(change(content))

    return act


def exchange(folder: Path) -> None:
    """Put labels in the file of the images."""
    (folder / TEST_IMAGES).unlink()
    shutil.copy(folder / f"{TEST_LABELS}.gz", folder / f"{TEST_IMAGES}.gz")


LABELS_GZ = f"{TRAIN_LABELS}.gz"
BAD_FILES = {
    "missing": (
        lambda folder: (folder / LABELS_GZ).unlink(),
        f"has no {TRAIN_LABELS} and no {TRAIN_LABELS}.gz",
    ),
    "truncated": (
        rewrite(TRAIN_IMAGES, lambda content: content[:-1]),
        f"{TRAIN_IMAGES}: ends after 47040015 bytes, expected 47040016",
    ),
    "empty": (
        rewrite(TEST_IMAGES, lambda _: b""),
        f"{TEST_IMAGES}: ends after 0 bytes, expected 7840016",
    ),
    "too_long": (
        rewrite(LABELS_GZ, lambda content: content + b"\0"),
        f"{LABELS_GZ}: goes on behind the 60008 bytes that were expected",
    ),
    "mislabelled": (
        rewrite(LABELS_GZ, lambda content: content[:20] + b"\x0a" + content[21:]),
        f"{LABELS_GZ}: label 12 is 10, expected 0 … 9",
    ),
    "fewer_labels_than_images": (
        rewrite(LABELS_GZ, lambda content: struct.pack(">2I", 0x801, 59_999) + content[8:-1]),
        f"{LABELS_GZ}: found 59999 labels, expected 60000, one for each image",
    ),
    "other_shape": (
        rewrite(TEST_IMAGES, lambda content: content[:11] + b"\x1d" + content[12:]),
        f"{TEST_IMAGES}: found 10000 images of 29 × 28, expected 10000 of 28 × 28",
    ),
    "exchanged": (
        exchange,
        f"{TEST_IMAGES}.gz: found magic number 0x00000801, expected 0x00000803: "
        "no IDX file of images",
    ),
    "gzip_cut": (
        damage(LABELS_GZ, lambda content: content[:-3]),
        f"{LABELS_GZ}: the gzip stream ends too early",
    ),
    "gzip_damaged": (
        damage(LABELS_GZ, lambda content: content[:-8] + b"\0\0\0\0" + content[-4:]),
        rf"{LABELS_GZ}: cannot read: .*incorrect data check",
    ),
}


@pytest.mark.parametrize("kind", BAD_FILES)
def test_bad_files_fail_with_their_name(kind: str, files: Path, tmp_path: Path) -> None:
    spoil, expected = BAD_FILES[kind]
    spoil(files)
    cases = train(tmp_path, [CPU], expect=1, MNIST_DIR=str(files))
    (case,) = cases.values()
    assert case["status"] == "failed"
    assert str(files) in case["reason"]
    pattern = expected if kind == "gzip_damaged" else re.escape(expected)
    assert re.search(pattern, case["reason"]), case["reason"]


def test_named_folder_without_files_is_an_error(tmp_path: Path) -> None:
    (case,) = train(tmp_path, [CPU], expect=1, MNIST_DIR=str(tmp_path)).values()
    assert case["status"] == "failed"
    assert case["reason"].startswith(f"$MNIST_DIR: {tmp_path} has no {TRAIN_IMAGES}")


# ---- sweeps -------------------------------------------------------------------------------------


def test_sweep_has_the_planned_cases() -> None:
    done = bench("plan", "sweeps/mnist_train.json", cwd=ROOT)
    ids = {line.split()[1] for line in done.stdout.splitlines()[:-1]}
    for hidden in (128, 512, 1024, 2048, 4096, 8192):
        for mode in ("graph", "manual_graph"):
            assert f"mnist_train/pytorch-cuda/{mode}/hidden={hidden}" in ids
        assert any(re.fullmatch(rf"mnist_train/cuda/\w+/hidden={hidden}", name) for name in ids)
    slow = {"eager": (128, 1024), "compile_graph": (1024, 8192)}  # to run, and to compile
    for mode, widths in slow.items():
        found = {name for name in ids if name.startswith(f"mnist_train/pytorch-cuda/{mode}/")}
        assert found == {f"mnist_train/pytorch-cuda/{mode}/hidden={hidden}" for hidden in widths}
    for seed in (2, 3):
        found = {name for name in ids if name.endswith(f"/seed={seed}")}
        rungs = ("04_weight_streaming", "05_persistent", "06_on_chip")
        contenders = [*(f"cuda/{rung}" for rung in rungs), "pytorch-cuda/graph"]
        assert found == {
            f"mnist_train/{contender}/hidden={hidden}/seed={seed}"
            for contender in contenders
            for hidden in (128, 1024)
        }
