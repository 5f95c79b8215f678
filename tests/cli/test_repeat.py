"""`bench repeat`: how well runs agree, on runs whose intervals and medians are planted."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compare_runs import CPU, CUDA, OTHER, TORCH
from make_pair import Run
from patience import wait_for_a_hang, watched
from project import (
    BENCH,
    ROOT,
    TIMEOUT_S,
    bench,
    null_sweep,
    read_cases,
    read_header,
    read_lines,
)

PHASE = "host_to_host"


def run_of(folder: Path, medians: dict[str, float], half_width: float = 0.01) -> Run:
    """Return a run with these cases, whose phase has one median in each pass.

    The interval of six passes is from the least to the largest of them, or a little more.
    """
    run = Run(folder)
    run.cases = {name: run.cases[name] for name in medians}
    spread = (-1, -0.99, -0.01, 0.01, 0.99, 1)
    for name, median in medians.items():
        run.cases[name]["phases"] = {PHASE: run.cases[name]["phases"][PHASE]}
        run.cases[name]["phases"][PHASE].update(
            samples=[median * (1 + part * half_width) for part in spread],
            round_starts=list(range(len(spread) + 1)),
        )
    run.write()
    return run


def repeat(*runs: Run, expect: int = 0) -> dict[str, Any]:
    return json.loads(
        bench("repeat", *(run.folder for run in runs), "--json", expect=expect).stdout
    )


def row_of(answer: dict[str, Any], engine: str) -> dict[str, Any]:
    (row,) = [row for row in answer["rows"] if row["engine"] == engine]
    return row


def test_intervals_and_medians(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {CUDA: 1000, OTHER: 1000, CPU: 1000})
    # CUDA: the intervals overlap, and neither median lies in the other's; OTHER: apart.
    two = run_of(tmp_path / "two", {CUDA: 1018, OTHER: 1100, CPU: 1004})
    answer = repeat(one, two)
    cuda, cpu = row_of(answer, "cuda"), row_of(answer, "cpu")
    assert (cuda["phase"], cuda["clock"], cuda["pairs"]) == (PHASE, "host", 2)
    assert (cuda["overlap_frac"], cuda["centre_in_frac"]) == (0.5, 0)
    assert (cuda["within_2_percent"], cuda["within_5_percent"]) == (0.5, 0.5)
    assert cuda["half_width_frac"] == pytest.approx(0.0162, rel=0.1)
    assert (cpu["overlap_frac"], cpu["centre_in_frac"], cpu["within_2_percent"]) == (1, 1, 1)
    assert cpu["median_move_frac"] == pytest.approx(0.004, rel=1e-2)
    worst = answer["worst"][0]
    assert (worst["id"], worst["phase"], worst["runs"]) == (OTHER, PHASE, ["one", "two"])
    assert worst["medians_ns"] == pytest.approx([1000, 1100], rel=1e-3)
    assert worst["moved_frac"] == pytest.approx(0.1, rel=1e-3)
    assert [one["id"] for one in answer["worst"]] == [OTHER, CUDA, CPU]


def test_speedups_of_the_headline(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {OTHER: 1000, TORCH: 2000})
    two = run_of(tmp_path / "two", {OTHER: 1000, TORCH: 2500})
    answer = repeat(one, two)
    (row,) = [row for row in answer["rows"] if row["phase"] == "speed-up"]
    assert (row["engine"], row["clock"], row["pairs"]) == ("cuda", None, 1)
    assert (row["overlap_frac"], row["centre_in_frac"], row["within_5_percent"]) == (0, 0, 0)
    (worst,) = [pair for pair in answer["worst"] if pair["phase"] == "speed-up"]
    assert worst["ratios"] == pytest.approx([2, 2.5], rel=1e-3)
    assert worst["id"] == "mlp_infer layers=4-5-1, f32, batch=2"
    same = repeat(one, run_of(tmp_path / "three", {OTHER: 1100, TORCH: 2200}))
    (row,) = [row for row in same["rows"] if row["phase"] == "speed-up"]
    assert (row["overlap_frac"], row["centre_in_frac"]) == (1, 1)
    assert "–      speed-up" in bench("repeat", one.folder, two.folder).stdout


def test_compiled_cases_are_told_apart(tmp_path: Path) -> None:
    """Each run compiled anew, so its intervals do not say how far such a case moves."""
    one = run_of(tmp_path / "one", {OTHER: 1000, TORCH: 2000})
    two = run_of(tmp_path / "two", {OTHER: 1000, TORCH: 2500})
    for run in (one, two):
        run.cases[TORCH]["draw"] = 1
        run.write()
    engines = [(row["engine"], row["phase"]) for row in repeat(one, two)["rows"]]
    assert engines == [
        ("cuda", PHASE),
        ("pytorch-cuda, compiled", PHASE),
        ("cuda, rival compiled", "speed-up"),
    ]


def test_every_two_of_many_runs(tmp_path: Path) -> None:
    runs = [run_of(tmp_path / str(i), {CUDA: 1000 + i}) for i in range(4)]
    assert row_of(repeat(*runs), "cuda")["pairs"] == 6


def test_phase_without_interval_counts_for_its_median(tmp_path: Path) -> None:
    one, two = (run_of(tmp_path / name, {CUDA: 1000, TORCH: 1000}) for name in ("one", "two"))
    two.passes = 3
    two.write()
    row = row_of(repeat(one, two), "cuda")
    assert (row["pairs"], row["overlap_frac"], row["half_width_frac"]) == (1, None, None)
    assert row["within_2_percent"] == 1


def test_only_cases_that_are_ok_in_both(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {CUDA: 1000, CPU: 1000})
    two = run_of(tmp_path / "two", {CUDA: 1000, OTHER: 1000, CPU: 1000})
    two.cases[CPU]["status"] = "wrong"
    two.write()
    assert [row["engine"] for row in repeat(one, two)["rows"]] == ["cuda"]
    lonely = run_of(tmp_path / "lonely", {OTHER: 1000})
    done = bench("repeat", one.folder, lonely.folder, expect=3)
    assert "no case is ok in two of these runs" in done.stderr


def test_tables(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {CUDA: 1000})
    two = run_of(tmp_path / "two", {CUDA: 1100})
    printed = bench("repeat", one.folder, two.folder).stdout
    assert "cuda    host   host_to_host      1      0 %" in printed
    assert f"10 %  {CUDA}  host_to_host  1.00 µs, 1.10 µs  one, two" in printed


def test_wrong_arguments(tmp_path: Path) -> None:
    one = run_of(tmp_path / "one", {CUDA: 1000})
    assert "at least two run folders" in bench("repeat", one.folder, expect=2).stderr
    assert "run.json" in bench("repeat", one.folder, tmp_path / "none", expect=2).stderr


# ---- sweeps --------------------------------------------------------------------------------------


def test_sweep_is_run_several_times(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "noisy"], [20_000])
    out = tmp_path / "out"
    options = ("--times", "2", "--passes", "5", "--out", out)
    done = bench("repeat", sweep, *options, "--json")
    (total,) = [row for row in json.loads(done.stdout)["rows"] if row["phase"] == "total"]
    assert (total["engine"], total["pairs"]) == ("null", 2)
    assert total["overlap_frac"] is not None
    assert f"run 2 of 2: {out}/2" in done.stderr
    assert "ok        null/null/steady" in done.stderr
    assert sorted(path.name for path in out.iterdir()) == ["1", "2"]
    assert read_header(out / "1")["argv"][1:4] == ["run", "--passes", "5"]
    assert {line["pass"] for line in read_lines(out / "2")} == {1, 2, 3, 4, 5}

    # Finished runs are kept; without --resume they are not touched.
    before = [(out / name / "cases.jsonl").read_bytes() for name in "12"]
    again = bench("repeat", sweep, *options, "--json", "--resume", "--quiet")
    assert json.loads(again.stdout) == json.loads(done.stdout)
    assert again.stderr == ""
    assert [(out / name / "cases.jsonl").read_bytes() for name in "12"] == before
    refused = bench("repeat", sweep, *options, expect=2)
    assert "1 already holds a run" in refused.stderr
    assert "bench run ended with exit code 2" in refused.stderr


def test_interrupted_repeat_is_continued(tmp_path: Path) -> None:
    sweeps = [
        null_sweep(tmp_path / f"{i}.json", [variant], [200_000])
        for i, variant in enumerate(["steady", "hang", "noisy"])
    ]
    out = tmp_path / "out"
    command = [str(BENCH), "repeat", *map(str, sweeps), "--times", "2", "--quick"]
    command += ["--out", str(out)]
    hanging = watched(tmp_path)
    with subprocess.Popen(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "BENCH_ROOT": str(ROOT), **hanging},
    ) as child:
        wait_for_a_hang(hanging)
        child.send_signal(signal.SIGTERM)
        _, rest = child.communicate(timeout=TIMEOUT_S)
    assert child.returncode == 1
    assert "interrupted: continue with the same command, --out and --resume" in rest
    assert len(read_cases(out / "1")) == 1
    assert not (out / "2").exists()
    bench(*command[1:], "--resume", expect=1, **hanging, PATIENCE="none")
    assert [len(read_cases(out / name)) for name in "12"] == [3, 3]


def test_wrong_case_fails_the_command_after_the_table(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "wrong"], [20_000])
    done = bench("repeat", sweep, "--times", "2", "--quick", "--out", tmp_path / "out", expect=1)
    assert "null    host   total" in done.stdout
    assert "a case was wrong or failed" in done.stderr


def test_sweeps_and_runs_are_told_apart(tmp_path: Path) -> None:
    run = run_of(tmp_path / "one", {CUDA: 1000}).folder
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [20_000])
    mixed = bench("repeat", run, sweep, expect=2).stderr
    assert "either sweeps (files) or runs (folders)" in mixed
    assert "--times needs a sweep" in bench("repeat", run, run, "--times", "2", expect=2).stderr
    assert "--quick needs a sweep" in bench("repeat", run, run, "--quick", expect=2).stderr
    assert "--resume needs --out" in bench("repeat", sweep, "--resume", expect=2).stderr
    missing = bench("repeat", tmp_path / "no.json", "--out", tmp_path / "out", expect=2)
    assert "no.json" in missing.stderr
