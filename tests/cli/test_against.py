"""`bench run --against`: two builds in one run, in turns. Checks results, no times."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_gpu
from kill_anywhere import MARKER, wait_for_the_end
from project import (
    BENCH,
    FIXTURES,
    TIMEOUT_S,
    bench,
    make_root,
    null_sweep,
    own_worker,
    read_header,
    read_lines,
    started,
    wait_for_lines,
    write_sweep,
)

PASSES = ("--passes", "3")
AT_ONCE = ("--recheck-limit", "0s")
MINE = (FIXTURES / "workers" / "mine.py").read_text(encoding="utf-8")
# Without the ReLU, in all variants.
WRONG = MINE.replace('self.variant != "wrong"', "False")
# Every second process that starts does four times the work: builds alternate in starting first,
# so each is slow in turn.
RESTLESS = (
    MINE.replace(
        "    for line in sys.stdin:",
        """    with (Path(__file__).parents[2] / "starts").open("a", encoding="utf-8") as file:
        file.write("x")
        Case.repeats = 1 + 3 * (file.tell() % 2)
    for line in sys.stdin:""",
    )
    .replace(
        "        self.last = self.forward()",
        "        self.last = [self.forward() for _ in range(self.repeats)][-1]",
    )
    .replace('range(request["runs"])', 'range(request["runs"] * case.repeats)')
)
# Logs its build at every start.
TALKING = MINE.replace(
    "    for line in sys.stdin:",
    """    here = Path(__file__).parents[1]
    with (here.parent / "starts").open("a", encoding="utf-8") as file:
        file.write(here.name + "\\n")
    for line in sys.stdin:""",
)
assert MINE not in (WRONG, RESTLESS, TALKING)


def last_lines(run: Path) -> dict[str, dict[str, Any]]:
    """Return the last line of each case, by its id."""
    return {line["id"]: line for line in read_lines(run)}


def pair_of(run: Path) -> str:
    """Return the run's name in both headers."""
    headers = [read_header(run), read_header(run / "against")]
    facts = [header["environment"]["measure"] for header in headers]
    assert [fact["side"] for fact in facts] == ["candidate", "base"]
    assert facts[0]["pair"] == facts[1]["pair"]
    assert all(header["finished"] for header in headers)
    assert all(each["host_loop_ns"] > 0 for header in headers for each in header["passes"])
    return facts[0]["pair"]


def check_both_sides(run: Path, n_passes: int) -> None:
    """Check that both sides have the same cases, each with the passes 1 to `n_passes`."""
    sides = [{(x["id"], x["pass"]): x for x in read_lines(r)} for r in (run, run / "against")]
    ids = last_lines(run)
    assert sides[0].keys() == sides[1].keys()
    assert set(sides[0]) == {(name, p) for name in ids for p in range(1, n_passes + 1)}
    for line in [*sides[0].values(), *sides[1].values()]:
        assert line["status"] == "ok"
        for phase in line["phases"].values():
            assert phase["pass_starts"] == [0, line["rounds"]]
            assert phase["round_starts"][-1] == len(phase["samples"]) == phase["n"] > 0


def verdicts(run: Path, *options: str, expect: int = 0) -> dict[str, str]:
    done = bench("compare", run / "against", run, "--json", *options, expect=expect)
    answer = json.loads(done.stdout)
    assert answer["paired"]
    return {case["id"]: case["verdict"] for case in answer["cases"]}


def sweep_of(folder: Path) -> Path:
    return null_sweep(folder / "s.json", ["steady", "noisy"], [1000, 2000])


# ---- the same build twice ------------------------------------------------------------------------


