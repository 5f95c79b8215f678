"""The charts of mnist_train, drawn with gnuplot from the run of make_mnist_run.py.

The expected values are computed here independently.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from charts import blocks, draw, line_series, needs_gnuplot, plot, text_places, texts, width_of
from make_mnist_run import (
    COPY_BYTES_PER_S,
    L2_BYTES,
    L2_BYTES_PER_S,
    SIZES,
    SIZES_OF_SEEDS,
    STAGES,
    make_mnist_run,
    weights_bytes,
)

pytestmark = needs_gnuplot

Json = dict[str, Any]
CHARTS = ["size", "speed", "ladder", "loss", "operations"]


class Drawn:
    def __init__(self, folder: Path) -> None:
        run = folder / "h200"
        make_mnist_run(run)
        lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        self.cases: dict[str, Json] = {case["id"]: case for case in map(json.loads, lines)}
        self.out = draw(folder / "charts", run, formats="svg,png")

    def path(self, chart: str, end: str) -> Path:
        return self.out / f"mnist_train_{chart}.{end}"

    def median_us(self, contender: str, hidden: int, phase: str, steps: int = 1000) -> float:
        case = self.cases[f"mnist_train/{contender}/hidden={hidden}/steps={steps}"]
        return float(case["phases"][phase]["median"]) / 1000


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return Drawn(tmp_path_factory.mktemp("mnist"))


@pytest.mark.parametrize("chart", CHARTS)
def test_chart_exists_in_both_formats(drawn: Drawn, chart: str) -> None:
    for end in ("svg", "png", "dat"):
        assert drawn.path(chart, end).stat().st_size > 0


@pytest.mark.parametrize("chart", CHARTS)
def test_all_texts_fit_the_picture(drawn: Drawn, chart: str) -> None:
    svg = drawn.path(chart, "svg")
    for x, _, text in text_places(svg):
        # Six pixels per letter in the notes; titles are short.
        assert 0 <= x <= width_of(svg) and (x > 20 or len(text) * 6 < width_of(svg)), text


def test_steps_match_the_run_and_limits_are_three_passes(drawn: Drawn) -> None:
    rows = {(title, int(row[0])): row for title, row in line_series(drawn.path("size", "dat"))}
    for hidden in SIZES:
        graph = float(rows["PyTorch graph (fastest mode)", hidden][1])
        assert graph == pytest.approx(drawn.median_us("pytorch-cuda/graph", hidden, "step"))
        best = "05_persistent" if hidden < 1024 else "04_weight_streaming"
        found = float(rows["CUDA, the fastest at each hidden size", hidden][1])
        assert found == pytest.approx(drawn.median_us(f"cuda/{best}", hidden, "step"))
        n_bytes = weights_bytes(hidden)
        dram_us = 3e6 * n_bytes / COPY_BYTES_PER_S
        assert float(rows["limit: 3·W per step, in DRAM", hidden][1]) == pytest.approx(dram_us)
        kept = min(n_bytes, L2_BYTES) / n_bytes
        least_us = max(dram_us * (1 - kept), 3e6 * n_bytes / L2_BYTES_PER_S)
        found = float(rows["limit: 3·W, less what the L2 keeps", hidden][1])
        assert found == pytest.approx(least_us)
    assert rows["CUDA 05_persistent", 8192][1:] == ["NaN", "NaN", "NaN", "0", "skipped"]
    assert {"128", "1024", "8192"} <= set(texts(drawn.path("size", "svg")))


def test_speed_is_a_ratio_of_steps(drawn: Drawn) -> None:
    for _, row in line_series(drawn.path("speed", "dat")):
        hidden = int(row[0])
        best = "05_persistent" if hidden < 1024 else "04_weight_streaming"
        pytorch = drawn.median_us("pytorch-cuda/graph", hidden, "step")
        expected = pytorch / drawn.median_us(f"cuda/{best}", hidden, "step")
        assert float(row[1]) == pytest.approx(expected, rel=1e-4)


def test_losses_of_all_seeds_and_their_mean(drawn: Drawn) -> None:
    panels, *curves = blocks(drawn.path("loss", "dat"))
    assert [row[1] for row in panels[1:]] == [f"hidden {hidden}" for hidden in SIZES_OF_SEEDS]
    # Per panel: graph and the best variant with 3 seeds and a mean, eager and compile with one.
    titles = [block[0][1] for block in curves]
    assert titles.count("PyTorch graph") == 2 * 4
    assert titles.count("CUDA 05_persistent") == titles.count("CUDA 04_weight_streaming") == 4
    assert titles.count("PyTorch eager") == titles.count("PyTorch compile") == 2
    # Autocast stores other weights, so only our distance comes from rounding.
    eager = next(block for block in curves if block[0][1] == "PyTorch eager")
    assert {row[2] for row in eager[1:]} == {"NaN"}
    ours = next(block for block in curves if block[0][1] == "CUDA 05_persistent")
    differences = [abs(float(row[2])) for row in ours[1:]]
    assert 0 < max(differences) < 0.001
    assert {row[2] for row in curves[0][1:]} == {"NaN"}  # the reference's distance from itself
    found = texts(drawn.path("loss", "svg"))
    assert any("running mean over 11 points" in text for text in found)
    assert "PyTorch graph (3 seeds)" in found


def test_a_legend_is_below_its_axes(drawn: Drawn) -> None:
    places = text_places(drawn.path("loss", "svg"))
    axis = max(y for _, y, text in places if text == "step")
    legend = [y for _, y, text in places if text.endswith(("seeds)", "seed)"))]
    assert len(legend) == 5
    assert min(legend) > axis + 10


def test_the_parts_of_a_step_are_sums_of_its_stages(drawn: Drawn) -> None:
    bars, groups = blocks(drawn.path("operations", "dat"))
    parts = ["gather", "forward", "loss", "backward", "sgd", "fused"]
    expected = []
    for variant, stages in STAGES.items():
        us = [drawn.median_us(f"cuda/{variant}", 128, stage, steps=1) for stage in stages]
        for number, part in enumerate(parts):
            own = [time for time, stage in zip(us, stages, strict=True) if stage.startswith(part)]
            expected += [(number, sum(own))] if own else []
    found = [(int(row[5]), float(row[1])) for row in bars[1:]]
    assert [part for part, _ in found] == [part for part, _ in expected]
    assert [time for _, time in found] == pytest.approx([time for _, time in expected])
    assert [row[2] for row in groups[1:]] == list(STAGES)


def test_synthetic_images_are_noted_in_every_chart(tmp_path: Path) -> None:
    make_mnist_run(tmp_path / "run", dataset="synthetic")
    out = draw(tmp_path / "charts", tmp_path / "run")
    charts = list(out.glob("*.svg"))
    assert len(charts) >= len(CHARTS)
    for chart in charts:
        assert any("dataset=synthetic" in text for text in texts(chart)), chart.name


def test_samples_are_per_step(tmp_path: Path) -> None:
    make_mnist_run(tmp_path / "run")
    case = "mnist_train/cuda/05_persistent/hidden=128/steps=1000"
    done = plot(tmp_path / "run", "--case", case, "--out", tmp_path / "charts")
    assert done.returncode == 0, done.stderr
    found = texts(tmp_path / "charts" / "samples.svg")
    assert any(text.startswith("phase step, host clock") for text in found)


def test_float32_weights_have_charts_of_their_own(tmp_path: Path) -> None:
    """Of two widths, so that the other shape has more cases."""
    run = tmp_path / "run"
    make_mnist_run(run)
    cases = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    for case in map(json.loads, list(cases)):
        if case["params"]["hidden"] in (128, 8192) and case["params"]["steps"] > 1:
            case["id"] += "/dtype=mixed"
            case["dtype"] = "mixed"
            cases.append(json.dumps(case))
    (run / "cases.jsonl").write_text("\n".join(cases) + "\n", encoding="utf-8")
    out = draw(tmp_path / "charts", run)
    dram_us = 2.5e6 * 2 * weights_bytes(8192) / COPY_BYTES_PER_S
    for chart, bound in (("size", "3·W"), ("size_mixed", "2.5·W")):
        rows = {
            (title, int(row[0])): row
            for title, row in line_series(out / f"mnist_train_{chart}.dat")
        }
        assert {hidden for _, hidden in rows} == ({128, 8192} if "mixed" in chart else {*SIZES})
        found = float(rows[f"limit: {bound} per step, in DRAM", 8192][1])
        if "mixed" in chart:
            assert found == pytest.approx(dram_us)
    assert any("mixed" in text for text in texts(out / "mnist_train_loss_mixed.svg"))
    assert not any("mixed" in text for text in texts(out / "mnist_train_loss.svg"))
