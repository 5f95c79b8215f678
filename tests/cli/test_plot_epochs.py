"""The charts of mlp_train and allocate, drawn with gnuplot from the run of make_mlp_train_run.py.

The expected values are computed here independently.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from charts import Row, blocks, draw, needs_gnuplot, text_places, texts
from make_mlp_train_run import (
    ALLOCATE,
    ALLOCATORS,
    CUDA,
    EPOCHS,
    LIVE,
    PYTORCH,
    RUNG,
    SEEDS_WIDTH,
    TF32,
    WIDTHS,
    make_mlp_train_run,
)

pytestmark = needs_gnuplot

Json = dict[str, Any]
OF_TRAINING = ["epoch", "epoch_tf32", "loss", "loss_tf32", "accuracy", "accuracy_tf32"]
OF_ALLOCATORS = ["allocators", "driver_calls"]
CHARTS = [f"mlp_train_{name}" for name in OF_TRAINING + OF_ALLOCATORS] + ["allocate_blocks"]


class Drawn:
    def __init__(self, folder: Path) -> None:
        run = folder / "h200"
        make_mlp_train_run(run)
        lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        self.cases: dict[str, Json] = {case["id"]: case for case in map(json.loads, lines)}
        self.out = draw(folder / "charts", run, formats="svg,png")

    def blocks(self, chart: str) -> list[list[Row]]:
        return blocks(self.out / f"{chart}.dat")

    def training(self, contender: str, width: int, more: str = "") -> Json:
        return self.cases[f"mlp_train/{contender}/width={width}{more}"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return Drawn(tmp_path_factory.mktemp("epochs"))


@pytest.mark.parametrize("chart", CHARTS)
def test_chart_exists_and_contains_its_texts(drawn: Drawn, chart: str) -> None:
    for end in ("svg", "png", "dat"):
        assert (drawn.out / f"{chart}.{end}").stat().st_size > 0
    svg = drawn.out / f"{chart}.svg"
    width = float(svg.read_text(encoding="utf-8").split('width="')[1].split('"')[0])
    for x, _, text in text_places(svg):
        # Six pixels per letter in the notes; titles are short.
        assert 0 <= x <= width and (x > 20 or len(text) * 6 < width), text


@pytest.mark.parametrize("dtype", ["f32", "tf32"])
def test_epochs_are_those_of_one_dtype(drawn: Drawn, dtype: str) -> None:
    ending = "" if dtype == "f32" else f"_{dtype}"
    more = "" if dtype == "f32" else f"/dtype={dtype}"
    labels, panels, *bars = drawn.blocks(f"mlp_train_epoch{ending}")
    rungs = [name for name in CUDA if dtype == "f32" or name in TF32]
    modes = {name for name in PYTORCH if dtype == "f32" or name in TF32}
    names = {row[2] for row in labels[1:]}
    assert names == {f"CUDA {name}" for name in rungs} | {f"PyTorch {name}" for name in modes}
    titles = [row[1] for row in panels[1:]]
    spans = ("training", "training and validation")
    assert titles == [f"width {width}: {span}" for width in WIDTHS for span in spans]
    for number, (_, *rows) in enumerate(bars):
        width, phase = WIDTHS[number // 2], ("train", "total")[number % 2]
        graph = drawn.training("pytorch-cuda/graph", width, more)["phases"][phase]["median"]
        for row, rung in zip(rows, rungs, strict=False):
            median = drawn.training(f"cuda/{rung}", width, more)["phases"][phase]["median"]
            assert float(row[1]) == pytest.approx(median / 1000)
            times = float(row[4].split(", ")[1].removesuffix("×"))
            assert times == pytest.approx(graph / median, rel=0.051)
        line = float(panels[1 + number][2])
        if phase == "train":
            limit = drawn.training(f"cuda/{rungs[0]}", width, more)["limit"]["limit_ns"]
            assert line == pytest.approx(limit / 1000)
        else:
            assert panels[1 + number][2] == "NaN"


def test_accuracies_of_all_seeds_and_their_mean(drawn: Drawn) -> None:
    panels, *curves = drawn.blocks("mlp_train_accuracy")
    assert [row[1] for row in panels[1:]] == [f"width {width}" for width in WIDTHS]
    graphs = [block for block in curves if block[0][1] == "CUDA 04_graph"]
    # One seed at the first width, three and their mean at the other, and the legend.
    assert len(graphs) == 1 + 3 + 1 + 1
    seeds = ["", "/seed=2", "/seed=3"]
    found = [drawn.training("cuda/04_graph", SEEDS_WIDTH, seed)["results"] for seed in seeds]
    for epoch in range(EPOCHS):
        own = [100 * results["epochs"][epoch]["accuracy"] for results in found]
        planted = [float(block[1 + epoch][1]) for block in graphs[1:4]]
        assert planted == pytest.approx(own, rel=1e-5)
        assert float(graphs[4][1 + epoch][1]) == pytest.approx(sum(own) / 3, rel=1e-5)


def test_losses_are_compared_with_the_mode_with_most_seeds(drawn: Drawn) -> None:
    found = texts(drawn.out / "mlp_train_loss.svg")
    assert any("difference from PyTorch graph" in text for text in found)
    assert any("f32" in text for text in found)
    assert any("tf32" in text for text in texts(drawn.out / "mlp_train_loss_tf32.svg"))


def test_an_epoch_is_split_by_allocator(drawn: Drawn) -> None:
    labels, panels, *drawn_panels = drawn.blocks("mlp_train_allocators")
    assert len(panels) == 1 + 2 * len(WIDTHS)
    rows: dict[tuple[str, str], str] = {}
    name = ""
    for row in labels[1:]:
        if row[1] == "16":
            name = row[2] or name
        else:
            rows[name, row[2]] = row[0]
    assert len(rows) == len(CUDA) + len(ALLOCATORS) - 1
    for number, width in enumerate(WIDTHS):
        times, totals, shares, busy = drawn_panels[4 * number : 4 * number + 4]
        for allocator, model in ALLOCATORS.items():
            more = "" if allocator == "caching" else f"/allocator={allocator}"
            split = drawn.training(f"cuda/{RUNG}", width, more)["results"]["split"]
            place = rows[f"CUDA {RUNG}", allocator]
            own = [row for row in times[1:] if row[0] == place]
            ends = [split["kernels_ns"], split["kernels_ns"] + split["driver_ns"]]
            ends = ends[:1] + ends[1:] * (model.driver_share > 0) + [split["epoch_ns"]]
            assert [float(row[2]) for row in own] == pytest.approx([end / 1e6 for end in ends])
            total = next(row for row in totals[1:] if row[0] == place)
            assert float(total[1]) == pytest.approx(split["epoch_ns"] / 1e6)
            whole = [row for row in shares[1:] if row[0] == place]
            assert float(whole[-1][2]) == pytest.approx(100)
            text = next(row[2] for row in busy[1:] if row[0] == place)
            percent = float(text.removeprefix("GPU busy ").removesuffix(" %"))
            assert percent == pytest.approx(100 * model.busy, abs=0.6)


def test_zero_driver_calls_are_drawn_as_zero(drawn: Drawn) -> None:
    labels, _, *drawn_panels = drawn.blocks("mlp_train_driver_calls")
    starts = {row[2]: int(row[0]) for row in labels[1:] if row[1] == "210" and row[2]}
    assert set(starts) == set(ALLOCATORS)
    names = {row[2] for row in labels[1:] if row[1] == "16"}
    assert names == {f"CUDA {RUNG}", *(f"PyTorch {mode}" for mode in PYTORCH)}
    for pieces, numbers in zip(drawn_panels[0:4:2], drawn_panels[1:4:2], strict=True):
        for allocator, model in ALLOCATORS.items():
            for epoch in range(EPOCHS):
                place = str(starts[allocator] + epoch)
                calls = model.driver[min(epoch, 1)]
                text = next(row[2] for row in numbers[1:] if row[0] == place)
                assert text == str(calls)
                assert any(row[0] == place for row in pieces[1:]) == (calls > 0)
    assert texts(drawn.out / "mlp_train_driver_calls.svg").count("0") >= 2 * 2 * (EPOCHS - 1)


def test_blocks_show_both_parts(drawn: Drawn) -> None:
    labels, panels, *drawn_panels = drawn.blocks("allocate_blocks")
    assert len(labels) == 1 + len(ALLOCATE)
    titles = [row[1] for row in panels[1:]]
    assert titles == [f"{live} block{'' if live == 1 else 's'} in use" for live in LIVE]
    for live, pieces in zip(LIVE, drawn_panels[0 : 2 * len(LIVE) : 2], strict=True):
        for place, (engine, variant) in enumerate(ALLOCATE):
            label = "pytorch-cuda" if engine == "pytorch" else engine
            phases = drawn.cases[f"allocate/{label}/{variant}/live={live}"]["phases"]
            own = [row for row in pieces[1:] if row[0] == str(place)]
            allocate, release = phases["allocate"]["median"], phases["free"]["median"]
            assert float(own[0][2]) == pytest.approx(allocate)
            assert float(own[1][2]) == pytest.approx(allocate + release)


def test_synthetic_images_are_noted_in_every_chart(tmp_path: Path) -> None:
    make_mlp_train_run(tmp_path / "run", dataset="synthetic")
    out = draw(tmp_path / "charts", tmp_path / "run")
    charts = list(out.glob("mlp_train_*.svg"))
    assert len(charts) >= len(OF_TRAINING + OF_ALLOCATORS)
    for chart in charts:
        assert any("dataset=synthetic" in text for text in texts(chart)), chart.name