def test_against_self(tmp_path: Path) -> None:
    cpu = write_sweep(
        tmp_path / "cpu.json", "mlp_infer", [{"engine": "cpu", "variants": ["ref", "omp"]}]
    )
    run, sweep = tmp_path / "run", sweep_of(tmp_path)
    options = ("--against", "self", "--passes", "5", *AT_ONCE)
    done = bench("run", sweep, cpu, *options, "--out", run, expect=None)
    assert done.returncode in (0, 1), done.stderr  # 1: noise of the machine
    pair_of(run)
    check_both_sides(run, 5)
    assert len(last_lines(run)) == 6
    floors = json.loads((run / "floor.json").read_text(encoding="utf-8"))
    assert floors["runs"] == 2
    assert set(floors["floors"]) <= set(last_lines(run))
    assert not (run / "against" / "floor.json").exists()
    # The null engine's times are synthetic.
    found = verdicts(run, expect=done.returncode)
    assert {found[case] for case in found if "/steady/" in case} == {"unchanged"}
    for folder in (run, run / "against"):
        bench("report", folder, "--out", tmp_path / "report.md")


def test_floor_of_one_run_is_the_threshold_of_the_next(tmp_path: Path) -> None:
    learnt, run, sweep = tmp_path / "learnt", tmp_path / "run", sweep_of(tmp_path)
    bench("run", sweep, "--against", "self", "--out", learnt, *PASSES, *AT_ONCE)
    floors = json.loads((learnt / "floor.json").read_text(encoding="utf-8"))
    case = next(iter(last_lines(learnt)))
    floors["floors"].setdefault(case, {})["total"] = 0.5
    (learnt / "floor.json").write_text(json.dumps(floors), encoding="utf-8")
    bench("run", sweep, "--against", "self", "--out", run, *PASSES, *AT_ONCE, "--floor", learnt)
    answer = json.loads(bench("compare", run / "against", run, "--json").stdout)
    assert answer["n_floor_runs"] == 2
    (found,) = [found for found in answer["cases"] if found["id"] == case]
    assert {cell["phase"]: cell["threshold_frac"] for cell in found["cells"]}["total"] == 0.5
    without = bench(
        *("run", sweep, "--against", "self", "--out", tmp_path / "x", "--floor", tmp_path), expect=2
    )
    assert "no floor.json found" in without.stderr


# ---- two builds ----------------------------------------------------------------------------------


def build_with(folder: Path, worker: str) -> Path:
    """Make a build with the same program and another contender."""
    root = make_root(folder)
    own_worker(root, worker)
    (root / "reference_mine" / "starts").touch()
    (root / "build").mkdir()
    (root / "build" / "bench").symlink_to(BENCH)
    return root


def own_sweep(folder: Path) -> Path:
    return write_sweep(
        folder / "own.json",
        "mlp_infer",
        [{"engine": "mine", "variants": ["plain"], "device": ["cpu"]}],
        axes={"batch": [4]},
    )


def run_builds(
    folder: Path, base: str, candidate: str, *options: str, expect: int | None = 0
) -> subprocess.CompletedProcess[str]:
    own, other = build_with(folder / "own", candidate), build_with(folder / "other", base)
    command = ("run", own_sweep(folder), "--against", other, "--out", folder / "run")
    return bench(*command, *PASSES, *options, root=own, expect=expect, BENCH_PYTHON=sys.executable)


CASE = "mlp_infer/mine-cpu/plain/batch=4"


def test_wrong_candidate_is_broken(tmp_path: Path) -> None:
    done = run_builds(tmp_path, MINE, WRONG, expect=1)
    assert "BROKEN (1 case: 1 broken)" in done.stdout
    pair_of(tmp_path / "run")
    # Neither side is measured again.
    (own,), (other,) = (read_lines(tmp_path / "run" / side) for side in (".", "against"))
    assert (own["status"], other["status"]) == ("wrong", "ok")


def test_wrong_base_is_not_compared(tmp_path: Path) -> None:
    done = run_builds(tmp_path, WRONG, MINE, *AT_ONCE, expect=3)
    assert f"no case has times in both ({CASE}: wrong in BASE: " in done.stderr
    assert last_lines(tmp_path / "run")[CASE]["status"] == "ok"


