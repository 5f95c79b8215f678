"""--budget: a run on a machine that is lent for minutes ends before it begins what would be cut off."""

import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from patience import wait_for_a_hang, watched
from project import (
    BENCH,
    ROOT,
    TIMEOUT_S,
    bench,
    make_root,
    null_sweep,
    ran,
    read_cases,
    read_header,
    read_lines,
    read_passes,
    started,
)

RECORD = ROOT / "tests/tools/record.py"


def make_passes_long(run: Path, seconds: int) -> None:
    """As if each pass had taken so long, and one more had been cut off and resumed the day after."""
    header = read_header(run)
    for facts, took in zip(header["passes"], (86400, seconds), strict=True):
        ended = datetime.fromisoformat(facts["started"]) + timedelta(seconds=took)
        facts["finished"] = ended.isoformat()
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")


def test_no_pass_is_begun_that_would_not_end(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000]), tmp_path / "run"
    bench("run", sweep, "--passes", "2", "--out", run)
    make_passes_long(run, 100)
    four = ("run", sweep, "--passes", "4", "--out", run, "--resume", "--budget")
    printed = bench(*four, "60s", expect=1).stderr
    assert "pass 3 may take 122 s; finished passes are in" in printed, printed
    assert f"--resume --out {run}" in printed
    assert [number for _, number in read_passes(run)] == [1, 2]
    assert read_header(run)["finished"] is None
    bench(*four, "1h")
    assert [number for _, number in read_passes(run)] == [1, 2, 3, 4]
    assert read_header(run)["finished"]


@pytest.mark.parametrize(("before_s", "expected_s"), [(0, 482), (400, 962), (5000, 1202)])
def test_what_the_first_pass_compiled_is_not_expected_again(
    tmp_path: Path, before_s: int, expected_s: int
) -> None:
    """A pass of 1000 s, of 600 s of compiling that may have been before it, in draws."""
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000]), tmp_path / "run"
    bench("run", sweep, "--passes", "1", "--out", run)
    header = read_header(run)
    (facts,) = header["passes"]
    ended = datetime.fromisoformat(facts["started"]) + timedelta(seconds=1000)
    facts["finished"] = ended.isoformat()
    facts["spent_s"] = {"compile": 600, "samples": 401 + before_s}
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    two = ("run", sweep, "--passes", "2", "--out", run, "--resume", "--budget", "60s")
    assert f"pass 2 may take {expected_s} s" in bench(*two, expect=1).stderr


def test_a_pass_that_lasts_longer_is_cut_off(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["steady", "hang"], [1000]), tmp_path / "run"
    once = ["run", str(sweep), "--passes", "1", "--out", str(run)]
    environment = {"BENCH_ROOT": str(ROOT), **watched(tmp_path)}
    with started(*once, "--budget", "1h", **environment) as process:
        wait_for_a_hang(environment)
        process.send_signal(signal.SIGALRM)  # the hour is over
        _, printed = process.communicate(timeout=TIMEOUT_S)
    assert (tmp_path / "hanging_alarm").read_text("utf-8") == "3600"
    assert process.returncode == 1
    assert "the time of --budget ended within a pass or draw; finished cases are in" in printed
    assert read_header(run)["finished"] is None
    bench(*once, "--resume", expect=1, **environment, PATIENCE="none")
    assert read_header(run)["finished"]


def test_finished_passes_need_no_time(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000]), tmp_path / "run"
    bench("run", sweep, "--passes", "2", "--out", run)
    make_passes_long(run, 100)
    bench("run", sweep, "--passes", "2", "--out", run, "--resume", "--budget", "60s")


def test_a_quick_run_opens_no_case_after_its_time(tmp_path: Path) -> None:
    """What is left is skipped, and the run is complete."""
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000]), tmp_path / "run"
    quick = ("run", sweep, "--quick", "--out", run)
    printed = bench(*quick, "--budget", "1ms").stderr  # mood: over before the first case, always
    assert "skipped" in printed, printed
    cases = read_cases(run)
    no_time = "no time was left: --budget 0.001s"  # mood: as above
    assert {case["reason"] for case in cases.values()} == {no_time}
    assert read_header(run)["finished"]
    bench(*quick, "--budget", "1h", "--resume", "--retry")
    assert {line["id"]: line["status"] for line in read_lines(run)} == dict.fromkeys(cases, "ok")


def test_budget_is_of_a_run_alone(tmp_path: Path) -> None:
    for other in (["--against", "self"], ["--trace"]):
        bench("run", "x.json", "--budget", "1h", "--out", tmp_path / "x", *other, expect=2)


def call(tool: str, project: Path, *options: object) -> subprocess.CompletedProcess[str]:
    return ran(
        sys.executable,
        project / "tests/tools" / tool,
        "--bench",
        BENCH,
        *options,
        env={**os.environ, "BENCH_ROOT": str(project)},
        expect=None,
    )


