"""The MNIST data set, or a synthetic one of its shape.

Four IDX files, gzipped or plain, in the first of these folders that has one of them: `$MNIST_DIR`
(if set, the only folder that is searched), `data/mnist` and `../shared/data/mnist` of the project.
Without them, the images are made with Philox. A bad file is an error.
"""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import philox
from workload import CaseError

Bytes = npt.NDArray[np.uint8]

CLASSES = 10
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)

# The third byte is the element type, 8 for unsigned bytes; the fourth is the number of dimensions,
# which follow as big-endian 32-bit numbers.
_MAGIC_LABELS = 0x00000801
_MAGIC_IMAGES = 0x00000803
_GZIP_MAGIC = b"\x1f\x8b"

# No case has seed 0, so no other code draws from these streams.
_SYNTHETIC_KEY = 0
_STREAM_PATTERNS, _STREAM_LABELS, _STREAM_PIXELS = 200, 201, 202
# One word in five is below it: digits cover about a fifth of their image.
_LIT_BELOW = 858_993_459
_CHUNK_IMAGES = 500


class Shape(NamedTuple):
    """Number and size of the images."""

    n_train: int
    n_test: int
    rows: int
    columns: int

    @property
    def pixels(self) -> int:
        return self.rows * self.columns


MNIST = Shape(60_000, 10_000, 28, 28)


@dataclass(frozen=True)
class Dataset:
    """Images, one per row, and their labels."""

    name: str
    train_images: Bytes
    train_labels: Bytes
    test_images: Bytes
    test_labels: Bytes


def load() -> Dataset:
    """Return MNIST if it is found, else the synthetic set; callers share one copy."""
    return _load(find(project_root()))


@lru_cache(maxsize=1)
def _load(folder: Path | None) -> Dataset:
    return synthetic() if folder is None else read(folder)


def project_root() -> Path:
    """Return the project's folder, as the supervisor does (`bench/io/folders.h`)."""
    named = os.environ.get("BENCH_ROOT")
    # Not resolved: `../shared` is relative to a link to this folder.
    data = Path(named) if named else Path(__file__).absolute().parents[1]
    return Path.cwd() if (data / "installed.txt").exists() else data


def find(root: Path) -> Path | None:
    """Return the folder of the data set, or None if there is none."""
    wanted = os.environ.get("MNIST_DIR")
    if wanted:
        if not _has_any(Path(wanted)):
            raise CaseError(f"$MNIST_DIR: {wanted} has no {FILES[0]} and no {FILES[0]}.gz")
        return Path(wanted)
    for place in ("data/mnist", "../shared/data/mnist"):
        if _has_any(root / place):
            return root / place
    return None


def read(folder: Path, shape: Shape = MNIST) -> Dataset:
    """Read the four files; raise `CaseError` for a bad one."""
    parts = []
    for name in FILES:
        path = _path_of(folder, name)
        if path is None:
            raise CaseError(f"{folder}: has no {name} and no {name}.gz")
        n = shape.n_train if name.startswith("train") else shape.n_test
        is_images = "images" in name
        parts.append(_read_images(path, n, shape) if is_images else _read_labels(path, n))
    return Dataset("mnist", *parts)


def synthetic() -> Dataset:
    """Make the substitute for MNIST.

    Each class has a pattern of lit pixels. All pixels are noise; unlit ones are an eighth as bright.
    """
    n_images = MNIST.n_train + MNIST.n_test
    drawn = philox.words(_SYNTHETIC_KEY, _STREAM_LABELS, 0, n_images).astype(np.uint64)
    labels = (drawn * np.uint64(CLASSES) >> np.uint64(32)).astype(np.uint8)
    patterns = philox.words(_SYNTHETIC_KEY, _STREAM_PATTERNS, 0, CLASSES * MNIST.pixels)
    lit = patterns.reshape(CLASSES, MNIST.pixels) < _LIT_BELOW
    images = np.empty((n_images, MNIST.pixels), dtype=np.uint8)
    for first in range(0, n_images, _CHUNK_IMAGES):
        chunk = slice(first, first + _CHUNK_IMAGES)
        n_words = _CHUNK_IMAGES * MNIST.pixels // 4
        noise = philox.words(
            _SYNTHETIC_KEY, _STREAM_PIXELS, first * MNIST.pixels // 4, n_words
        ).astype("<u4")
        bytes_of_noise = noise.view(np.uint8).reshape(_CHUNK_IMAGES, MNIST.pixels)
        images[chunk] = np.where(lit[labels[chunk]], bytes_of_noise, bytes_of_noise >> 3)
    n = MNIST.n_train
    return Dataset("synthetic", images[:n], labels[:n], images[n:], labels[n:])


