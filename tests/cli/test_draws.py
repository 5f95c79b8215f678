"""A compiler that tunes is drawn several times, and every pass runs the fastest draw."""

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from project import (
    FIXTURES,
    QUICK_MEASURE,
    bench,
    make_root,
    read_header,
    read_lines,
    report_of,
    write_sweep,
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_root(tmp_path / "project")
    folder = root / "reference_tuned"
    folder.mkdir()
    shutil.copy(FIXTURES / "workers" / "tuned.py", folder / "worker.py")
    shutil.copy(FIXTURES / "workers" / "mine.py", folder / "mine.py")
    return root


def sweep_of(folder: Path, *variants: str, **measure: Any) -> Path:
    return write_sweep(
        folder / "tuned.json",
        "mlp_infer",
        [{"engine": "tuned", "device": ["cpu"], "variants": list(variants)}],
        axes={"batch": [2]},
        measure={**QUICK_MEASURE, "passes": 2, **measure},
    )


def medians(lines: list[dict[str, Any]], variant: str) -> list[tuple[Any, Any, float]]:
    """Return pass, draw and median of each line of a case."""
    return [
        (line["pass"], line["draw"], line["phases"]["host_to_host"]["median"])
        for line in lines
        if f"/{variant}/" in line["id"]
    ]


def test_every_pass_runs_the_fastest_draw(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep = sweep_of(tmp_path, "fused", "plain")
    printed = bench("run", sweep, "--out", out, "--json", root=root).stdout
    lines = read_lines(out)
    draws = [(None, 1, 3000), (None, 2, 1000), (None, 3, 2000)]
    assert medians(lines, "fused") == [*draws, (1, 2, 1000), (2, 2, 1000)]
    assert [line[:2] for line in medians(lines, "plain")] == [(1, None), (2, None)]
    fused = [line for line in lines if "/fused/" in line["id"]]
    assert len({line["once_ns"]["process"] for line in fused}) == len(fused), "new processes"
    assert [line["once_ns"]["results"] for line in fused] == [0, 0, 0, 1, 0], "of the first pass"
    # The case's own numbers are those of the passes; the draws stand beside them.
    (joined,) = [case for case in json.loads(printed) if "/fused/" in case["id"]]
    assert joined["phases"]["host_to_host"]["median"] == 1000
    assert [draw["median_ns"] for draw in joined["draws"]] == [3000, 1000, 2000]
    assert joined["draw"] == 2
    assert joined["trust"] == "self-reported", "it declines audits"
    assert joined["once_ns"]["compile"] == 5000, "the first draw's, that found nothing"
    assert not (out / "compiled").exists(), "only an unfinished run needs it"
    text = report_of(out, out=tmp_path / "report.md", root=root)
    assert re.search(
        r"/fused/.* 3\.00 µs, \*\*1\.00 µs\*\*, 2\.00 µs \| +1\.00 µs \| +3\.00× \|", text
    )


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core compiles one after another")
def test_other_draws_are_compiled_side_by_side(root: Path, tmp_path: Path) -> None:
    """The first one alone, as how long a compilation takes is said of it."""
    out = tmp_path / "out"
    bench("run", sweep_of(tmp_path, "paired"), "--out", out, root=root)
    lines = read_lines(out)
    assert [line["draw"] for line in lines[:3]] == [1, 2, 3]
    assert [line["once_ns"]["compile"] for line in lines] == [6e9, 10, 10, 10, 10]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core compiles one after another")
def test_no_draws_are_compiled_that_would_not_end(root: Path, tmp_path: Path) -> None:
    """The first draw says that it compiled for 6 s, so that two more would take 12."""
    out = tmp_path / "out"
    run = ("run", sweep_of(tmp_path, "paired"), "--out", out)
    little = "10s"  # mood: less than it says that it needs, always
    printed = bench(*run, "--budget", little, expect=1, root=root).stderr
    assert re.search(r"of 10 s are left, and draw 2 may take \d+ s; finished passes", printed)
    assert [line["draw"] for line in read_lines(out)] == [1]
    bench(*run, "--budget", "1h", "--resume", root=root)
    assert [line["draw"] for line in read_lines(out)][:3] == [1, 2, 3]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core compiles one after another")
def test_quick_compiles_for_all_engines_at_once(root: Path, tmp_path: Path) -> None:
    """Each would wait for the other for ever; what is measured is loaded."""
    shutil.copytree(root / "reference_tuned", root / "reference_other")
    sweep = write_sweep(
        tmp_path / "two.json",
        "mlp_infer",
        [{"engine": e, "device": ["cpu"], "variants": ["met"]} for e in ("tuned", "other")],
        axes={"batch": [2]},
        measure=QUICK_MEASURE,
    )
    bench("run", sweep, "--quick", "--out", tmp_path / "out", root=root)
    assert compile_times(tmp_path / "out") == [5000, 5000], "not those of loading"


def compile_times(run: Path) -> list[float | None]:
    return [line["once_ns"].get("compile") for line in read_lines(run)]


def test_a_case_that_chooses_nothing_is_compiled_once(root: Path, tmp_path: Path) -> None:
    sweep, keys = sweep_of(tmp_path, "plain"), {"OPEN_KEYS": "results compile_cache"}
    bench("run", sweep, "--out", tmp_path / "out", root=root, **keys)
    assert compile_times(tmp_path / "out") == [5000, 10]
    bench("run", sweep, "--out", tmp_path / "old", root=root)
    assert compile_times(tmp_path / "old") == [None] * 2, "its hello does not name the key"


@pytest.mark.parametrize("options", [["--draws", "1"], ["--quick"]])
def test_one_draw_is_no_draw(options: list[str], root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench("run", sweep_of(tmp_path, "fused"), "--out", out, *options, root=root)
    lines = read_lines(out)
    assert {line[1:] for line in medians(lines, "fused")} == {(1, 3000)}
    assert all(line["pass"] for line in lines)


def test_resume_keeps_draws(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep = sweep_of(tmp_path, "fused")
    bench("run", sweep, "--out", out, root=root)
    journal = out / "cases.jsonl"
    kept = journal.read_text(encoding="utf-8").splitlines(keepends=True)[:2]
    journal.write_text("".join(kept), encoding="utf-8")
    for draw, speed in ((1, 3000), (2, 1000)):
        (out / "compiled" / str(draw)).mkdir(parents=True)
        (out / "compiled" / str(draw) / "choice").write_text(str(speed), encoding="utf-8")
    bench("run", sweep, "--out", out, "--resume", root=root)
    lines = read_lines(out)
    assert lines[:2] == [json.loads(line) for line in kept]
    assert medians(lines[2:], "fused") == [(None, 3, 2000), (1, 2, 1000), (2, 2, 1000)]


def test_more_passes_of_a_finished_run_say_what_they_lack(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep = sweep_of(tmp_path, "fused")
    bench("run", sweep, "--out", out, root=root)
    told = "the compiled code of 3 draws is gone"
    done = bench("run", sweep, "--out", out, "--resume", "--passes", "3", root=root)
    assert told in done.stderr
    assert [line["pass"] for line in read_lines(out)][-1] == 3


def test_a_case_that_cannot_be_compiled_is_reported_once(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench("run", sweep_of(tmp_path, "refused"), "--out", out, root=root)
    (line,) = read_lines(out)
    assert (line["status"], line["pass"], line["reason"]) == ("skipped", 1, "no compiler here")


def test_a_wrong_draw_is_not_chosen(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    bench("run", sweep_of(tmp_path, "unlucky"), "--out", out, root=root)
    lines = read_lines(out)
    assert [(line["draw"], line["status"]) for line in lines[:3]] == [
        (1, "wrong"),
        (2, "ok"),
        (3, "ok"),
    ]
    assert {(line["draw"], line["status"]) for line in lines[3:]} == {(2, "ok")}


def test_a_draw_that_failed_has_no_compile_time(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sweep = sweep_of(tmp_path, "brittle")
    printed = bench("run", sweep, "--out", out, "--json", expect=None, root=root).stdout
    (joined,) = json.loads(printed)
    assert [line["status"] for line in read_lines(out)] == ["failed", *["ok"] * 4]
    assert joined["once_ns"]["compile"] == 5000, "the second draw found nothing"


def test_only_draws_are_no_case(root: Path, tmp_path: Path) -> None:
    """A run interrupted between its draws and its passes."""
    out = tmp_path / "out"
    bench("run", sweep_of(tmp_path, "fused"), "--out", out, root=root)
    journal = out / "cases.jsonl"
    kept = journal.read_text(encoding="utf-8").splitlines(keepends=True)[:3]
    journal.write_text("".join(kept), encoding="utf-8")
    header = {**read_header(out), "finished": None}
    (out / "run.json").write_text(json.dumps(header), encoding="utf-8")
    done = bench("report", out, "--out", tmp_path / "report.md", expect=None, root=root)
    assert "/fused/" not in (tmp_path / "report.md").read_text(encoding="utf-8"), done.stderr
