"""MNIST's files and the synthetic set: exact bytes, and reasons for bad files."""

import gzip
import json
import zlib
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")

import mnist_data  # noqa: E402 -- these need NumPy and PyTorch
from mnist_data import FILES, Shape  # noqa: E402
from workload import CaseError  # noqa: E402

KNOWN = json.loads((Path(__file__).parents[1] / "fixtures" / "mnist_known.json").read_text())
TRAIN_IMAGES, TRAIN_LABELS, TEST_IMAGES, TEST_LABELS = FILES
SMALL = Shape(n_train=3, n_test=2, rows=2, columns=4)


def idx(magic: int, *sizes: int, data: bytes) -> bytes:
    return b"".join(number.to_bytes(4, "big") for number in (magic, *sizes)) + data


def small_files() -> dict[str, bytes]:
    """Return the files of `SMALL`, with all pixels and labels different."""
    return {
        TRAIN_IMAGES: idx(0x803, 3, 2, 4, data=bytes(range(24))),
        TRAIN_LABELS: idx(0x801, 3, data=bytes([7, 0, 9])),
        TEST_IMAGES: idx(0x803, 2, 2, 4, data=bytes(range(100, 116))),
        TEST_LABELS: idx(0x801, 2, data=bytes([1, 2])),
    }


def write(folder: Path, files: dict[str, bytes], pack=lambda data: data, end: str = "") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}{end}").write_bytes(pack(data))


def check_small(dataset) -> None:
    assert dataset.name == "mnist"
    assert dataset.train_images.tolist() == [list(range(i, i + 8)) for i in (0, 8, 16)]
    assert dataset.train_labels.tolist() == [7, 0, 9]
    assert dataset.test_images.tolist() == [list(range(i, i + 8)) for i in (100, 108)]
    assert dataset.test_labels.tolist() == [1, 2]


def two_streams(data: bytes) -> bytes:
    return gzip.compress(data[:5]) + gzip.compress(data[5:])


@pytest.mark.parametrize(
    ("pack", "end"),
    [(bytes, ""), (gzip.compress, ".gz"), (gzip.compress, ""), (two_streams, ".gz")],
    ids=["plain", "gzip", "gzip without .gz suffix", "gzip in two streams"],
)
def test_files_are_read(tmp_path, pack, end):
    write(tmp_path, small_files(), pack, end)
    check_small(mnist_data.read(tmp_path, SMALL))


def test_a_plain_file_precedes_a_gzipped_one(tmp_path):
    write(tmp_path, small_files())
    write(tmp_path, dict.fromkeys(FILES, b"not gzip"), end=".gz")
    check_small(mnist_data.read(tmp_path, SMALL))