def _has_any(folder: Path) -> bool:
    return any(_path_of(folder, name) is not None for name in FILES)


def _path_of(folder: Path, name: str) -> Path | None:
    """Return a file's path, plain before gzipped, or None if there is neither."""
    return next((p for p in (folder / name, folder / f"{name}.gz") if p.exists()), None)


def _read_images(path: Path, n: int, shape: Shape) -> Bytes:
    content, header = _read_idx(path, _MAGIC_IMAGES, (n, shape.rows, shape.columns))
    if header != (n, shape.rows, shape.columns):
        found = "{} images of {} × {}".format(*header)
        raise CaseError(f"{path}: found {found}, expected {n} of {shape.rows} × {shape.columns}")
    return _expect_whole(path, content, 16 + n * shape.pixels)[16:].reshape(n, shape.pixels)


def _read_labels(path: Path, n: int) -> Bytes:
    content, header = _read_idx(path, _MAGIC_LABELS, (n,))
    if header != (n,):
        raise CaseError(f"{path}: found {header[0]} labels, expected {n}, one for each image")
    labels = _expect_whole(path, content, 8 + n)[8:]
    bad = np.flatnonzero(labels >= CLASSES)
    if bad.size > 0:
        found = f"label {bad[0]} is {labels[bad[0]]}"
        raise CaseError(f"{path}: {found}, expected 0 … {CLASSES - 1}")
    return labels


class _Content(NamedTuple):
    data: bytes
    ended: bool
    """Whether the gzip stream is complete, checksum included."""


def _read_idx(path: Path, magic: int, sizes: tuple[int, ...]) -> tuple[_Content, tuple[int, ...]]:
    """Return a file's unpacked bytes, at most one more than expected, and its dimensions."""
    header_bytes = 4 + 4 * len(sizes)
    expected = header_bytes + int(np.prod(sizes))
    content = _unpacked(path, expected + 1)
    if len(content.data) < header_bytes:
        raise CaseError(f"{path}: ends after {len(content.data)} bytes, expected {expected}")
    found, *header = np.frombuffer(content.data[:header_bytes], dtype=">u4").tolist()
    if found != magic:
        kind = "images" if magic == _MAGIC_IMAGES else "labels"
        raise CaseError(
            f"{path}: found magic number 0x{found:08x}, expected 0x{magic:08x}: "
            f"no IDX file of {kind}"
        )
    return content, tuple(header)


def _expect_whole(path: Path, content: _Content, expected: int) -> Bytes:
    if len(content.data) < expected:
        raise CaseError(f"{path}: ends after {len(content.data)} bytes, expected {expected}")
    if len(content.data) > expected:
        raise CaseError(f"{path}: goes on behind the {expected} bytes that were expected")
    if not content.ended:
        raise CaseError(f"{path}: the gzip stream ends too early")
    return np.frombuffer(content.data, dtype=np.uint8)


def _unpacked(path: Path, most: int) -> _Content:
    """Return a file's first `most` bytes, unpacked if it is gzipped."""
    try:
        with path.open("rb") as file:
            start = file.read(2)
            if start != _GZIP_MAGIC:
                return _Content(start + file.read(most - 2), True)
            packed = start + file.read()
    except OSError as error:
        raise CaseError(f"{path}: cannot open: {error.strerror}") from error
    try:
        return _gunzipped(packed, most)
    except zlib.error as error:
        raise CaseError(f"{path}: cannot read: {error}") from error


def _gunzipped(packed: bytes, most: int) -> _Content:
    """Unpack concatenated gzip streams, as gzip does, up to `most` bytes."""
    data = b""
    while True:
        stream = zlib.decompressobj(wbits=31)
        data += stream.decompress(packed, most - len(data))
        packed = stream.unused_data
        if not stream.eof or len(data) == most or not packed.startswith(_GZIP_MAGIC):
            return _Content(data, stream.eof)
