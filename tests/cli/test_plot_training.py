"""The charts of trainings with gnuplot: losses, operations, and the ladder with its limits.

The run is that of make_training_run.py; the expected values are computed here
independently.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
BENCH = Path(os.environ.get("BENCH", ROOT / "build" / "bench"))
sys.path.insert(0, str(FIXTURES))

from make_run import COPY_BYTES_PER_S  # noqa: E402
from make_training_run import (  # noqa: E402
    BARRIER_NS,
    EPOCHS,
    L2_BYTES_PER_S,
    make_training_run,
    n_train,
)

pytestmark = pytest.mark.skipif(shutil.which("gnuplot") is None, reason="gnuplot is not installed")

Json = dict[str, Any]
Row = list[str]
POINTS = 5_000_000
ALIKE = "linreg_train/cuda/05_graph/points=5000000"
FAR = "linreg_train/pytorch-cuda/eager/points=5000000"
FELL_BEHIND = 1e-3


def plot(run: Path, out: Path, formats: str = "svg") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(BENCH), "plot", str(run), "--out", str(out), "--format", formats],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=300,
        check=False,
    )


def losses(case: str) -> list[list[float]]:
    """Return a curve that falls fast, then slowly; one contender's deviates by a known fraction."""
    steps = [*range(0, EPOCHS, 10), EPOCHS]
    off = 1 + (FELL_BEHIND if case == FAR else 0)
    return [[step, (48.5 if step == 0 else 0.0833 + 0.0006 / (1 + step)) * off] for step in steps]