def test_contender_that_only_one_build_has(tmp_path: Path) -> None:
    own = build_with(tmp_path / "own", MINE)
    other = make_root(tmp_path / "other")
    (other / "build").mkdir()
    (other / "build" / "bench").symlink_to(BENCH)
    both = [
        {"engine": "cpu", "variants": ["omp"]},
        {"engine": "mine", "variants": ["plain"], "device": ["cpu"]},
    ]
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", both, axes={"batch": [4]})
    bench(
        *("run", sweep, "--against", other, "--out", tmp_path / "run", *PASSES, *AT_ONCE),
        root=own,
        expect=None,
        BENCH_PYTHON=sys.executable,
    )
    assert last_lines(tmp_path / "run")[CASE]["status"] == "ok"
    found = verdicts(tmp_path / "run", "--threshold", "100%")
    assert found[CASE] == "new"
    assert found["mlp_infer/cpu/omp/batch=4"] not in ("new", "missing", "broken")


@pytest.mark.long
def test_undecided_cases_get_more_passes(tmp_path: Path) -> None:
    done = run_builds(tmp_path, RESTLESS, RESTLESS, "--recheck-limit", "1s", "--strict", expect=4)
    assert "undecided: measuring 1 cases in 3 more passes" in done.stderr
    n_passes = len(read_lines(tmp_path / "run"))
    assert n_passes > 3
    check_both_sides(tmp_path / "run", n_passes)


def test_undecided_cases_without_time_stay_undecided(tmp_path: Path) -> None:
    command = ("run", sweep_of(tmp_path), "--against", "self", "--out", tmp_path / "run")
    done = bench(*command, *PASSES, *AT_ONCE, "--strict", expect=4)
    assert "no regression found, some undecided" in done.stdout
    check_both_sides(tmp_path / "run", 3)


def test_builds_alternate_in_starting_first(tmp_path: Path) -> None:
    """On a GPU, the process that started first was up to 5 % slower with the same binary."""
    run_builds(tmp_path, TALKING, TALKING, *AT_ONCE, "--threshold", "1000%", expect=None)
    starts = (tmp_path / "starts").read_text(encoding="utf-8").split()
    # The earlier starts asked for capabilities.
    assert starts[-6:] == ["own", "other", "other", "own", "own", "other"]


def test_path_of_the_program_is_a_build(tmp_path: Path) -> None:
    """The program is below its build's folder."""
    other = make_root(tmp_path / "other")
    (other / "build" / "deep").mkdir(parents=True)
    shutil.copy(BENCH, other / "build" / "deep" / "bench")
    sweep, run = sweep_of(tmp_path), tmp_path / "run"
    program = other / "build" / "deep" / "bench"
    bench("run", sweep, "--against", program, "--out", run, *PASSES, *AT_ONCE)
    assert not (run / "floor.json").exists()
    pair_of(run)
    check_both_sides(run, 3)


# ---- kernels of both folders ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment that selects the fake GPU."""
    return build_gpu(tmp_path_factory.mktemp("fake") / "gpu")


def test_kernels_of_each_folder(gpu: dict[str, str], tmp_path: Path) -> None:
    own = make_root(tmp_path / "own", copy="kernels")
    other = make_root(tmp_path / "other", copy="kernels")
    (other / "build").mkdir()
    (other / "build" / "bench").symlink_to(BENCH)
    for root, name in ((own, "91_new"), (other, "92_gone")):
        ladder = root / "kernels" / "mlp_infer"
        shutil.copy(ladder / "02_thread_per_sample.cu", ladder / f"{name}.cu")
        for rung in ladder.glob("0*.cu"):
            if not rung.name.startswith("02_"):
                rung.unlink()
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": ["*"]}],
        axes={"batch": [64]},
    )
    run = tmp_path / "run"
    command = ("run", sweep, "--against", other, "--out", run, *PASSES, *AT_ONCE)
    bench(*command, root=own, expect=None, **gpu)
    pair_of(run)
    found = verdicts(run, "--threshold", "100%")
    assert found["mlp_infer/cuda/91_new/batch=64"] == "new"
    assert found["mlp_infer/cuda/92_gone/batch=64"] == "missing"
    assert len(found) == 3
    # A kernel selected by name that the other folder does not have.
    sweep = write_sweep(
        tmp_path / "named.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": ["91_new", "02_thread_per_sample"]}],
        axes={"batch": [64]},
    )
    command = ("run", sweep, "--against", other, "--out", tmp_path / "named", *PASSES, *AT_ONCE)
    bench(*command, root=own, expect=None, **gpu)
    found = verdicts(tmp_path / "named", "--threshold", "100%")
    assert found["mlp_infer/cuda/91_new/batch=64"] == "new"
    assert len(found) == 2


