"""Malicious results: every reader refuses them or treats their contents as text."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hostile_texts import CONTROL, DEEP, ESCAPES, MARKDOWN, SHELL, tree
from make_pair import Run, renamed
from project import bench, read_lines, report_of

needs_gnuplot = pytest.mark.skipif(
    shutil.which("gnuplot") is None, reason="gnuplot is not installed"
)

CASE = "mlp_infer/cuda/03_vectorized/batch=4"


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("hostile") / "base")
    run.write()
    return run


def odd_run(base: Run, folder: Path, text: str) -> Path:
    """Write a run in which every free text is `text`."""
    run = base.copy_to(folder)
    run.header["argv"] = ["bench", text]
    run.header["started"] = f"2026-01-01T00:00:00Z{text}"
    run.header["sweeps"] = [{"path": text, "text": json.dumps({"name": text, "charts": [text]})}]
    for part in run.environment.values():
        if isinstance(part, dict):
            part.update({key: text for key, value in part.items() if isinstance(value, str)})
    for case in run.cases.values():
        case["flags"] = [text]
        case["device"]["name"] = text
        case["device"]["throttle"] = [text]
        case["resources"]["arch"] = text
        if case["status"] != "ok":
            case["reason"] = text
    run.cases[CASE].update(status="failed", reason=text, phases={})
    return run.write()


# All texts of the machine differ; without these options bench would compare and print nothing.
ALLOW = [word for name in ("driver", "mig", "ecc", "cpu", "mode") for word in ("--allow", name)]
READERS = [
    ["compare", "RUN", "RUN"],
    ["compare", "BASE", "RUN"],
    ["compare", "BASE", "RUN", "--allow", "gpu", *ALLOW, "--all"],
    ["history", "RUN", "RUN", "--all"],
    ["report", "RUN", "--out", "OUT/REPORT.md"],
    ["report", "RUN", "--html", "OUT/report.html"],
    ["merge", "OUT/merged", "RUN"],
    ["plot", "RUN", "--out", "OUT/charts"],
]


@pytest.mark.parametrize("arguments", READERS, ids=lambda words: "_".join(words[:1]))
@pytest.mark.parametrize("text", [SHELL, ESCAPES, MARKDOWN, "../../escaped"])
def test_texts_of_a_run_stay_text(
    base: Run, arguments: list[str], text: str, tmp_path: Path
) -> None:
    run = odd_run(base, tmp_path / "run", text)
    (tmp_path / "OUT").mkdir()
    places = {"RUN": run, "BASE": base.folder}
    done = bench(*[places.get(word, word) for word in arguments], cwd=tmp_path, expect=None)
    assert done.returncode in range(5), done.stderr  # no signal
    if "--all" in arguments:
        assert done.returncode in {0, 1}, done.stderr
        assert CASE in done.stdout or "history" in arguments
    assert not CONTROL.search(done.stdout + done.stderr)
    assert {path.split("/")[0] for path in tree(tmp_path)} == {"run", "OUT"}
    assert not [path for path in tmp_path.rglob("PWNED*")]


@pytest.mark.parametrize("key", ["id", "variant", "engine", "workload"])
def test_a_case_with_control_characters_is_refused(base: Run, key: str, tmp_path: Path) -> None:
    run = base.copy_to(tmp_path / "run")
    run.cases[CASE][key] = f"mlp_infer/{ESCAPES}"
    run.write()
    done = bench("report", run.folder, "--out", tmp_path / "REPORT.md", expect=2)
    assert f'cases.jsonl:{list(run.cases).index(CASE) + 1}: "{key}"' in done.stderr
    assert not CONTROL.search(done.stderr)


@pytest.mark.parametrize("name", ["../../escaped", SHELL, "/tmp/escaped"])
@needs_gnuplot
def test_names_of_phases_and_runs_cannot_escape_the_folder(
    base: Run, name: str, tmp_path: Path
) -> None:
    runs = []
    for i in range(2):
        run = base.copy_to(tmp_path / "runs" / f"{i}; touch PWNED #`x` <|")
        case = run.cases[CASE]
        case["phases"] = {name: case["phases"]["host_to_host"], "total": case["phases"]["total"]}
        runs.append(run.write())
    out = tmp_path / "deep" / "out"
    for command in (
        ["history", *runs, "--case", CASE],
        ["plot", runs[0], "--case", CASE, "--phase", name, "--out", out],
        ["plot", runs[0], "--out", out],
    ):
        done = bench(*command, cwd=tmp_path, expect=None)
        assert done.returncode in (0, 2), done.stderr
    assert {path.split("/")[0] for path in tree(tmp_path)} == {"runs", "deep"}
    assert [path for path in (tmp_path / "deep").iterdir()] == [out]
    assert not [path for path in tmp_path.rglob("PWNED*")]
    assert not [path for path in tmp_path.rglob("escaped*")]


@needs_gnuplot
def test_an_engine_gives_a_chart_its_name_only_if_it_is_one(base: Run, tmp_path: Path) -> None:
    run = base.copy_to(tmp_path / "run")
    run.cases[CASE] = renamed(run.cases[CASE], engine="x/../../../escaped")
    run.write()
    out = tmp_path / "deep" / "out"
    (out / "phases_x").mkdir(parents=True)
    bench("plot", run.folder, "--out", out)
    assert not [path for path in tmp_path.rglob("escaped*")]


@needs_gnuplot
def test_names_do_not_break_a_picture(base: Run, tmp_path: Path) -> None:
    run = base.copy_to(tmp_path / "run")
    for name, case in run.cases.items():
        run.cases[name] = renamed(case, variant=case["variant"] + " ]]> <b> &")
    run.write()
    bench("plot", run.folder, "--out", tmp_path / "out")
    pictures = list((tmp_path / "out").rglob("*.svg"))
    assert pictures
    for picture in pictures:
        ElementTree.parse(picture)


@pytest.mark.parametrize(
    "text", ["\u202egpj.exe", "a\u2028b", "\u2066x\u2069", "\ufeffx", "\u200fx"]
)
def test_text_that_is_not_seen_does_not_reach_the_terminal(
    base: Run, text: str, tmp_path: Path
) -> None:
    run = base.copy_to(tmp_path / "run")
    run.cases[CASE].update(status="failed", reason=text)
    run.write()
    done = bench("compare", run.folder, run.folder, "--all", expect=None)
    for shown in (done.stdout + done.stderr, report_of(run.folder, out=tmp_path / "r.md")):
        assert not set(shown) & set("\u202e\u2028\u2066\u2069\ufeff\u200f")
    run.cases[CASE] = renamed(run.cases[CASE], variant=text)
    run.write()
    done = bench("report", run.folder, "--out", tmp_path / "r.md", expect=2)
    assert "found control characters" in done.stderr


@pytest.mark.parametrize("text", [MARKDOWN, SHELL])
def test_markup_of_an_engine_is_not_the_reports(base: Run, text: str, tmp_path: Path) -> None:
    run = base.copy_to(tmp_path / "run")
    for name, case in run.cases.items():
        if case["engine"] == "pytorch":
            run.cases[name] = renamed(case, engine=text)
    run.write()
    report = report_of(run.folder, out=tmp_path / "REPORT.md")
    written = re.sub(r"(?m)^    .*$", "", report)
    assert "<script>" not in re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", written)
    bench("report", "--print", "headline", run.folder)


def test_markup_of_a_run_is_not_the_reports(base: Run, tmp_path: Path) -> None:
    run = odd_run(base, tmp_path / "run", MARKDOWN)
    report_of(run, out=tmp_path / "REPORT.md")
    bench("compare", base.folder, run, "--markdown", tmp_path / "compare.md", expect=None)
    for file in tmp_path.rglob("*.md"):
        text = re.sub(r"(?m)^    .*$", "", file.read_text(encoding="utf-8"))  # indented code
        text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
        assert "<script>" not in text, file
        assert not re.search(r"(?<!\\)\]\(javascript", text), file


@pytest.mark.parametrize("file", ["run.json", "cases.jsonl"])
@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        '{"a":' * DEEP,
        '{"schema":1,"seed":1,"environment":' + '{"a":' * DEEP,
        '{"schema":1,"id":"x","params":{"a":' + "[" * DEEP,
        '{"schema":1e400}',
        '{"schema":' + "9" * 400 + "}",
        '{"schema":"1"}',
    ],
    ids=["arrays", "objects", "environment", "params", "real", "integer", "text"],
)
def test_deep_and_huge_results_are_refused(base: Run, file: str, text: str, tmp_path: Path) -> None:
    run = base.copy_to(tmp_path / "run")
    run.write()
    (run.folder / file).write_text(text + "\n", encoding="utf-8")
    for command in (
        ["report", run.folder, "--out", tmp_path / "R.md"],
        ["history", base.folder, run.folder],
        ["compare", base.folder, run.folder],
    ):
        assert file in bench(*command, expect=2).stderr
    assert not (tmp_path / "R.md").exists()


def write_changed(run: Run, change: Callable[[dict[str, Any]], None]) -> None:
    """Write the run with every line of its journal changed."""
    run.write()
    lines = read_lines(run.folder)
    for line in lines:
        change(line)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (run.folder / "cases.jsonl").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("samples", [[1, None, 3], [1, "2", 3], "123", 7, [[1, 2]], [True]])
def test_samples_that_are_not_numbers_are_refused(base: Run, samples: Any, tmp_path: Path) -> None:
    def spoil(line: dict[str, Any]) -> None:
        if line["id"] == CASE:
            line["phases"]["kernel_graph"]["samples"] = samples

    run = base.copy_to(tmp_path / "run")
    write_changed(run, spoil)
    done = bench("compare", base.folder, run.folder, expect=2)
    assert '"phases.kernel_graph": not an array of numbers' in done.stderr


@pytest.mark.parametrize("number", ["1e308", "-1e308", "9223372036854775807", "-1", "0"])
def test_odd_times_do_no_harm(base: Run, number: str, tmp_path: Path) -> None:
    def spoil(line: dict[str, Any]) -> None:
        for phase in line["phases"].values():
            phase["samples"] = ["N"] * len(phase["samples"])
            phase.update({key: "N" for key in ("median", "min", "max", "q25", "q75", "p95")})

    run = base.copy_to(tmp_path / "run")
    write_changed(run, spoil)
    journal = run.folder / "cases.jsonl"
    journal.write_text(journal.read_text(encoding="utf-8").replace('"N"', number))
    for command in (
        ["report", run.folder, "--out", tmp_path / "R.md"],
        ["compare", base.folder, run.folder],
        ["history", base.folder, run.folder],
        ["plot", run.folder, "--out", tmp_path / "charts"],
    ):
        done = bench(*command, expect=None)
        assert done.returncode in range(5), (command[0], done.stderr)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (",".join(f"c{i}" for i in range(100_000)), "line 1: found the columns c0,c1,"),
        (
            "Batch,Init,H2D,Forward,D2H,Total\n"
            + "".join(f"{i},1,1,1,1,4\n" for i in range(1, 40_001)),
            "found 40000 different batches",
        ),
    ],
    ids=["columns", "batches"],
)
@needs_gnuplot
def test_a_huge_csv_is_refused(text: str, found: str, tmp_path: Path) -> None:
    csv = tmp_path / "x.csv"
    csv.write_text(text + "\n", encoding="utf-8")
    done = bench("plot", csv, "--out", tmp_path / "charts", expect=2)
    assert f"{csv}: {found}" in done.stderr
    assert not (tmp_path / "charts").exists()