def plant_losses(run: Path) -> dict[str, Json]:
    cases = [json.loads(line) for line in (run / "cases.jsonl").read_text().splitlines()]
    for case in cases:
        if case["results"] and case["params"]["epochs"] == EPOCHS:
            case["results"]["loss"] = losses(case["id"])
    (run / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return {case["id"]: case for case in cases}


class Drawn:
    def __init__(self, folder: Path) -> None:
        self.run, self.out = folder / "h200", folder / "charts"
        make_training_run(self.run)
        self.cases = plant_losses(self.run)
        done = plot(self.run, self.out, "svg,png")
        assert done.returncode == 0, done.stderr

    def blocks(self, chart: str) -> list[list[Row]]:
        """Return the data blocks of a chart, split as by gnuplot, without comments and quotes."""
        text = (self.out / f"linreg_train_{chart}.dat").read_text(encoding="utf-8")
        blocks = [
            [shlex.split(line) for line in part.splitlines() if line and line[0] != "#"]
            for part in text.split("\n\n\n")
        ]
        return [block for block in blocks if block]

    def texts(self, chart: str) -> list[str]:
        tree = ElementTree.parse(self.out / f"linreg_train_{chart}.svg")
        found = [
            "".join(element.itertext()) for element in tree.iter() if element.tag[-4:] == "text"
        ]
        return [" ".join(text.split()) for text in found]

    def median_us(self, case: str, phase: str) -> float:
        return self.cases[f"linreg_train/{case}"]["phases"][phase]["median"] / 1000


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return Drawn(tmp_path_factory.mktemp("plot"))


@pytest.mark.parametrize("chart", ["loss", "operations", "ladder"])
def test_chart_exists_in_both_formats(drawn: Drawn, chart: str) -> None:
    for end in ("svg", "png", "dat"):
        assert (drawn.out / f"linreg_train_{chart}.{end}").stat().st_size > 0


# ---- loss ---------------------------------------------------------------------------------------


def test_losses_match_the_run(drawn: Drawn) -> None:
    curves = {block[0][1].split(" (")[0]: block[1:] for block in drawn.blocks("loss")}
    planted = losses(ALIKE)
    rows = curves["CUDA 05_graph"]
    assert [float(row[0]) for row in rows] == [step for step, _ in planted]
    assert [float(row[1]) for row in rows] == pytest.approx([value for _, value in planted])
    assert all(float(row[2]) == 0 for row in rows)
    off = [float(row[2]) for row in curves["PyTorch eager"]]
    assert off == pytest.approx([FELL_BEHIND] * len(planted), rel=1e-3)
    oracle = curves["C on the CPU, ref: the reference"]
    assert {row[2] for row in oracle} == {"NaN"}


def test_every_loss_curve_has_markers(drawn: Drawn) -> None:
    marks = [{row[0] for row in block[1:] if row[3] == "1"} for block in drawn.blocks("loss")]
    assert len(marks) == 12 and all(marks)
    assert sum(len(places) for places in marks) == len(set.union(*marks))


def test_the_legend_shows_the_distance_from_the_reference(drawn: Drawn) -> None:
    found = drawn.texts("loss")
    assert "PyTorch eager (1.0e-3)" in found
    assert "CUDA 05_graph (equal)" in found
    assert "one roundoff of float32, 2⁻²⁴" in found
    assert "from 10 on, linear" in found
    assert "epoch" in found


# ---- operations ---------------------------------------------------------------------------------


def test_operations_match_the_run_and_a_fused_epoch_is_one_bar(drawn: Drawn) -> None:
    bars, groups = drawn.blocks("operations")
    names = ["gather", "forward", "loss", "backward", "update", "fused"]
    expected = []
    for case, phases in [
        ("pytorch-cuda/eager", names[1:5]),
        ("cuda/01_not_fused", names[1:5]),
        ("cuda/05_graph", ["fused"]),
    ]:
        at = f"{case}/points={POINTS}/epochs=1"
        expected += [(str(names.index(name)), drawn.median_us(at, name)) for name in phases]
    assert [row[5] for row in bars[1:]] == [operation for operation, _ in expected]
    assert [float(row[1]) for row in bars[1:]] == pytest.approx([time for _, time in expected])
    assert [row[2] for row in groups[1:]] == ["eager", "01_not_fused", "05_graph"]
    assert float(groups[1][5]) == pytest.approx(sum(time for _, time in expected[:4]))
    assert groups[3][5:7] == ["NaN", ""]


def test_bars_have_values(drawn: Drawn) -> None:
    bars, groups = drawn.blocks("operations")
    found = drawn.texts("operations")
    for text in [*(row[4] for row in bars[1:]), *(row[6] for row in groups[1:3])]:
        assert text in found
    assert {"forward", "loss", "backward", "update", "fused"} <= set(found)


# ---- limits -------------------------------------------------------------------------------------


def bounds_us(points: int) -> dict[str, float]:
    n_bytes = 8 * n_train(points)
    bounds = {
        "every epoch from DRAM": EPOCHS * n_bytes / COPY_BYTES_PER_S * 1e6,
        "read once from DRAM": n_bytes / COPY_BYTES_PER_S * 1e6,
    }
    if points <= POINTS:
        bounds["every epoch from the L2"] = EPOCHS * n_bytes / L2_BYTES_PER_S * 1e6
    if points > 5000:
        bounds["a grid barrier per epoch"] = EPOCHS * BARRIER_NS / 1000
    return bounds


def test_limits_are_bytes_over_the_runs_rates(drawn: Drawn) -> None:
    lines = [block for block in drawn.blocks("ladder") if block[0][1].startswith("limit: ")]
    assert len(lines) == 4
    for head, *rows in lines:
        for points, time in rows:
            expected = bounds_us(int(points)).get(head[1].removeprefix("limit: "))
            assert (time == "NaN") == (expected is None), (head, points)
            if expected is not None:
                assert float(time) == pytest.approx(expected)


def test_the_caption_has_the_arithmetic(drawn: Drawn) -> None:
    found = " ".join(drawn.texts("ladder"))
    for arithmetic in [
        "200 × 32.0 MB / 4.30 TB/s = 1.49 ms",
        "200 × 32.0 MB / 9.70 TB/s = 660 µs",
        "200 × 1.02 µs = 204 µs",
        "1 × 32.0 MB / 4.30 TB/s = 7.44 µs",
    ]:
        assert arithmetic in found


def test_an_inference_has_no_charts_of_trainings(tmp_path: Path) -> None:
    study = FIXTURES / "plot" / "study_cuda.csv"
    done = plot(study, tmp_path / "charts")
    assert done.returncode == 0, done.stderr
    assert "loss" not in done.stdout + done.stderr
    assert not list((tmp_path / "charts").glob("*operations*"))
