"""`bench plot` with gnuplot: which charts a run has, their labels, and the charts of one case.

What the charts' data are is tested by tests/unit/test_plot*.c and by the charts that git keeps.
"""

import gzip
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from charts import (
    FIXTURES,
    RUN_CHARTS,
    TRAINING_CHARTS,
    blocks,
    draw,
    needs_gnuplot,
    plot,
    png_size,
    text_places,
    texts,
    unpacked,
    width_of,
)

pytestmark = needs_gnuplot

REPORTS = FIXTURES / "report"
SIX_PASSES = REPORTS / "gpu"  # and one phase with two values
CHARTS = {
    "gpu": RUN_CHARTS,
    "training": {f"linreg_train_{name}" for name in TRAINING_CHARTS},
    "mnist": {f"mnist_train_{name}" for name in TRAINING_CHARTS - {"host_to_host"}},
    "epochs": {
        *("allocate_speed", "mlp_train_allocators", "mlp_train_ladder", "mlp_train_roofline"),
        *(f"mlp_train_{name}{dtype}" for name in ("loss", "speed") for dtype in ("", "_tf32")),
    },
}


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plot")
    for run in CHARTS:
        draw(folder / run, REPORTS / run, formats="svg,png")
    return folder


def words(path: Path) -> list[str]:
    return [" ".join(text.split()) for text in texts(path)]


@pytest.mark.parametrize("run", CHARTS)
def test_every_chart_has_its_data_and_fits_its_picture(drawn: Path, run: str) -> None:
    files = {path.name for path in (drawn / run).iterdir()}
    assert files == {f"{name}.{end}" for name in CHARTS[run] for end in ("dat", "png", "svg")}
    for path in (drawn / run).glob("*.svg"):
        assert path.with_suffix(".dat").stat().st_size > 0
        width = width_of(path)
        for x, _, text in text_places(path):
            # Six pixels per letter in the notes of two lines; titles are short.
            assert 0 <= x <= width and (x > 20 or len(text) * 4.5 < width), (path.name, text)


FOOTER = "NVIDIA H200, driver 580.159 · AMD EPYC 9654 96-Core Processor · 2026-03-02 · run"


@pytest.mark.parametrize(
    ("chart", "labels"),
    [
        (
            "gpu/phases_cuda",
            [
                *("Phases of a sample: cuda", "malloc", "h2d", "kernel", "d2h", "free"),
                *("residual", "batch, samples", "share, %", "1", "16", "2²⁰"),
                "time, µs (log scale; bars start at 10 µs)",
            ],
        ),
        (
            "gpu/phases_pytorch",
            ["Phases of a sample: pytorch", "init", "h2d", "forward", "d2h"],
        ),
        (
            "gpu/total",
            [
                *("time, µs (log scale)", "batch, samples (log scale)", "1,000", "2²⁰"),
                "CUDA 01_study (the study's)",
                "CUDA, the fastest at each batch size",
                "PyTorch eager (the study's)",
                "PyTorch, the fastest at each batch size",
                "C on the CPU, the fastest at each batch size",
            ],
        ),
        (
            "gpu/difference",
            [
                *("CUDA", "PyTorch", "undecided", "+100", "−100"),
                "crossover: PyTorch is faster from batch 2¹⁹",
                "difference, µs (log scale; linear within ±10 µs)",
            ],
        ),
        ("gpu/ladder", ["CUDA 02_thread_per_sample", "hardware limit (dram)"]),
        (
            "training/linreg_train_speed",
            [
                "strongest rival",
                "5 k",
                "500 k",
                "5 M",
                "50 M",
                "points in the data set (log scale)",
            ],
        ),
        (
            "training/linreg_train_loss",
            ["CUDA 05_graph (equal)", "one roundoff of float32, 2⁻²⁴", "epoch"],
        ),
        (
            "training/linreg_train_ladder",
            [
                "limit at points 5 M, a grid barrier per epoch: 200 × 1.02 µs = 204 µs",
                "CUDA 07_sufficient_statistics (algorithmic)",
            ],
        ),
        (
            "training/linreg_train_operations",
            ["forward", "loss", "backward", "update", "fused"],
        ),
        ("mnist/mnist_train_loss", ["step", "relative difference (log scale)"]),
        (
            "epochs/mlp_train_loss_tf32",
            ["Loss of the training: tf32", "one roundoff of float32, 2⁻²⁴", "step"],
        ),
    ],
)
def test_picture_has_the_labels(drawn: Path, chart: str, labels: list[str]) -> None:
    found = words(drawn / f"{chart}.svg")
    assert [label for label in labels if label not in found] == []
    assert f"{FOOTER} {Path(chart).parent}" in found


def test_intervals_are_over_passes(drawn: Path) -> None:
    for chart in ("host_to_host", "total", "ladder"):
        written = " ".join(texts(drawn / f"gpu/{chart}.svg"))
        assert "medians, 95 % intervals over passes" in written, chart
    written = " ".join(texts(drawn / "gpu/difference.svg"))
    assert "medians; undecided: the 95 % interval of the ratio contains 1" in written
    assert "medians of one pass" in " ".join(texts(drawn / "training/linreg_train_total.svg"))