BAD = {  # name of the file, its content, the reason after its path
    "cut in the header": (TRAIN_IMAGES, b"\0\0\x08", "ends after 3 bytes, expected 40"),
    "cut in the data": (
        TRAIN_IMAGES,
        small_files()[TRAIN_IMAGES][:-1],
        "ends after 39 bytes, expected 40",
    ),
    "empty": (TEST_LABELS, b"", "ends after 0 bytes, expected 10"),
    "too long": (
        TRAIN_LABELS,
        small_files()[TRAIN_LABELS] + b"\0",
        "goes on behind the 11 bytes that were expected",
    ),
    "labels for images": (
        TEST_IMAGES,
        idx(0x801, 24, data=bytes(24)),
        "found magic number 0x00000801, expected 0x00000803: no IDX file of images",
    ),
    "images for labels": (
        TEST_LABELS,
        idx(0x803, 2, data=bytes(2)),
        "found magic number 0x00000803, expected 0x00000801: no IDX file of labels",
    ),
    "other images": (
        TEST_IMAGES,
        idx(0x803, 2, 4, 2, data=bytes(16)),
        "found 2 images of 4 × 2, expected 2 of 2 × 4",
    ),
    "other labels": (
        TRAIN_LABELS,
        idx(0x801, 2, data=bytes(3)),
        "found 2 labels, expected 3, one for each image",
    ),
    "no digit": (
        TRAIN_LABELS,
        idx(0x801, 3, data=bytes([0, 10, 11])),
        "label 1 is 10, expected 0 … 9",
    ),
    "gzip cut in the data": (
        TRAIN_LABELS,
        gzip.compress(small_files()[TRAIN_LABELS][:-2]),
        "ends after 9 bytes, expected 11",
    ),
    "gzip cut in the checksum": (
        TRAIN_LABELS,
        gzip.compress(small_files()[TRAIN_LABELS])[:-3],
        "the gzip stream ends too early",
    ),
    "gzip with another checksum": (
        TRAIN_LABELS,
        gzip.compress(small_files()[TRAIN_LABELS])[:-8] + bytes(8),
        "cannot read: Error -3 while decompressing data: incorrect data check",
    ),
    "gzip, too long": (
        TEST_IMAGES,
        gzip.compress(small_files()[TEST_IMAGES] + bytes(1000)),
        "goes on behind the 32 bytes that were expected",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_reported_with_the_reason(tmp_path, kind):
    name, content, reason = BAD[kind]
    write(tmp_path, {**small_files(), name: content})
    with pytest.raises(CaseError) as error:
        mnist_data.read(tmp_path, SMALL)
    assert str(error.value) == f"{tmp_path / name}: {reason}"


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_named(tmp_path, name):
    write(tmp_path, small_files())
    (tmp_path / name).unlink()
    with pytest.raises(CaseError) as error:
        mnist_data.read(tmp_path, SMALL)
    assert str(error.value) == f"{tmp_path}: has no {name} and no {name}.gz"


def test_a_folder_in_place_of_a_file_cannot_be_opened(tmp_path):
    write(tmp_path, small_files())
    (tmp_path / TEST_IMAGES).unlink()
    (tmp_path / TEST_IMAGES).mkdir()
    with pytest.raises(CaseError, match="t10k-images-idx3-ubyte: cannot open: Is a directory"):
        mnist_data.read(tmp_path, SMALL)


# ---- the search ------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    return project


def test_find_returns_none_without_files(root):
    assert mnist_data.find(root) is None


def test_folders_are_tried_in_order(root, tmp_path, monkeypatch):
    one_file = {TEST_LABELS: b""}
    write(tmp_path / "shared/data/mnist", one_file, end=".gz")
    assert mnist_data.find(root) == root / "../shared/data/mnist"
    write(root / "data/mnist", one_file)
    assert mnist_data.find(root) == root / "data/mnist"
    write(tmp_path / "mine", one_file)
    monkeypatch.setenv("MNIST_DIR", str(tmp_path / "mine"))
    assert mnist_data.find(root) == tmp_path / "mine"


def test_a_named_folder_without_files_is_an_error(root, tmp_path, monkeypatch):
    write(root / "data/mnist", small_files())
    monkeypatch.setenv("MNIST_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(CaseError) as error:
        mnist_data.find(root)
    name = "train-images-idx3-ubyte"
    reason = f"$MNIST_DIR: {tmp_path}/nowhere has no {name} and no {name}.gz"
    assert str(error.value) == reason


def test_callers_share_one_copy(root, monkeypatch):
    monkeypatch.setenv("BENCH_ROOT", str(root))
    first = mnist_data.load()
    assert first.name == "synthetic"
    assert mnist_data.load() is first


# ---- known values ----------------------------------------------------------------------------------


def test_the_synthetic_set_to_the_bit():
    made = mnist_data.load()
    assert made.name == "synthetic"
    assert made.train_labels[:16].tolist() == KNOWN["first_train_labels"]
    assert made.test_labels[:16].tolist() == KNOWN["first_test_labels"]
    assert made.train_images[0, :16].tolist() == KNOWN["first_train_pixels"]
    assert made.test_images[-1, -16:].tolist() == KNOWN["last_test_pixels"]
    for name, crc32 in KNOWN["crc32"].items():
        array = getattr(made, name)
        assert array.dtype == np.uint8
        assert f"{zlib.crc32(np.ascontiguousarray(array)):08x}" == crc32, name
