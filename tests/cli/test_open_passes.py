"""An open number of passes: a case leaves once its interval over passes is as narrow as asked."""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from project import (
    QUICK_MEASURE,
    bench,
    make_root,
    own_worker,
    read_header,
    read_lines,
    worker_script,
    write_sweep,
)

# Each process is the next pass. Medians of "reach" are 1.15 % to both sides, those of "wide" a tenth.
WORKER = worker_script(
    """if op == "open":
    with here.joinpath("log").open("a") as log:
        log.write(f"{os.getpid()}\\n")
if op == "sample":
    sides = int(os.environ.get("SIDES", 1))
    n = -(-len(set(here.joinpath("log").open())) // sides)
    spread = SPREADS.get(request["id"].split("/")[2])
    if spread is not None:
        median = 1000 * (1 + spread * (-1) ** n) + n / 1000
    else:  # rounds differ by much, passes by far more
        median = (10 if n % 2 else 100) * (1 + 0.3 * (-1) ** request["round"]) + n / 1000
    answer["phases"] = {"total": [median + (i - 4) / 1000 for i in range(9)]}
""",
    first='SPREADS = {"quiet": 0, "reach": 0.0115, "wide": 0.1}',
)

ALL = {"quiet": 5, "reach": 8, "wide": 6}


def make_command(folder: Path, measure: dict[str, Any]) -> tuple[Path, Path]:
    root = make_root(folder / "project")
    own_worker(root, WORKER)
    contender = {"engine": "mine", "device": ["cpu"], "variants": list(ALL)}
    options = {**QUICK_MEASURE, **measure}
    return root, write_sweep(folder / "s.json", "null", [contender], measure=options)


def passes_of(run: Path) -> dict[str, list[int]]:
    passes = defaultdict(list)
    for line in read_lines(run):
        passes[line["variant"]].append(line["pass"])
    return passes


def run_all(folder: Path, *options: object, **measure: Any) -> Path:
    root, sweep = make_command(folder, measure)
    command = ("run", sweep, "--out", folder / "run", *options)
    bench(*command, root=root, BENCH_PYTHON=sys.executable)
    return folder / "run"


def expect(run: Path, numbers: dict[str, int]) -> None:
    assert passes_of(run) == {name: list(range(1, n + 1)) for name, n in numbers.items()}
    header = read_header(run)
    assert header["finished"]
    assert [facts["pass"] for facts in header["passes"]] == list(
        range(1, max(numbers.values()) + 1)
    )


OPEN = {"least": 5, "most": 12}


def test_each_case_takes_as_many_as_it_needs(tmp_path: Path) -> None:
    run = run_all(tmp_path, passes=OPEN)
    expect(run, ALL)
    (sweep,) = read_header(run)["sweeps"]
    assert (sweep["passes"], sweep["least_passes"], sweep["interval"]) == (12, 5, 0.02)


@pytest.mark.parametrize(
    ("options", "measure", "numbers"),
    [
        ([], {"passes": OPEN, "interval": 0.3}, {"quiet": 5, "reach": 5, "wide": 6}),
        (["--passes", "7-8"], {"passes": 6}, {"quiet": 7, "reach": 8, "wide": 7}),
        (["--passes", "6"], {"passes": OPEN}, {"quiet": 6, "reach": 6, "wide": 6}),
        (["--quick"], {"passes": OPEN}, {"quiet": 1, "reach": 1, "wide": 1}),
    ],
)
def test_what_is_asked(
    options: list[str], measure: dict[str, Any], numbers: dict[str, int], tmp_path: Path
) -> None:
    run = run_all(tmp_path, *options, **measure)
    expect(run, numbers)
    (sweep,) = read_header(run)["sweeps"]
    is_open = options[:1] != ["--quick"] and options[1:] != ["6"]
    assert ("least_passes" in sweep) == is_open


def test_rounds_that_would_not_help_are_not_taken(tmp_path: Path) -> None:
    """From the third pass on, which knows how far passes are apart."""
    root, _ = make_command(tmp_path, {})
    contender = {"engine": "mine", "device": ["cpu"], "variants": ["rough"]}
    measure = {"passes": 4, "min_rounds": 3, "min_samples": 1}
    sweep = write_sweep(tmp_path / "rough.json", "null", [contender], measure=measure)
    bench("run", sweep, "--out", tmp_path / "run", root=root, BENCH_PYTHON=sys.executable)
    lines = read_lines(tmp_path / "run")
    assert [line["stop"] for line in lines] == ["most_rounds"] * 2 + ["spread"] * 2
    assert all(line["rounds"] >= 16 for line in lines[:2])
    assert all(line["rounds"] <= 4 for line in lines[2:])  # and one whose output is checked
    assert read_header(tmp_path / "run")["finished"]


def test_the_precision_is_told(tmp_path: Path) -> None:
    """The widest of six passes a tenth to both sides: 2.571 · 0.11 · √(1/6 + 1/3)."""
    root, sweep = make_command(tmp_path, {"passes": OPEN})
    run = tmp_path / "run"
    told = bench("run", sweep, "--out", run, root=root, BENCH_PYTHON=sys.executable).stderr
    widest = "widest ±20 % (null/mine-cpu/wide/work_ns=0)"
    text = f"median interval ±2 %, {widest}; asked: ±2 %, reached in 2 of 3 cases"
    assert f"\nprecision: {text}\n" in told
    assert text in bench("report", run, "--out", "-").stdout
    quiet = ("run", sweep, "--out", tmp_path / "quick", "--quick")
    assert "precision: " not in bench(*quiet, root=root, BENCH_PYTHON=sys.executable).stderr