@pytest.mark.parametrize("chart", ["speed", "operations"])
def test_numbers_stand_in_the_picture(drawn: Path, chart: str) -> None:
    path = drawn / f"training/linreg_train_{chart}.dat"
    if chart == "speed":
        rows = [row for block in blocks(path) for row in block[1:] if row[2]]
        # One pass has no interval: no bar.
        assert {tuple(row[3:]) for row in rows} <= {("NaN", "NaN"), ("1", "1")}
        numbers = {row[2] for row in rows}
    else:
        bars, groups, *_ = blocks(path)
        numbers = {row[4] for row in bars[1:]} | {row[6] for row in groups[1:]} - {""}
    assert numbers and numbers <= set(words(path.with_suffix(".svg")))


def test_a_legend_is_below_its_axes(drawn: Path) -> None:
    places = text_places(drawn / "mnist/mnist_train_loss.svg")
    axis = max(y for _, y, text in places if text == "step")
    legend = [y for _, y, text in places if text.startswith(("CUDA ", "PyTorch "))]
    assert len(legend) > 2
    assert min(legend) > axis + 10


def test_png_has_the_requested_size(tmp_path: Path) -> None:
    run = unpacked(tmp_path / "run", FIXTURES / "pair")
    cases = [json.loads(case) for case in (run / "cases.jsonl").read_text("utf-8").splitlines()]
    with (run / "cases.jsonl").open("w") as journal:
        for exponent in range(29):
            for case in (case for case in cases if case["params"]["batch"] == 1):
                params = {**case["params"], "batch": 1 << exponent}
                own = {"id": case["id"].replace("=1", f"={1 << exponent}"), "params": params}
                journal.write(json.dumps({**case, **own}) + "\n")
    out = draw(tmp_path / "charts", tmp_path / "run", formats="svg,png")
    assert {path.stem for path in out.glob("*.png")} == RUN_CHARTS
    assert png_size(out / "phases_cuda.png")[0] == 150 + 42 * 29
    root = ElementTree.parse(out / "phases_cuda.svg").getroot()
    assert root.get("width") == "1368"
    assert not list(out.glob("*.tmp"))


LINREG = "linreg_train/cuda/05_graph/points=5000"


def test_one_case(tmp_path: Path) -> None:
    done = plot(REPORTS / "training", "--case", LINREG, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"Samples of {LINREG}" in texts(tmp_path / "samples.svg")
    samples, histogram, rounds, shares, values = blocks(tmp_path / "samples.dat")
    assert len(values) == 1
    assert len(samples) - 1 == 40 == len(shares) - 1
    times = sorted(float(row[1]) for row in samples[1:])
    assert [float(row[0]) for row in shares[1:]] == times
    assert float(shares[20][1]) == 0.5 and float(shares[-1][1]) == 1
    shown = sum(time <= float(histogram[-1][1]) for time in times)
    assert sum(int(row[2]) for row in histogram[1:]) == shown
    assert rounds[1:] == [["8", "0"], ["16", "0"], ["24", "0"], ["32", "0"]]
    unknown = plot(REPORTS / "training", "--case", "mlp_infer/cuda/nope", "--out", tmp_path)
    assert unknown.returncode == 2
    assert "mlp_infer/cuda/nope" in unknown.stderr


def test_passes_and_two_values_of_a_case(tmp_path: Path) -> None:
    done = plot(SIX_PASSES, "--case", "mlp_infer/pytorch-cuda/graph/batch=64", "--out", tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    _, _, rounds, _, values = blocks(tmp_path / "samples.dat")
    assert [row[0] for row in rounds if row[1] == "1"] == ["8", "16", "24", "32", "40"]
    written = texts(tmp_path / "samples.svg")
    assert [row[1] for row in values[1:]] == [text for text in written if "of the rounds" in text]
    assert [row[1].split(" in ")[1] for row in values[1:]] == [
        "62 % of the rounds",
        "38 % of the rounds",
    ]
    assert "black: new pass" in " ".join(written)


def test_one_phase_of_a_case(tmp_path: Path) -> None:
    done = plot(REPORTS / "training", "--case", LINREG, "--phase", "total", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    drawn = [float(row[1]) for row in blocks(tmp_path / "samples.dat")[0][1:]]
    with gzip.open(REPORTS / "training" / "cases.jsonl.gz", "rt") as journal:
        (case,) = [case for case in map(json.loads, journal) if case["id"] == LINREG]
    assert drawn == pytest.approx([ns / 1000 for ns in case["phases"]["total"]["samples"]])
    unknown = plot(REPORTS / "training", "--case", LINREG, "--phase", "forward", "--out", tmp_path)
    assert unknown.returncode == 2
    assert f'case {LINREG}: unknown phase "forward" (known: ' in unknown.stderr


def test_samples_of_a_training_in_steps_are_per_step(tmp_path: Path) -> None:
    case = "mnist_train/cuda/05_persistent/hidden=128/steps=1000"
    done = plot(REPORTS / "mnist", "--case", case, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert any(
        text.startswith("phase step, host clock") for text in texts(tmp_path / "samples.svg")
    )
