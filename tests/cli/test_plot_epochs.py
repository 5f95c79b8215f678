"""The charts of mlp_train and allocate, drawn with gnuplot from the run of make_mlp_train_run.py.

The expected values are computed here independently.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from charts import Row, blocks, draw, needs_gnuplot, text_places, texts, width_of
from make_mlp_train_run import (
    ALLOCATORS,
    CUDA,
    RUNG,
    WIDTHS,
    make_mlp_train_run,
)

pytestmark = needs_gnuplot

Json = dict[str, Any]
OF_TRAINING = ["loss", "loss_tf32"]
OF_ALLOCATORS = ["allocators"]
CHARTS = [f"mlp_train_{name}" for name in OF_TRAINING + OF_ALLOCATORS]


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
    for x, _, text in text_places(svg):
        # Six pixels per letter in the notes; titles are short.
        assert 0 <= x <= width_of(svg) and (x > 20 or len(text) * 6 < width_of(svg)), text


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
    for number, neurons in enumerate(WIDTHS):
        times, totals, shares, busy = drawn_panels[4 * number : 4 * number + 4]
        for allocator, model in ALLOCATORS.items():
            more = "" if allocator == "caching" else f"/allocator={allocator}"
            split = drawn.training(f"cuda/{RUNG}", neurons, more)["results"]["split"]
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


def test_synthetic_images_are_noted_in_every_chart(tmp_path: Path) -> None:
    make_mlp_train_run(tmp_path / "run", dataset="synthetic")
    out = draw(tmp_path / "charts", tmp_path / "run")
    charts = list(out.glob("mlp_train_*.svg"))
    assert len(charts) >= len(OF_TRAINING + OF_ALLOCATORS)
    for chart in charts:
        assert any("dataset=synthetic" in text for text in texts(chart)), chart.name
