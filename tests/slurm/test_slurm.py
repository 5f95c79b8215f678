"""`bench cluster` with a real Slurm of two nodes (slurm.py); `make check-slurm`."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import slurm as slurm_of
from project import (
    QUICK_MEASURE,
    bench,
    make_root,
    ran,
    read_header,
    read_lines,
    read_passes,
    write_sweep,
)
from slurm import Slurm

pytestmark = pytest.mark.skipif(bool(slurm_of.missing()), reason=slurm_of.missing())

SHARDS = 2
BATCHES = [1, 2, 3, 4]
N_PASSES = 2
OPTIONS = ("--", "--no-pytorch", "--no-jax", "--passes", str(N_PASSES))


@pytest.fixture(scope="module")
def slurm() -> Iterator[Slurm]:
    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(slurm_of.running())
        except slurm_of.DoesNotStartError as why:
            pytest.skip(f"Slurm does not start on this machine: {why}")
        yield started


class Job:
    """A sweep that `bench cluster` has submitted, with its folder."""

    def __init__(self, slurm: Slurm, folder: Path, seconds: float) -> None:
        """Submit a sweep, each of whose cases takes as many seconds in a pass."""
        self.slurm, self.out = slurm, folder / "o u't%#$x`\"" / "t%w o"
        self.root = make_root(folder / "project", copy="plots")
        contender = {"engine": "cpu", "variants": ["ref", "omp"]}
        measure = {**QUICK_MEASURE, "precision": 1e-6, "time_limit_s": seconds}
        axes = {"batch": BATCHES}
        self.sweep = folder / "a b" / "s.json"
        self.sweep.parent.mkdir()
        write_sweep(self.sweep, "mlp_infer", [contender], axes=axes, measure=measure)

    def submit(self) -> None:
        options = ("--shards", str(SHARDS), "--out", self.out, *OPTIONS)
        done = bench("cluster", self.sweep, *options, root=self.root, **self.slurm.environment)
        self.shards, self.merge = (
            line.split()[1].rstrip(":") for line in done.stdout.splitlines()[:2]
        )

    def shard(self, number: int) -> Path:
        return self.out / "shards" / str(number)

    def log(self, name: str) -> str:
        return (self.out / "logs" / f"{name}.log").read_text()

    @property
    def merged(self) -> Path:
        return self.out / "merged" / self.out.name

    def node_of(self, task: str) -> str:
        return self.slurm.ask("squeue", "--noheader", "--jobs", task, "--format=%N").strip()

    def wait_for_lines(self, number: int, n: int) -> None:
        journal = self.shard(number) / "cases.jsonl"
        self.slurm.wait(
            f"{n} lines of {journal}",
            lambda: journal.exists() and journal.read_bytes().count(b"\n") >= n,
        )

    def end(self) -> str:
        """Wait for the merge; return its state."""
        return self.slurm.wait_for(self.merge, "COMPLETED", "FAILED", "CANCELLED")


def is_complete(job: Job) -> bool:
    n = 2 * len(BATCHES) * N_PASSES
    header = read_header(job.merged)
    return len(read_passes(job.merged)) == n and bool(header["finished"])


def test_the_cases_of_two_nodes_are_those_of_one(slurm: Slurm, tmp_path: Path) -> None:
    job = Job(slurm, tmp_path, 0.5)
    # Left by a task on a node that has died.
    owner = {"host": "elsewhere", "process": 1, "boot": "another", "slurm_task": "9999_1"}
    job.shard(1).mkdir(parents=True)
    (job.shard(1) / "run.lock").write_text(json.dumps(owner), encoding="utf-8")
    job.submit()
    assert job.end() == "COMPLETED", job.log("merge")
    nodes = {job.log(str(i)).split(" on ")[1].split(",")[0] for i in (1, 2)}
    assert nodes == set(slurm_of.NODES)
    whole = tmp_path / "whole"
    bench("run", job.sweep, *OPTIONS[1:], "--out", whole, "--time-limit", "0.05s", root=job.root)
    assert set(read_passes(job.merged)) == set(read_passes(whole))
    assert is_complete(job)
    page = (job.merged / "mlp_infer.md").read_text()
    for batch in BATCHES:
        ids = [f"mlp_infer/cpu/{variant}/batch={batch}" for variant in ("ref", "omp")]
        shards = [{line["id"] for line in read_lines(job.shard(i))} for i in (1, 2)]
        assert [set(ids) <= shard for shard in shards].count(True) == 1, "rivals are apart"
        assert str(batch) in page
    bench("report", "--check", job.out / "REPORT.md", root=job.root)


def kill(job: Job, task: str) -> None:
    """Kill bench alone, as a node without memory does; Slurm takes the task for failed."""
    job.slurm.ask("scancel", "--batch", "--signal=KILL", task)
    job.slurm.wait_for(task, "FAILED")
    job.slurm.ask("scontrol", "requeue", task)


def preempt(job: Job, task: str) -> None:
    """Requeue it as preemption does: SIGTERM, and SIGKILL after KillWait."""
    job.slurm.ask("scontrol", "requeue", task)


def lose_node(job: Job, task: str) -> None:
    node = f"nodename={job.node_of(task)}"
    job.slurm.ask("scontrol", "update", node, "state=down", "reason=test")
    job.slurm.wait_for(task, "PENDING")
    job.slurm.ask("scontrol", "update", node, "state=resume")


@pytest.mark.parametrize("stop", [kill, preempt, lose_node])
def test_a_task_goes_on_after(
    stop: Callable[[Job, str], None], slurm: Slurm, tmp_path: Path
) -> None:
    job = Job(slurm, tmp_path, 1)
    job.submit()
    job.wait_for_lines(1, 3)
    stop(job, f"{job.shards}_1")
    lines = read_lines(job.shard(1))
    assert 3 <= len(lines) < len(BATCHES) * N_PASSES
    job.slurm.wait("the restart", lambda: "restarts: 1" in job.log("1"))
    assert job.end() == "COMPLETED", job.log("1") + job.log("merge")
    assert read_lines(job.shard(1))[: len(lines)] == lines
    assert {line["status"] for line in read_lines(job.merged)} == {"ok"}
    assert is_complete(job)
    if stop is preempt:
        assert "interrupted; finished cases are in" in job.log("1")


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    done = ran(*command, expect=None)
    if done.returncode != 0:
        pytest.skip(f"a full disk needs root: {done.stderr.strip()}")
    try:
        yield
    finally:
        ran("umount", "--lazy", folder)


def test_a_full_disk_costs_its_shard_only(slurm: Slurm, tmp_path: Path) -> None:
    job = Job(slurm, tmp_path, 0.1)
    with small_disk(job.shard(2)):
        job.submit()
        assert job.end() == "FAILED"
        slurm.wait_for(f"{job.shards}_2", "FAILED")
        assert "No space left on device" in job.log("2")
        missing = job.log("merge")
        report = (job.out / "REPORT.md").read_text()
    assert "ExitCode=1:0" in slurm.ask("scontrol", "show", "job", job.merge)
    assert "batch=" in missing, missing
    measured = {line["id"] for line in read_lines(job.shard(1))}
    assert measured <= {line["id"] for line in read_lines(job.merged)}
    assert not is_complete(job)
    assert "mlp_infer" in report
    job.submit()  # with room on the disk: only what is missing is measured
    assert job.end() == "COMPLETED", job.log("merge")
    assert is_complete(job)
    assert read_lines(job.shard(1))[0]["id"] in measured
