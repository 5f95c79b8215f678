"""`bench plot` and its inputs: runs without a GPU, the study's CSVs, bad files and hostile names.

No results file can make gnuplot run a command.
"""

import json
import shutil
from pathlib import Path

import pytest
from charts import (
    CUDA_CHARTS,
    FIXTURES,
    RUN_CHARTS,
    STUDY_CHARTS,
    blocks,
    draw,
    needs_gnuplot,
    plot,
    text_places,
    texts,
    unpacked,
)
from refusals import refusals, write_refused

pytestmark = needs_gnuplot

CPU_ONLY = FIXTURES / "report" / "cpu"
HOSTILE = """`touch PWNED` $(touch PWNED) '; system('touch PWNED') " @ARG1 {/Bold x} <b> & _"""


@pytest.fixture(scope="module")
def cpu_only(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return draw(tmp_path_factory.mktemp("plot"), CPU_ONLY)


# ---- other inputs -------------------------------------------------------------------------------


def test_without_a_gpu_nothing_is_labelled_cuda(cpu_only: Path) -> None:
    names = {path.stem for path in cpu_only.glob("*.svg")}
    assert names == RUN_CHARTS - CUDA_CHARTS | {"phases_cpu"}
    for name in names:
        found = texts(cpu_only / f"{name}.svg")
        assert not any("CUDA" in text for text in found), name
        assert any(text.startswith("no GPU, AMD EPYC") for text in found), name
    assert any(
        "C on the CPU, omp − PyTorch on the CPU, eager" in text
        for text in texts(cpu_only / "difference.svg")
    )


def test_study_csvs(tmp_path: Path) -> None:
    out = draw(tmp_path, FIXTURES / "plot/study_cuda.csv", FIXTURES / "plot/study_pytorch.csv")
    assert {path.stem for path in out.glob("*.svg")} == STUDY_CHARTS
    _, *rows = blocks(out / "phases_cuda.dat")[0]
    assert [row[1] for row in rows] == ["1", "2", "4", "8", "16", "32", "64"]
    assert [float(value) for value in rows[2][2:9]] == pytest.approx(
        [130, 41, 6.2, 10.2, 81, 11.8, 280]
    )
    bars, crossovers, _ = blocks(out / "difference.dat")
    assert [float(row[2]) for row in bars[1:]] == pytest.approx(
        [-152, -150, -140, -131, 47, 195, 524]
    )
    assert crossovers[1][1] == "16"
    found = texts(out / "difference.svg")
    at = {text: y for _, y, text in text_places(out / "difference.svg")}
    label, up, down = (
        at[text]
        for text in (
            "crossover: PyTorch is faster from batch 16",
            "↑ PyTorch takes less time",
            "↓ CUDA takes less time",
        )
    )
    assert label < up - 12  # wherever the lead changes
    assert down < at["batch, samples"] - 58  # above the axis
    assert any(text.startswith("GPU and date are not recorded in the file") for text in found)


def test_several_changes_of_lead_are_counted_and_not_labelled(tmp_path: Path) -> None:
    for side, totals in (("cuda", (1, 3, 1, 3)), ("pytorch", (2, 2, 2, 2))):
        header = (FIXTURES / f"plot/study_{side}.csv").read_text(encoding="utf-8").splitlines()[0]
        fillers = ",0.1" * (header.count(",") - 1)
        rows = [f"{1 << i}{fillers},{total}" for i, total in enumerate(totals)]
        (tmp_path / f"{side}.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    out = draw(tmp_path / "charts", tmp_path / "cuda.csv", tmp_path / "pytorch.csv")
    _, crossovers, _ = blocks(out / "difference.dat")
    assert crossovers[1:] == [["1", "2", ""], ["2", "4", ""], ["3", "8", ""]]
    found = texts(out / "difference.svg")
    assert any(text.endswith("the lead changes 3 times") for text in found)
    assert not any("crossover" in text for text in found)


def test_one_study_csv_draws_its_side(tmp_path: Path) -> None:
    out = draw(tmp_path, FIXTURES / "plot/study_pytorch_bom.csv")
    assert {path.stem for path in out.glob("*.svg")} == {"phases_pytorch", "total"}


def test_several_inputs_get_separate_folders(tmp_path: Path) -> None:
    out = draw(tmp_path, CPU_ONLY, FIXTURES / "plot/study_cuda.csv")
    assert (out / "cpu" / "total.svg").exists()
    assert (out / "study_cuda" / "total.svg").exists()


@pytest.mark.parametrize("name", refusals("invalid_csv.txt"))
def test_invalid_csv_is_refused(name: str, tmp_path: Path) -> None:
    path, message = write_refused("invalid_csv.txt", name, tmp_path)
    done = plot(path, "--out", tmp_path / "charts")
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "charts").exists()


def test_missing_input_is_reported(tmp_path: Path) -> None:
    done = plot(tmp_path / "nothing", "--out", tmp_path / "charts")
    assert done.returncode == 2
    assert str(tmp_path / "nothing") in done.stderr


# ---- which charts --------------------------------------------------------------------------------


def ask_for(run: Path, *charts: list[str]) -> None:
    """Give the run a sweep for each list that requests these charts."""
    header = json.loads((run / "run.json").read_text(encoding="utf-8"))
    header["sweeps"] = [
        {"path": f"sweeps/{i}.json", "text": json.dumps({"name": "t", "charts": names})}
        for i, names in enumerate(charts)
    ]
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")


def test_sweeps_choose_the_chart_kinds(tmp_path: Path) -> None:
    unpacked(tmp_path / "run", FIXTURES / "pair")
    ask_for(tmp_path / "run", ["total"], ["once", "difference"])
    out = draw(tmp_path / "charts", tmp_path / "run")
    assert {path.stem for path in out.iterdir()} == {
        "total",
        "host_to_host",
        "difference",
    }
    ask_for(tmp_path / "run", ["total"], [])  # a sweep without a list
    out = draw(tmp_path / "charts", tmp_path / "run")
    assert {path.stem for path in out.glob("*.svg")} == RUN_CHARTS


def test_charts_of_an_earlier_call_are_removed(tmp_path: Path) -> None:
    gpu = FIXTURES / "report" / "gpu"
    out = draw(tmp_path / "charts", gpu, formats="svg,png")
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    assert (out / "phases_cuda.png").exists()
    draw(out, CPU_ONLY, formats="svg,png")
    assert {path.stem for path in out.glob("phases_*")} == {"phases_cpu", "phases_pytorch"}
    draw(out, gpu, formats="svg,png")
    assert {path.stem for path in out.glob("phases_*")} == {"phases_cuda", "phases_pytorch"}
    assert (out / "notes.txt").exists()


# ---- hostile names ------------------------------------------------------------------------------


def rewrite(run: Path, old: str, new: str, device: str | None = None) -> None:
    lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        for key in ("id", "variant"):
            record[key] = record[key].replace(old, new)
        if record["on"] == "cuda" and device is not None:
            record["device"]["name"] = device
    text = "".join(json.dumps(record) + "\n" for record in records)
    (run / "cases.jsonl").write_text(text, encoding="utf-8")


def test_names_from_results_stay_text(tmp_path: Path) -> None:
    run = tmp_path / "a 'run'; `touch PWNED`"
    unpacked(run, FIXTURES / "pair")
    header = json.loads((run / "run.json").read_text(encoding="utf-8"))
    header["environment"]["gpu"]["name"] = HOSTILE
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    rewrite(run, "01_study", f"01_{HOSTILE}", HOSTILE)
    done = plot(run, "--out", "|touch PWNED", "--format", "svg,png", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert not [path for path in tmp_path.rglob("PWNED") if path.is_file()]
    found = " ".join(" ".join(texts(tmp_path / "|touch PWNED" / "total.svg")).split())
    assert HOSTILE in found  # in the footer, unchanged
    assert f"CUDA 01_{HOSTILE}".replace('"', "'") in found  # in the legend, from the table


def test_csv_names_stay_text(tmp_path: Path) -> None:
    name = "<touch PWNED; `touch PWNED`.csv"
    shutil.copy(FIXTURES / "plot/study_cuda.csv", tmp_path / name)
    done = plot(name, "--out", "-out", cwd=tmp_path)
    if done.returncode == 0:  # "-out" may be refused as an option, but never run
        assert any(name in text for text in texts(tmp_path / "-out" / "total.svg"))
    assert not (tmp_path / "PWNED").exists()