# ---- interrupted and resumed ---------------------------------------------------------------------


@pytest.mark.parametrize("n_lines", [0, 1, 3])
def test_killed_and_resumed(n_lines: int, tmp_path: Path) -> None:
    sweep, run = sweep_of(tmp_path), tmp_path / "run"
    command = ["run", sweep, "--against", "self", "--out", run, *PASSES, *AT_ONCE]
    journal = run / "cases.jsonl"
    with started(*command, **{MARKER: str(run)}) as process:
        wait_for_lines(run, n_lines)
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT_S)
    wait_for_the_end(f"{MARKER}={run}")
    pair = read_header(run)["environment"]["measure"]["pair"]
    before = read_lines(run) if journal.stat().st_size else []
    bench(*command, "--resume")
    assert pair_of(run) == pair
    check_both_sides(run, 3)
    assert len(last_lines(run)) == 4
    assert read_lines(run)[: len(before)] == before


def test_case_of_one_side_only_is_measured_on_both(tmp_path: Path) -> None:
    sweep, run = sweep_of(tmp_path), tmp_path / "run"
    command = ["run", sweep, "--against", "self", "--out", run, *PASSES, *AT_ONCE]
    bench(*command)
    lines = (run / "against" / "cases.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "against" / "cases.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    own, missing = read_lines(run), json.loads(lines[-1])
    bench(*command, "--resume")
    (again,) = read_lines(run)[len(own) :]
    assert read_lines(run)[: len(own)] == own
    assert (again["id"], again["pass"]) == (missing["id"], missing["pass"])
    pair_of(run)
    check_both_sides(run, 3)


def test_resumed_as_another_kind_of_run(tmp_path: Path) -> None:
    sweep, alone, turns = sweep_of(tmp_path), tmp_path / "alone", tmp_path / "turns"
    against = ("--against", "self", *PASSES, *AT_ONCE)
    bench("run", sweep, "--out", alone)
    bench("run", sweep, "--out", turns, *against)
    done = bench("run", sweep, "--out", alone, "--resume", *against, expect=2)
    assert f"{alone} was measured without --against: resume it without it" in done.stderr
    assert not (alone / "against").exists()
    done = bench("run", sweep, "--out", turns, "--resume", expect=2)
    assert f"{turns} was measured with --against: resume it with it" in done.stderr
    header = read_header(turns / "against")
    header["environment"]["git"]["revision"] = "0123456789ab"
    (turns / "against" / "run.json").write_text(json.dumps(header), encoding="utf-8")
    before = (turns / "run.json").read_bytes()
    done = bench("run", sweep, "--out", turns, "--resume", *against, expect=3)
    assert f"{turns}/against cannot be resumed: git.revision: found " in done.stderr
    assert "expected '0123456789ab'" in done.stderr
    assert (turns / "run.json").read_bytes() == before
    header["environment"]["measure"]["pair"] = "another"
    (turns / "against" / "run.json").write_text(json.dumps(header), encoding="utf-8")
    done = bench("run", sweep, "--out", turns, "--resume", *against, expect=2)
    assert "and its parent folder belong to different runs" in done.stderr
