"""The charts that git keeps are those of the saved runs."""

import json
import math
from pathlib import Path

import pytest
from charts import ROOT, blocks, draw, needs_gnuplot, text_places, texts, unpacked
from publish import boots_of

# As in .gitignore: a user's own runs are beside them. Of other boots publish.py draws nothing.
SAVED = "h[0-9]00*"
RUNS = sorted(path.parent.name for path in (ROOT / "results").glob(f"{SAVED}/run.json"))
DRAWN = [name for name in RUNS if "_boot" not in name]


@pytest.fixture(scope="module")
def charts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("charts")
    runs = {name: ROOT / "results" / name for name in DRAWN}
    return {
        name: draw(folder / name, run, *(f"--boot={boot}" for boot in boots_of(run)))
        for name, run in runs.items()
    }


@needs_gnuplot
@pytest.mark.parametrize("name", DRAWN)
def test_committed_charts_are_of_their_runs(charts: dict[str, Path], name: str) -> None:
    """By what is drawn: gnuplot's SVG differs from version to version."""
    drawn, kept = charts[name], ROOT / "plots" / name
    names = {path.name for path in kept.iterdir()} - {"drawn_from.json"}  # where reports look
    assert {path.name for path in drawn.iterdir()} == names
    data = [path.name for path in drawn.glob("*.dat")]
    assert len(data) >= 5
    assert [one for one in data if (drawn / one).read_bytes() != (kept / one).read_bytes()] == []
    assert [one for one in data if not (kept / one).with_suffix(".svg").exists()] == []


def test_parts_are_of_the_setting_in_which_most_contenders_have_them() -> None:
    """Of 5,000 steps only rungs that take one launch have parts: two contenders at a width."""
    chart = (ROOT / "plots/h200_mnist_train/mnist_train_operations.svg").read_text(encoding="utf-8")
    assert "steps 1," in chart
    assert all(name in chart for name in ("03_tensor_cores", "04_weight_streaming", "06_on_chip"))


def test_every_saved_run_has_charts() -> None:
    kept = sorted(path.name for path in (ROOT / "plots").glob(SAVED))
    assert kept == DRAWN


def with_a_wide_interval(folder: Path, of: str) -> Path:
    """Return a copy of the run in which a case took 32 times as long in two passes of six."""
    run = unpacked(folder, ROOT / "results/h200_mlp_infer")
    cases = [json.loads(line) for line in (run / "cases.jsonl").open(encoding="utf-8")]
    slow = [case for case in cases if case["id"] == of and case["pass"] in (2, 5)]
    assert len(slow) == 2
    for case in slow:
        total = case["phases"]["total"]
        total.update({key: 32 * total[key] for key in ("median", "q25", "q75", "min", "max")})
        total["samples"] = [32 * sample for sample in total["samples"]]
    (run / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    return run


@needs_gnuplot
def test_no_interval_is_cut_off(tmp_path: Path) -> None:
    """Not even one that is far wider than the medians are apart."""
    run = with_a_wide_interval(tmp_path / "run", "mlp_infer/cuda/01_study/batch=1048576")
    drawn = draw(tmp_path / "charts", run)
    lines = [block[1:] for block in blocks(drawn / "total.dat") if block[0][0] == "size"]
    highest = max(float(row[3]) for line in lines for row in line if row[3] != "NaN")
    places = [(x, y, text.replace(",", "")) for x, y, text in text_places(drawn / "total.svg")]
    ticks = {int(text): y for x, y, text in places if x < 112 and text.isdecimal()}
    decade = ticks[10] - ticks[100]  # in pixels, of which the axes begin 64 below the top
    assert "time, ms (log scale)" in texts(drawn / "total.svg")
    assert ticks[100] - decade * math.log10(highest / 100_000) > 64
    assert highest > 4 * max(float(row[1]) for line in lines for row in line if row[1] != "NaN")
