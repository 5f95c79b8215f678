"""Resuming on another machine, with another program or another sweep: what is accepted."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from project import (
    bench,
    make_root,
    null_sweep,
    read_header,
    read_lines,
    read_passes,
    report_of,
    started,
    wait_until,
    write_sweep,
)
from test_source_state import git

N_PASSES = 3
Change = Callable[[dict[str, Any]], Any]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a sweep and its complete run."""
    folder = tmp_path_factory.mktemp("whole")
    sweep = null_sweep(folder / "s.json", ["steady", "noop"], [1000])
    bench("run", sweep, "--passes", str(N_PASSES), "--out", folder / "run")
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole / "run", tmp_path / "run"))


def change(run: Path, edit: Change) -> None:
    header = read_header(run)
    edit(header)
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")


def files_of(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


def resume(whole: Path, run: Path, *options: Any, expect: int = 0) -> str:
    sweep = whole / "s.json"
    passes = ("--passes", str(N_PASSES), *options)
    return bench("run", sweep, *passes, "--out", run, "--resume", expect=expect).stderr


def set_fact(header: dict[str, Any], path: str, value: Any) -> None:
    part = header["environment"]
    *folders, name = path.split(".")
    for folder in folders:
        part = part.setdefault(folder, {})
    part[name] = value


# ---- refused -----------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [False, True], ids=["complete", "half"])
def test_another_kind_is_refused(whole: Path, run: Path, cut: bool) -> None:
    key = "versions.compiler"
    change(run, lambda header: set_fact(header, key, "another"))
    if cut:  # its half-written line is not repaired, either
        with (run / "cases.jsonl").open("a", encoding="utf-8") as file:
            file.write('{"schema": 2, "id": "nu')
    before = files_of(run)
    printed = resume(whole, run, expect=3)
    assert f"bench: {run} cannot be resumed: {key}: found '" in printed
    assert (
        "', expected 'another': continue with the same program and software on a machine of the "
        "same kind, or choose another --out\n"
    ) in printed
    assert files_of(run) == before


def test_run_with_a_gpu_is_not_resumed_without_one(tmp_path: Path) -> None:
    run = tmp_path / "run"
    sweep = ["--workload", "null", "--engine", "cuda", "--variant", "01_empty"]
    bench("run", *sweep, "--out", run, CUDA_VISIBLE_DEVICES="")
    change(run, lambda header: set_fact(header, "gpu.name", "NVIDIA H200"))
    (run / "cases.jsonl").write_text("", encoding="utf-8")
    before = files_of(run)
    resumed = ["run", *sweep, "--out", run, "--resume"]
    done = bench(*resumed, expect=3, CUDA_VISIBLE_DEVICES="")
    assert "gpu.name: found 'no GPU', expected 'NVIDIA H200'" in done.stderr
    assert files_of(run) == before


@pytest.mark.parametrize("what", ["changed", "added", "left out"])
def test_other_sweeps_are_refused(what: str, tmp_path: Path) -> None:
    run = tmp_path / "run"
    sweep = null_sweep(tmp_path / "s.json", ["noop"], [0])
    other = null_sweep(tmp_path / "other.json", ["steady"], [1000])
    bench("run", sweep, *([other] if what == "left out" else []), "--out", run)
    before = files_of(run)
    if what == "changed":
        null_sweep(sweep, ["noop"], [0, 1])
    given = [sweep, other] if what == "added" else [sweep]
    printed = bench("run", *given, "--out", run, "--resume", expect=3).stderr
    assert f"bench: {run} cannot be resumed: sweeps: found " in printed
    found = {
        "changed": f"{sweep}, which was not measured there, or has changed; ",
        "added": f"{other}, which was not measured there, or has changed; ",
        "left out": "no sweep with the text of one, which is missing; ",
    }[what]
    assert found in printed
    assert "give the same sweeps, or choose another --out" in printed
    assert files_of(run) == before


def test_the_same_sweep_may_be_elsewhere(whole: Path, run: Path, tmp_path: Path) -> None:
    moved = shutil.copy(whole / "s.json", tmp_path / "moved.json")
    bench("run", moved, "--passes", str(N_PASSES), "--out", run, "--resume")


def test_other_uncommitted_changes_are_refused(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    git(root, "init", "--quiet")
    (root / "file").write_text("1", encoding="utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "all")
    (root / "file").write_text("2", encoding="utf-8")
    # A folder of results is no change of the source.
    sweep, run = null_sweep(tmp_path / "s.json", ["noop"], [0]), root / "run"
    bench("run", sweep, "--out", run, root=root)
    bench("run", sweep, "--out", run, "--resume", root=root)
    (root / "file").write_text("3", encoding="utf-8")
    done = bench("run", sweep, "--out", run, "--resume", root=root, expect=3)
    assert "git.folder.changes: found '" in done.stderr


# ---- another machine of the same kind ------------------------------------------------------------


def begun_elsewhere(run: Path, unfinished: int | None, **machine: str) -> None:
    """Make a run look as if another machine measured it and stopped in a pass."""

    def edit(header: dict[str, Any]) -> None:
        header["environment"]["host"]["name"] = "elsewhere"
        for facts in header["passes"]:
            facts |= {"host": "elsewhere", **machine}
            if facts["pass"] == unfinished:
                del facts["finished"]
        header["finished"] = None

    change(run, edit)


@pytest.mark.parametrize("zipped", [False, True])
def test_unfinished_pass_starts_anew_on_another_host(whole: Path, run: Path, zipped: bool) -> None:
    here = read_header(run)["environment"]["host"]["name"]
    begun_elsewhere(run, N_PASSES)
    before = read_lines(run)
    journal = run / "cases.jsonl"
    lines = journal.read_text(encoding="utf-8").splitlines(keepends=True)
    journal.write_text("".join(lines[:-1]), encoding="utf-8")  # one of two cases of the last pass
    if zipped:
        (run / "cases.jsonl.gz").write_bytes(gzip.compress(journal.read_bytes()))
        journal.unlink()
    printed = resume(whole, run)
    assert f"pass {N_PASSES} was begun on elsewhere: it starts anew here" in printed
    after = read_lines(run)
    assert not (run / "cases.jsonl.gz").exists()
    assert [line for line in after if line["pass"] < N_PASSES] == [
        line for line in before if line["pass"] < N_PASSES
    ]
    assert len(after) == len(before)  # nothing is left of the pass that was begun
    old = [line for line in before if line["pass"] == N_PASSES]
    assert not [line for line in after if line in old]
    header = read_header(run)
    assert [facts["host"] for facts in header["passes"]] == ["elsewhere", "elsewhere", here]
    assert header["environment"]["host"]["name"] == "elsewhere"
    assert header["finished"]


def test_pass_that_was_begun_here_goes_on(whole: Path, run: Path) -> None:
    change(run, lambda header: header["passes"][-1].pop("finished"))
    before = read_lines(run)
    lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "cases.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    assert "starts anew" not in resume(whole, run)
    assert read_lines(run)[:-1] == before[:-1]


def test_finished_passes_stay_and_keep_their_host(whole: Path, run: Path) -> None:
    begun_elsewhere(run, None)
    before = read_lines(run)
    resume(whole, run, "--passes", str(N_PASSES + 1))
    assert read_lines(run)[: len(before)] == before
    header = read_header(run)
    hosts = [facts["host"] for facts in header["passes"]]
    assert hosts[:N_PASSES] == ["elsewhere"] * N_PASSES
    assert len(hosts) == N_PASSES + 1
    assert hosts[-1] != "elsewhere"


def test_finished_pass_stays_if_a_part_was_begun_again(whole: Path, run: Path) -> None:
    """As --retry on another machine does, until it is killed."""

    def edit(header: dict[str, Any]) -> None:
        header["passes"].append({"pass": 1, "host": "elsewhere", "started": "2026-01-01T10:00:00Z"})

    change(run, edit)
    before = read_lines(run)
    assert "starts anew" not in resume(whole, run)
    assert read_lines(run) == before
    hosts = [facts["host"] for facts in read_header(run)["passes"]]
    assert len(hosts) == N_PASSES + 1
    assert hosts.count("elsewhere") == 1


def test_both_sides_of_two_builds_start_anew(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000]), tmp_path / "run"
    options = ("--against", "self", "--passes", "2", "--recheck-limit", "0s")
    bench("run", sweep, "--out", run, *options)
    sides = [run, run / "against"]
    here = read_header(run)["environment"]["host"]["name"]
    before = [read_lines(side) for side in sides]
    for side in sides:
        begun_elsewhere(side, 2)
    bench("run", sweep, "--out", run, "--resume", *options)
    for side, (first, second) in zip(sides, before, strict=True):
        assert [facts["host"] for facts in read_header(side)["passes"]] == ["elsewhere", here]
        kept, anew = read_lines(side)
        assert kept == first
        assert anew != second


def test_pass_is_recorded_before_its_first_case(tmp_path: Path) -> None:
    """A killed run must know where the lines of its last pass were measured."""
    sweep, run = null_sweep(tmp_path / "s.json", ["hang"], [0]), tmp_path / "run"
    with started("run", sweep, "--out", run) as process:
        header = run / "run.json"
        wait_until(
            "the facts of a pass", lambda: header.exists() and read_header(run)["passes"] != []
        )
        process.kill()
    (facts,) = read_header(run)["passes"]
    assert set(facts) == {"pass", "started", "host"}


def test_report_names_all_machines(whole: Path, run: Path, tmp_path: Path) -> None:
    here = read_header(run)["environment"]["host"]["name"]
    report = tmp_path / "REPORT.md"
    assert "Measured on several" not in report_of(run, out=report)
    begun_elsewhere(run, N_PASSES, gpu="GPU-1")
    resume(whole, run)
    told = "- **Measured on several machines or GPUs of one kind:** elsewhere GPU-1, "
    assert f"{told}{here}. What differs" in report_of(run, out=report)


# ---- --quick and other limits --------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
def test_quick_is_recorded_and_kept(quick: bool, tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["noop"], [0]), tmp_path / "run"
    own, other = (["--quick"], []) if quick else ([], ["--quick"])
    bench("run", sweep, "--out", run, *own)
    assert read_header(run)["environment"]["measure"].get("quick", False) is quick
    before = files_of(run)
    printed = bench("run", sweep, "--out", run, "--resume", *other, expect=2).stderr
    how = "with" if quick else "without"
    assert f"{run} was measured {how} --quick: resume it {how} it, or choose another" in printed
    assert files_of(run) == before
    # More passes, and another limit for them, are accepted.
    more = ("--passes", "2", "--time-limit", "1s")
    bench("run", sweep, "--out", run, "--resume", *own, *more)
    assert [number for _, number in read_passes(run)] == [1, 2]
    bench("run", sweep, "--out", run, "--resume", *own, "--passes", "1")
    assert [number for _, number in read_passes(run)] == [1, 2]


def test_report_and_tables_tell_a_quick_run(tmp_path: Path) -> None:
    cpu = {"engine": "cpu", "variants": ["ref", "omp"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [cpu], axes={"batch": [1, 2, 3]})
    told = "measured with --quick"
    for options, quick in (([], False), (["--quick"], True)):
        run = tmp_path / str(quick)
        table = bench("run", sweep, "--out", run, "--time-limit", "0.1s", *options).stdout
        assert (f"One pass, {told}: the spread" in table) == quick
        report = report_of(run, out=tmp_path / "REPORT.md")
        assert (f"one pass, {told}" in report) == quick
        assert (told in bench("report", run, "--print", "workloads").stdout) == quick
    done = bench("run", "--workload", "null", "--variant", "noop", "--out", run / "one", "--quick")
    assert done.stdout.startswith(f"{told}\n")


def test_quick_and_other_shards_are_not_merged(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["noop"], [0, 1])
    for i, options in ((1, ["--quick"]), (2, [])):
        bench("run", sweep, "--out", tmp_path / str(i), "--shard", f"{i}/2", *options)
    shards = tmp_path / "1", tmp_path / "2"
    done = bench("merge", tmp_path / "merged", *shards, expect=3)
    assert "measure.quick is 'none', but 'true' in " in done.stderr
