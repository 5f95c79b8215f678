"""The rungs of kernels/gemm with tensor maps, on the CPU."""

import shutil
from pathlib import Path

import pytest
from project import ROOT, bench
from test_operator_emulate import lines_of

pytestmark = pytest.mark.usefixtures("warm_workers")

ODD = {"m": 136, "n": 264, "k": 328}


@pytest.fixture(name="folder")
def small_gemm(tmp_path: Path) -> Path:
    """Make an operator with small default sizes, whose rungs take products of few tiles."""
    made = tmp_path / "small_gemm"
    shutil.copytree(ROOT / "kernels" / "gemm", made, ignore=shutil.ignore_patterns("*.py[co]"))
    edit(made / "workload.json", '"name": "gemm"', '"name": "small_gemm"')
    for default in ("1024", "4096"):
        edit(made / "workload.json", f'"default": {default}', '"default": 8')
    edit(made / "large_tiles.cuh", "LEAST_TILES 67", "LEAST_TILES 1")
    return made


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text("utf-8")
    assert old in text, (path, old)
    path.write_text(text.replace(old, new), "utf-8")


def check(folder: Path, rung: str, sizes: dict[str, int], expect: int = 0) -> str:
    settings = [word for name, size in sizes.items() for word in ("--set", f"{name}={size}")]
    command = ("workload", "check", folder, "--emulate", "--variant", rung)
    return lines_of(bench(*command, *settings, expect=expect).stdout)[rung]


@pytest.mark.parametrize(
    ("rung", "sizes"),
    [
        ("07_registers", ODD),
        ("09_shared_columns", ODD),
        ("08_two_parts", {"m": 72, "n": 136, "k": 1000}),
        pytest.param("05_tma", ODD, marks=pytest.mark.long),
        pytest.param("06_persistent", ODD, marks=pytest.mark.long),
        pytest.param("08_two_parts", {"m": 16, "n": 72, "k": 136}, marks=pytest.mark.long),
        pytest.param("08_two_parts", {"m": 200, "n": 2056, "k": 72}, marks=pytest.mark.long),
    ],
)
def test_tiles_that_do_not_fit(folder: Path, rung: str, sizes: dict[str, int]) -> None:
    assert check(folder, rung, sizes) == "right in 2 cases"


@pytest.mark.long
@pytest.mark.parametrize("rung", ["05_tma", "06_persistent", "07_registers"])
def test_the_smaller_tiles(folder: Path, rung: str) -> None:
    edit(folder / "large_tiles.cuh", "TILES_OF(128, 256) >= LEAST_TILES", "0")
    assert check(folder, rung, ODD) == "right in 2 cases"


def test_sums_that_are_not_waited_for(folder: Path) -> None:
    """Without the wait a part adds what the other has not sent yet."""
    edit(folder / "08_two_parts.cu", "barrier_wait(ring.sums_are_there(), 0);", "")
    assert check(folder, "08_two_parts", {"m": 72, "n": 136, "k": 1000}, expect=1).startswith(
        "wrong at "
    )
