"""`bench run --isolate`: what contenders do to others, behind the system's walls and without them."""

import functools
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from operator_folders import write_operator
from project import (
    NO_PYTHON,
    QUICK_MEASURE,
    ROOT,
    bench,
    make_root,
    read_header,
    read_lines,
    report_of,
    write_sweep,
)

CHEATS = ROOT / "tests" / "cheats"
MEASURE = {**QUICK_MEASURE, "time_limit_s": 0.02, "min_rounds": 4}
# Without a program that does nothing, walls cannot be tried.
NO_WALLS = "#!/bin/sh\necho 'no namespaces here' >&2\nexit 1\n"
# Writes down its arguments and runs the command behind them.
BWRAP = """#!/bin/sh
[ "$1" = --version ] && echo "bubblewrap 9.9" && exit
echo "$@" >>"$BWRAP_LOG"
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
"""


@functools.cache
def walls() -> dict[str, Any]:
    """Return what the doctor says of them."""
    done = bench("doctor", "--json", expect=None, **NO_PYTHON)
    return next(item for item in json.loads(done.stdout) if item["what"] == "namespaces")


def need_walls() -> None:
    if not walls()["found"]:
        pytest.skip(f"no namespaces: {walls()['detail']}")


def first_on_path(folder: Path, name: str, script: str) -> str:
    """Return a $PATH on which the script comes first."""
    folder.mkdir()
    (folder / name).write_text(script, encoding="utf-8")
    (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


class Run:
    """A run of scripts in a folder; `folder` also has what they try to change."""

    def __init__(self, folder: Path, variants: list[str], **environment: str) -> None:
        self.folder = folder
        self.out = folder / "run"
        self.site = folder / "site-packages"
        temporary = folder / "tmp"
        root = make_root(folder / "root")
        (root / "reference_cheat").symlink_to(CHEATS)
        (root / "reference.py").touch()
        for path in (self.site, temporary):
            path.mkdir()
        contenders = [{"engine": "cheat", "device": ["cpu"], "variants": variants}]
        sweep = write_sweep(
            folder / "s.json", "mlp_infer", contenders, axes={"batch": [8, 16]}, measure=MEASURE
        )
        settings = {
            "BENCH_PYTHON": sys.executable,
            "TMPDIR": str(temporary),
            "CHEAT_RUN": str(self.out),
            "CHEAT_TMPDIR": str(temporary),
            "CHEAT_SITE_PACKAGES": str(self.site),
            **environment,
        }
        self.done = bench(
            *("run", sweep, "--isolate", "--out", self.out), root=root, expect=None, **settings
        )
        self.lines = read_lines(self.out)
        self.left = [path.name for path in temporary.iterdir()]

    def flags(self, variant: str) -> list[str]:
        return [flag for line in self.lines if line["variant"] == variant for flag in line["flags"]]

    def statuses(self, variant: str) -> set[str]:
        return {line["status"] for line in self.lines if line["variant"] == variant}

    @property
    def isolate(self) -> str:
        return str(read_header(self.out)["environment"]["measure"]["isolate"])


TRICKS = ("binds_rivals", "leaves_a_process", "reaches_out")
VARIANTS = ["honest", *TRICKS]


@pytest.fixture(scope="module")
def walled(tmp_path_factory: pytest.TempPathFactory) -> Run:
    need_walls()
    return Run(tmp_path_factory.mktemp("walled"), VARIANTS)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the run of the one that looks around, on a system without walls."""
    folder = tmp_path_factory.mktemp("without")
    path = first_on_path(folder / "bin", "true", NO_WALLS)
    return Run(folder, ["honest", "reaches_out"], PATH=path)


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return the run of one that binds others, likewise."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("on one core nobody can be bound to fewer")
    folder = tmp_path_factory.mktemp("disturbed")
    path = first_on_path(folder / "bin", "true", NO_WALLS)
    return Run(folder, ["honest", "binds_rivals"], PATH=path)


# ---- behind walls ------------------------------------------------------------------------------


def test_behind_walls_nothing_can_be_reached(walled: Run) -> None:
    assert walled.done.returncode == 0, walled.done.stderr
    for variant in VARIANTS:
        assert walled.statuses(variant) == {"ok"}
        assert walled.flags(variant) == []
    assert not list(walled.site.iterdir())
    assert (walled.folder / "root" / "reference.py").read_text() == ""
    assert [line["reason"] for line in walled.lines] == [None] * len(walled.lines)


def test_walls_are_recorded_and_leave_nothing(walled: Run) -> None:
    assert walled.isolate == walls()["detail"]
    assert "not isolated" not in walled.done.stderr
    assert walled.left == []


def test_a_worker_that_crashes_behind_walls_is_told_as_any_other(tmp_path: Path) -> None:
    need_walls()
    run = Run(tmp_path, ["crashes"])
    assert run.statuses("crashes") == {"failed"}
    assert "died (signal 11 (Segmentation fault))" in run.lines[0]["reason"]


# ---- without them ------------------------------------------------------------------------------


def test_without_walls_it_is_said(without: Run) -> None:
    assert without.isolate.startswith("none: no namespaces here; ")
    assert "not isolated: " in without.done.stderr
    assert "no namespaces here" in without.done.stderr
    report = report_of(without.out, out=without.folder / "REPORT.md")
    assert "**Not isolated:** with `--isolate` each contender had a process of its own" in report
    assert "could reach other processes and files: no namespaces here; " in report


def test_without_walls_everything_can_be_reached(without: Run) -> None:
    expected = {
        *("sees_processes", "sees_results", "edits_results", "sees_outputs_of_others"),
        *("edits_the_reference", "leaves_a_pth_file"),
    }
    assert set(without.flags("reaches_out")) == expected
    assert [path.name for path in without.site.iterdir()] == ["cheat.pth"]
    assert without.left == []


def test_results_that_another_program_edits_are_noticed(without: Run) -> None:
    assert without.done.returncode == 1
    assert "cases.jsonl has other lines than this run wrote" in without.done.stderr
    assert read_header(without.out).get("finished") is None


def test_rounds_of_a_rival_that_is_bound_to_one_core_are_void(disturbed: Run) -> None:
    """It is set right, and measured if enough rounds are left."""
    for line in disturbed.lines:
        if line["variant"] == "honest":
            (flag,) = (flag for flag in line["flags"] if flag.startswith("void rounds: "))
            assert "another program changed the cores of its worker" in flag
            n_void = int(flag.split()[2])
            n_fair = len(line["phases"]["host_to_host"].get("fresh", []))
            assert line["rounds"] - n_void == n_fair
            assert line["status"] == ("ok" if n_fair >= MEASURE["min_rounds"] else "failed")


def test_what_a_contender_leaves_is_ended_and_its_round_is_void(tmp_path: Path) -> None:
    path = first_on_path(tmp_path / "bin", "true", NO_WALLS)
    run = Run(tmp_path, ["honest", "leaves_a_process"], PATH=path)
    flags = [*run.flags("honest"), *run.flags("leaves_a_process")]
    assert any("a process that a worker had left, sleep (process " in flag for flag in flags)
    ended = [int(flag.rpartition("(process ")[2].partition(")")[0]) for flag in flags]
    assert not any(Path("/proc", str(pid)).exists() for pid in ended)


# ---- bubblewrap --------------------------------------------------------------------------------


def test_bubblewrap_is_taken_where_it_is(tmp_path: Path) -> None:
    path = first_on_path(tmp_path / "bin", "bwrap", BWRAP)
    log = tmp_path / "log"
    run = Run(tmp_path, ["honest"], PATH=path, BWRAP_LOG=str(log))
    assert run.done.returncode == 0, run.done.stderr
    assert run.isolate == "bubblewrap 9.9"
    (words,) = {line for line in log.read_text().splitlines() if str(run.out) in line}
    assert "--die-with-parent --unshare-pid --unshare-ipc --cap-drop ALL --ro-bind / /" in words
    assert f"--tmpfs {tmp_path}/tmp/bench-" in words
    assert f"--tmpfs {run.out}" in words
    hidden = words.partition("--tmpfs ")[2].split()[0]
    assert f"--bind {hidden}/" in words
    assert f"BENCH_SCRATCH={hidden}/" in words


def test_bubblewrap_that_may_not_is_told(tmp_path: Path) -> None:
    refuses = "#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n"
    path = first_on_path(tmp_path / "bin", "bwrap", refuses)
    (tmp_path / "bin" / "true").write_text(NO_WALLS)
    (tmp_path / "bin" / "true").chmod(0o755)
    done = bench("doctor", "--json", PATH=path, **NO_PYTHON)
    found = next(item for item in json.loads(done.stdout) if item["what"] == "namespaces")
    assert not found["found"]
    expected = (
        "bwrap: setting up uid map: Permission denied; without bubblewrap: no namespaces here"
    )
    assert found["detail"] == expected
    assert "install bubblewrap" in found["install"]


# ---- an operator's files -----------------------------------------------------------------------

EDITS = """
    from pathlib import Path

    import torch

    reference = Path(__file__).with_name("reference.py")
    reference.write_text("import torch\\n\\ndef reference(x): return torch.zeros_like(x)\\n")

    def run(x): return torch.zeros_like(x)
"""


READS = """
    from pathlib import Path

    FACTOR = float(Path(__file__).with_name("factor.txt").read_text())

    def reference(x): return FACTOR * x
"""
EDITS_FACTOR = """
    from pathlib import Path

    import torch

    Path(__file__).with_name("factor.txt").write_text("0")

    def run(x): return torch.zeros_like(x)
"""


def run_operator(folder: Path, variants: str) -> dict[str, dict[str, Any]]:
    pytest.importorskip("torch")
    run = folder.parent / "run"
    options = ("--set", "device=cpu", "--variant", variants, "--quick")
    bench("run", "--workload", folder, *options, "--out", run, expect=1)
    return {line["variant"]: line for line in read_lines(run)}


@pytest.mark.usefixtures("warm_workers")
def test_the_reference_is_computed_before_a_candidate_is_loaded(tmp_path: Path) -> None:
    """What it reads beside its files is not compared."""
    files = {"reference.py": READS, "factor.txt": "2", "edits.py": EDITS_FACTOR}
    line = run_operator(write_operator(tmp_path / "twice", files), "edits")["edits"]
    assert line["status"] == "wrong"
    assert "worst at element" in line["reason"]


@pytest.mark.usefixtures("warm_workers")
def test_a_candidate_that_edits_the_reference_is_held_against_the_old_one(tmp_path: Path) -> None:
    """The oracle has read it before; what is read after the edit counts for nothing."""
    folder = write_operator(tmp_path / "twice", {"edits.py": EDITS})
    for line in run_operator(folder, "edits,eager").values():
        assert line["status"] == "failed"
        assert line["reason"].endswith("twice/reference.py was changed during the run")
