"""Helpers to run `bench plot` and to read its data files, SVGs and PNGs."""

import gzip
import os
import re
import shlex
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import pytest
from project import ran

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
BENCH = Path(os.environ.get("BENCH", ROOT / "build" / "bench"))
needs_gnuplot = pytest.mark.skipif(
    shutil.which("gnuplot") is None, reason="gnuplot is not installed"
)

RUN_CHARTS = {
    "phases_cuda",
    "phases_pytorch",
    "total",
    "host_to_host",
    "speed",
    "roofline",
    "difference",
    "ladder",
}
TRAINING_CHARTS = RUN_CHARTS | {"operations", "loss"}
CUDA_CHARTS = {"phases_cuda", "roofline"}
STUDY_CHARTS = {"phases_cuda", "phases_pytorch", "total", "difference"}


def plot(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return ran(BENCH, "plot", *arguments, cwd=cwd, expect=None)


def draw(out: Path, *inputs: str | Path, formats: str = "svg") -> Path:
    done = plot(*inputs, "--out", out, "--format", formats)
    assert done.returncode == 0, done.stderr
    return out


def unpacked(folder: Path, saved: Path) -> Path:
    """Return a copy of a saved run whose journal can be edited."""
    folder.mkdir()
    shutil.copy(saved / "run.json", folder)
    packed = (saved / "cases.jsonl.gz").read_bytes()
    (folder / "cases.jsonl").write_bytes(gzip.decompress(packed))
    return folder


Row = list[str]


def blocks(path: Path) -> list[list[Row]]:
    """Return the data blocks of a .dat, split as by gnuplot, without quotes."""
    parts = path.read_text(encoding="utf-8").split("\n\n\n")
    lines = [
        [line for line in part.splitlines() if line and not line.startswith("#")] for part in parts
    ]
    return [[shlex.split(line) for line in block] for block in lines if block]


def texts(path: Path) -> list[str]:
    """Return all texts in an SVG."""
    return [
        element.text.strip()
        for element in ElementTree.parse(path).iter()
        if element.tag.endswith("}text") and element.text
    ]


def text_places(path: Path) -> list[tuple[float, float, str]]:
    """Return (x, y, text) of all horizontal texts, in pixels from the upper left."""
    places = []
    for group in ElementTree.parse(path).iter():
        moved = re.fullmatch(r"translate\(([\d.]+),([\d.]+)\)", group.get("transform", ""))
        found = group.find("{*}text")
        if moved and found is not None and found.text:
            places.append((float(moved[1]), float(moved[2]), found.text.strip()))
    return places


def width_of(path: Path) -> float:
    """Return an SVG's width in pixels."""
    return float(ElementTree.parse(path).getroot().get("width", "nan"))


def png_size(path: Path) -> tuple[int, int]:
    head = path.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", head[16:24])
    return width, height


def line_series(path: Path) -> Iterator[tuple[str, Row]]:
    for block in blocks(path):
        title = block[0][1]
        for row in block[1:]:
            yield title, row