def test_the_command_that_measures_several_runs_again(tmp_path: Path) -> None:
    for name in ("steady", "noisy"):
        contender = {"engine": "null", "variants": [name]}
        measure = {**QUICK_MEASURE, "passes": OPEN}
        sweep = write_sweep(tmp_path / f"{name}.json", "null", [contender], measure=measure)
        bench("run", sweep, "--out", tmp_path / name)
    report = bench("report", tmp_path / "steady", tmp_path / "noisy", "--out", "-").stdout
    assert "--passes=5-12 --out=results/again" in report


def test_resumed(tmp_path: Path) -> None:
    """What is missing of a run that was cut off is measured, and no more."""
    root, sweep = make_command(tmp_path, {"passes": OPEN})
    run = tmp_path / "run"
    bench("run", sweep, "--out", run, "--passes", "6", root=root, BENCH_PYTHON=sys.executable)
    again = ("run", sweep, "--out", run, "--resume")
    bench(*again, root=root, BENCH_PYTHON=sys.executable)
    expect(run, {**ALL, "quiet": 6})
    lines = read_lines(run)
    bench(*again, root=root, BENCH_PYTHON=sys.executable)
    assert read_lines(run) == lines


def test_no_further_pass_without_time(tmp_path: Path) -> None:
    root, sweep = make_command(tmp_path, {"passes": OPEN})
    run = tmp_path / "run"
    command = ("run", sweep, "--out", run)
    bench(*command, "--passes", "5", root=root, BENCH_PYTHON=sys.executable)
    header = read_header(run)
    for facts in header["passes"]:  # as if each had taken an hour
        facts |= {"started": "2026-01-01T10:00:00+00:00", "finished": "2026-01-01T11:00:00+00:00"}
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    again = (*command, "--resume")
    cut = bench(*again, "--budget", "60s", root=root, expect=1, BENCH_PYTHON=sys.executable)
    assert "pass 6 may take 4322 s; finished passes are in" in cut.stderr
    assert passes_of(run) == {name: [1, 2, 3, 4, 5] for name in ALL}
    assert not read_header(run).get("finished")
    bench(*again, root=root, BENCH_PYTHON=sys.executable)
    expect(run, ALL)


def test_merge_knows_who_has_left(tmp_path: Path) -> None:
    root, sweep = make_command(tmp_path, {"passes": OPEN})
    run, journal = tmp_path / "run", tmp_path / "run" / "cases.jsonl"
    bench("run", sweep, "--out", run, "--shard", "1/1", root=root, BENCH_PYTHON=sys.executable)
    bench("merge", tmp_path / "whole", run, root=root)
    assert read_header(tmp_path / "whole")["finished"]
    # As if it had been killed in the last pass.
    header = read_header(run)
    for key in ("finished", "digest"):
        del header[key]
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]), encoding="utf-8")
    done = bench("merge", tmp_path / "part", run, root=root, expect=1)
    assert "3 cases: 0 missing, 1 unfinished" in done.stderr
    assert "reach" in done.stderr
    assert "(7 of 12 passes)" in done.stderr


def test_a_pass_left_out_is_refused(tmp_path: Path) -> None:
    run = run_all(tmp_path, passes=OPEN)
    journal = run / "cases.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [
        text
        for text, line in zip(lines, read_lines(run), strict=True)
        if (line["variant"], line["pass"]) != ("reach", 3)
    ]
    journal.write_text("".join(kept), encoding="utf-8")
    done = bench("report", run, "--print", "headline", expect=2)
    assert "found 7 passes, the last of them 8; expected all up to it" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--passes", "4-8"], "two of 5 to 64, such as 5-12"),
        (["--passes", "8-5"], "--passes 8-5: expected a number from 1 to 64, or two of 5 to 64"),
        (["--passes", "5-"], "--passes 5-: expected"),
        (["--passes", "5-6-7"], "--passes 5-6-7: expected"),
        (["--passes", "5-100"], "--passes 5-100: expected"),
        (["--passes", "5-8", "--against", "self"], "--against with --passes 5-8: expected one"),
    ],
)
def test_refused(options: list[str], message: str) -> None:
    done = bench("run", "--workload", "null", "--variant", "steady", *options, expect=2)
    assert message in done.stderr


def test_plan_tells_that_the_number_is_open() -> None:
    done = bench("plan", "--workload", "null", "--engine", "null", "--variant", "steady")
    assert done.stdout.endswith("1 cases in 5 to 12 passes: 1 to run, 0 to skip\n")


def test_builds_that_are_compared_take_all_rounds(tmp_path: Path) -> None:
    """How far passes are apart is no part of the difference of two that were in the same ones."""
    root, _ = make_command(tmp_path, {})
    contender = {"engine": "mine", "device": ["cpu"], "variants": ["rough"]}
    measure = {"min_rounds": 3, "min_samples": 1}
    sweep = write_sweep(tmp_path / "rough.json", "null", [contender], measure=measure)
    pair = ("--against", "self", "--passes", "4", "--recheck-limit", "0s")
    keys = {"root": root, "BENCH_PYTHON": sys.executable, "SIDES": "2"}
    bench("run", sweep, "--out", tmp_path / "run", *pair, expect=None, **keys)
    lines = read_lines(tmp_path / "run")
    assert [line["stop"] for line in lines] == ["most_rounds"] * 4