def record(project: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return call("record.py", project, "--out", out, *options)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project whose reference has two runs of the null workload."""
    project = make_root(tmp_path / "project", copy="plots")
    (project / "tests/tools").mkdir(parents=True)
    text = RECORD.read_text("utf-8")
    begin, end = text.index("RUNS = {"), text.index("def header_of")
    runs = 'RUNS = {"one": ["s.json"], "two": ["s.json"]}\n'
    runs += 'BOOT_RUNS = {"both": ["s.json"], "one": ["s.json"]}\n'
    (project / "tests/tools/record.py").write_text(text[:begin] + runs + text[end:], "utf-8")
    shutil.copy(RECORD.with_name("publish.py"), project / "tests/tools")
    null_sweep(project / "s.json", ["steady"], [1000])
    return project


def test_the_reference_is_recorded_in_several_calls(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    listed = record(project, out, "--list")
    assert listed.returncode == 3
    assert listed.stdout.split() == ["h200_one", "not", "begun", "h200_two", "not", "begun"]
    one = out / "h200_one"
    bench("run", project / "s.json", "--passes", "2", "--out", one, root=project)
    make_passes_long(one, 100)
    header = read_header(one) | {"finished": None}
    (one / "run.json").write_text(json.dumps(header), encoding="utf-8")
    short = record(project, out, "--minutes", "1")
    assert short.returncode == 3, short.stderr
    assert "one" in short.stdout and "4 passes left, of about 100 s" in short.stdout
    assert short.stdout.splitlines()[1].split() == ["h200_two", "finished"]
    done = record(project, out, "--minutes", "9")
    assert done.returncode == 0, done.stderr
    assert [number for _, number in read_passes(one)] == [1, 2, 3, 4, 5, 6]
    measured = record(project, out, "--options=--cpus 0 --seed 7", "--boot", "3", "--passes", "5")
    assert measured.stdout.split() == ["h200_both_boot3", "finished"]
    boot = out / "h200_both_boot3"
    assert read_header(boot)["seed"] == 7
    assert [number for _, number in read_passes(boot)] == [1, 2, 3, 4, 5]
    unknown = record(project, out, "two2").stderr
    assert "two2: expected some of one, two" in unknown
    listed = record(project, out, "--boot", "2", "--list")
    assert listed.stdout.split() == ["h200_both_boot2", "not", "begun"]
    listed = record(project, out, "--boot", "2", "--list", "one")
    assert listed.stdout.split() == ["h200_one_boot2", "not", "begun"]


def test_a_device_without_cases_is_listed(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    one = out / "h200_one"
    for device in ("0", "1"):
        folder = one / "devices" / device
        bench("run", project / "s.json", "--passes", "2", "--out", folder, root=project)
        make_passes_long(folder, 70)
    left = ["4 passes left, of about 70 s; 4 passes left, of about 70 s\n"]  # before the merge
    assert record(project, out, "--list", "one").stdout.split(maxsplit=1)[1:] == left
    again = record(project, out, "one")
    assert again.returncode == 2
    assert (
        "already holds" not in again.stderr
        and "with --devices, and is not finished: resume" in again.stderr
    )
    idle = read_header(one / "devices/1") | {"passes": [{"pass": 1, "finished": "2026-11-27"}]}
    (one / "devices/1/run.json").write_text(json.dumps(idle), encoding="utf-8")
    header = read_header(one / "devices/0") | {"finished": None}
    (one / "run.json").write_text(json.dumps(header), encoding="utf-8")
    listed = record(project, out, "--list", "one")
    assert listed.stdout.split(maxsplit=1)[1:] == ["4 passes left, of about 70 s; no cases\n"], (
        listed
    )


def test_finished_runs_are_published(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "recorded"
    publish = partial(call, "publish.py", project, "--from", out)
    assert "has no finished run" in publish().stderr
    for name in ("h200_one", "h200_one_boot2", "h200_two"):
        bench("run", project / "s.json", "--passes", "2", "--out", out / name, root=project)
    header = read_header(out / "h200_two") | {"finished": None}
    (out / "h200_two" / "run.json").write_text(json.dumps(header), encoding="utf-8")
    done = publish()
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("h200_two: not finished, left out\nh200_one: 2 ok\n")
    kept = sorted(path.name for path in (project / "results" / "h200_one").iterdir())
    assert kept == ["cases.jsonl.gz", "null.md", "run.json"]
    assert not (project / "results" / "h200_two").exists()
    assert not (project / "plots" / "h200_one_boot2").exists()
    bench("report", "--check", "REPORT.md", cwd=project, root=project)
    before = (project / "results/h200_one/cases.jsonl.gz").read_bytes()
    assert publish("--unfinished").stdout.startswith("h200_two: not finished\n")
    assert (project / "results" / "h200_two").exists()
    assert (project / "results/h200_one/cases.jsonl.gz").read_bytes() == before


def test_what_is_recorded_later_joins_the_report(project: Path, tmp_path: Path) -> None:
    for name in ("h200_one", "h200_two"):
        out = tmp_path / name
        bench("run", project / "s.json", "--passes", "1", "--out", out / name, root=project)
        assert call("publish.py", project, "--from", out).returncode == 0
    report = (project / "REPORT.md").read_text("utf-8")
    assert "\n    build/bench report results/h200_one results/h200_two\n" in report


def test_what_is_wrong_is_not_published_silently(project: Path, tmp_path: Path) -> None:
    out = tmp_path / "recorded"
    null_sweep(project / "s.json", ["steady", "wrong"], [1000])
    bench(
        "run",
        project / "s.json",
        "--passes",
        "1",
        "--out",
        out / "h200_two",
        root=project,
        expect=1,
    )
    published = call("publish.py", project, "--from", out)
    assert published.returncode == 1
    assert "h200_two: 1 ok, 1 wrong" in published.stdout
    assert "\nwrong null/null/wrong/" in published.stdout


def cases_of(sweep: str) -> set[str]:
    lines = bench("plan", f"sweeps/{sweep}.json", cwd=ROOT).stdout.splitlines()
    return {line.split()[1] for line in lines[:-1]}


WORKLOADS = ["mlp_infer", "linreg_train", "mnist_train", "mlp_train"]
OPERATORS = ["softmax", "rms_norm", "reduce_sum", "gemm"]


@pytest.mark.parametrize("workload", WORKLOADS + OPERATORS)
def test_a_boot_has_cases_of_the_reference(workload: str) -> None:
    headline = cases_of(f"{workload}_headline")
    assert headline and headline < cases_of(workload)
