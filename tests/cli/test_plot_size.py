"""Charts of a workload whose size is not a batch, and the lists of all charts."""

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest
from charts import (
    FIXTURES,
    ROOT,
    RUN_CHARTS,
    TRAINING_CHARTS,
    blocks,
    draw,
    line_series,
    needs_gnuplot,
    plot,
    text_places,
    texts,
    unpacked,
)

REPORTS = FIXTURES / "report"


def both(folder: Path) -> Path:
    """Return a run of two workloads."""
    unpacked(folder, FIXTURES / "pair")
    packed = (REPORTS / "training" / "cases.jsonl.gz").read_bytes()
    with (folder / "cases.jsonl").open("ab") as journal:
        journal.write(gzip.decompress(packed))
    return folder


# At 7 pixels per letter, two columns of at most 56 letters fit into 903 pixels.
@needs_gnuplot
@pytest.mark.parametrize(("letters", "columns"), [(56, 2), (57, 1)])
def test_the_legend_is_below_the_axis(tmp_path: Path, letters: int, columns: int) -> None:
    journal = unpacked(tmp_path / "run", REPORTS / "training") / "cases.jsonl"
    lines = journal.read_text(encoding="utf-8")
    longer = "03_streams".ljust(letters - len("CUDA "), "x")
    journal.write_text(lines.replace("03_streams", longer), encoding="utf-8")
    out = draw(tmp_path / "charts", tmp_path / "run")
    chart = out / "linreg_train_ladder.svg"
    titles = {title for title, _ in line_series(chart.with_suffix(".dat"))}
    assert max(map(len, titles)) == letters
    places = text_places(chart)
    axis = next(y for _, y, text in places if text.startswith("points in the data set"))
    legend = [(x, y) for x, y, text in places if text in titles]
    assert len(legend) == len(titles)
    assert len({x for x, _ in legend}) == columns
    assert min(y for _, y in legend) > axis + 15
    assert min(x for x, _ in legend) > 0


@needs_gnuplot
def test_a_sweep_chooses_charts_of_its_workload(tmp_path: Path) -> None:
    run = both(tmp_path / "both")
    out = draw(tmp_path / "charts", run)
    of_training = {f"linreg_train_{name}" for name in TRAINING_CHARTS}
    assert {path.stem for path in out.glob("*.svg")} == RUN_CHARTS | of_training
    header = json.loads((run / "run.json").read_text(encoding="utf-8"))
    wishes = {"mlp_infer": ["roofline", "once"], "linreg_train": ["size", "speed"]}
    header["sweeps"] = [
        {"path": f"{name}.json", "text": json.dumps({"workload": name, "charts": charts})}
        for name, charts in wishes.items()
    ]
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    draw(out, run)  # the others are removed
    assert {path.stem for path in out.iterdir()} == {"roofline", "linreg_train_speed"}


@needs_gnuplot
def test_an_inference_has_no_charts_of_trainings(tmp_path: Path) -> None:
    out = draw(tmp_path / "charts", both(tmp_path / "both"))
    draw(out, FIXTURES / "pair")
    assert {path.stem for path in out.iterdir()} == RUN_CHARTS


# ---- lists ---------------------------------------------------------------------------------------

SETTING_CHARTS = {f"{chart}_SETTING" for chart in ("speed", "loss")}
OTHER_CHARTS = {"allocators", "phases_ENGINE", "samples"}
RETIRED = {
    "size",
    "epoch",
    "accuracy",
    "driver_calls",
    "blocks",
    "techniques",
    "once",
}  # draw nothing
ALL_CHARTS = RUN_CHARTS | TRAINING_CHARTS | SETTING_CHARTS | OTHER_CHARTS
ALL_CHARTS -= {"phases_cuda", "phases_pytorch"}  # of phases_ENGINE


def names_in_help() -> set[str]:
    listed = (
        plot("--help").stdout.partition("its data in NAME.dat:\n")[2].partition("\nSETTING is")[0]
    )
    lines = [re.split(r" {2,}", line.strip())[0] for line in listed.splitlines()]
    return {name for line in lines for name in line.split(", ")}


def chart_table() -> list[list[str]]:
    page = (ROOT / "docs" / "results-format.md").read_text(encoding="utf-8")
    table = page.partition("| name | requested as |")[2].partition("\n\n")[0]
    cells = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    return [[name.replace("`", "").strip() for name in row] for row in cells]


def names_in_docs() -> set[str]:
    return {name for row in chart_table() for name in row[0].split(", ")}


def test_lists_name_every_chart() -> None:
    assert names_in_help() == ALL_CHARTS
    assert names_in_docs() == ALL_CHARTS


def test_docs_list_the_charts_for_sweeps() -> None:
    schema = json.loads((ROOT / "sweeps" / "schema.json").read_text(encoding="utf-8"))
    known = set(schema["properties"]["charts"]["items"]["enum"])
    assert {row[1] for row in chart_table()} - {""} == known - RETIRED


def saved_operator(folder: Path, name: str) -> Path:
    """Return a folder with the cases of one operator of the saved run."""
    saved = ROOT / "results/h200_operators"
    folder.mkdir()
    shutil.copy(saved / "run.json", folder)
    with gzip.open(saved / "cases.jsonl.gz", "rt", encoding="utf-8") as journal:
        lines = [line for line in journal if json.loads(line)["workload"] == name]
    (folder / "cases.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


@needs_gnuplot
def test_an_operator_has_all_its_sizes_and_no_study(tmp_path: Path) -> None:
    out = draw(tmp_path / "charts", saved_operator(tmp_path / "gemm", "gemm"))
    (rung, *_) = blocks(out / "gemm_ladder.dat")
    assert [row[0] for row in rung[1:]] == ["16", "128", "1024", "4096"]
    assert "PyTorch graph (fastest PyTorch)" in texts(out / "gemm_total.svg")
    assert "study" not in (out / "gemm_total.svg").read_text("utf-8")


@needs_gnuplot
def test_each_setting_has_its_charts(tmp_path: Path) -> None:
    out = tmp_path / "charts"
    out.mkdir()
    for file in ("softmax_speed_rows_7.dat", "softmax_speed_rows_7.svg", "softmax_speed_mine.svg"):
        (out / file).write_text("older", encoding="utf-8")
    draw(out, saved_operator(tmp_path / "softmax", "softmax"))
    assert not list(out.glob("*rows_7*"))
    assert (out / "softmax_speed_mine.svg").exists()
    for name, rows in (("speed", 16), ("speed_rows_1024", 1024)):
        note = next(text for text in texts(out / f"softmax_{name}.svg") if "f32" in text)
        assert note.startswith(f"softmax, rows {rows}, f32"), name
