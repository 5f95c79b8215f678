"""Runs killed at random moments, with a full disk, or twice at once lose no finished case.

`make faults` does the same at 200 moments each.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from fake_driver import build_gpu
from kill_anywhere import Sweep, check_finished, kill_supervisor, kill_workers
from project import (
    BENCH,
    ROOT,
    TIMEOUT_S,
    bench,
    null_sweep,
    ran,
    read_cases,
    read_lines,
    started,
    wait_for_lines,
)

KILLS = [8, pytest.param(40, marks=pytest.mark.long)]
MANY = 40  # of so many kills, some come in time
SEED = 20260


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment that selects the fake GPU."""
    return build_gpu(tmp_path_factory.mktemp("fake") / "gpu")


@pytest.mark.parametrize("kills", KILLS)
def test_supervisor_killed_anywhere(gpu: dict[str, str], tmp_path: Path, kills: int) -> None:
    _, places = kill_supervisor(tmp_path, gpu, kills, SEED)
    assert places.total() == kills
    assert places["between cases"] > 0 or kills < MANY, places


@pytest.mark.parametrize("kills", KILLS)
def test_worker_killed_anywhere(gpu: dict[str, str], tmp_path: Path, kills: int) -> None:
    _, retried, failed = kill_workers(tmp_path, gpu, kills, SEED)
    assert retried + failed > 0 or kills < MANY, "no kill hit a worker with a request"


def test_second_run_in_the_same_folder_changes_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    sweeps = [null_sweep(tmp_path / f"{name}.json", [name], [1000]) for name in ("steady", "hang")]
    with started("run", *sweeps, "--out", run) as process:
        try:
            # Then run.json has been written, and stays as it is until the hanging case ends.
            wait_for_lines(run, 1)
            before = (run / "run.json").read_bytes()
            for options in ([], ["--resume"]):
                bench("run", *sweeps, "--out", run, *options, expect=2)
        finally:
            process.kill()
    assert (run / "run.json").read_bytes() == before


def test_orphaned_temporary_files_are_removed(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000]), tmp_path / "run"
    run.mkdir()
    with subprocess.Popen(["true"]) as ended:
        pass
    orphan = f"run.json.{ended.pid}-0.tmp"
    kept = [f"run.json.{os.getpid()}-0.tmp", "notes.tmp", f"run.json.{ended.pid}-0.tmp.bak"]
    for name in [orphan, *kept]:
        (run / name).touch()
    bench("run", sweep, "--out", run)
    assert {name for name in [orphan, *kept] if (run / name).exists()} == set(kept)


def test_folders_of_killed_runs_are_removed(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with subprocess.Popen(["true"]) as ended:
        pass
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    dead = temporary / f"bench-{namespace}-{ended.pid}-a1B2c3"
    kept = [
        f"bench-{namespace}-{os.getpid()}-a1B2c3",
        f"bench-{namespace + 1}-{ended.pid}-a1B2c3",
        f"bench-{namespace}-{ended.pid}-notes2",
        f"bench-{namespace}-{ended.pid}-a1B2c3.old",
    ]
    (dead / "inside").mkdir(parents=True)
    for name in kept:
        (temporary / name).mkdir()
    (temporary / kept[2]).rmdir()
    (temporary / kept[2]).touch()  # a file
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    bench("run", sweep, "--out", tmp_path / "run", TMPDIR=str(temporary))
    assert sorted(path.name for path in temporary.iterdir()) == sorted(kept)


# ---- a full disk --------------------------------------------------------------------------------


def small_files(limit_bytes: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))


@pytest.mark.parametrize("limit_bytes", [0, 4096, 20000])
def test_files_of_limited_size(limit_bytes: int, gpu: dict[str, str], tmp_path: Path) -> None:
    """The limit applies to workers, too: their outputs are files."""
    sweep = Sweep(tmp_path / "sweep", gpu)
    command = [BENCH, "run", *sweep.sweeps, "--out", sweep.run, "--quiet"]
    environment = {**os.environ, "BENCH_ROOT": str(ROOT), **sweep.environment}
    limit = {"preexec_fn": lambda: small_files(limit_bytes)}
    done = ran(*command, env=environment, expect=None, **limit)
    assert done.returncode in {1, 2}, done.stderr
    assert done.stderr.startswith(f"bench: {sweep.run}/"), done.stderr
    assert "File too large" in done.stderr
    lines = sweep.complete_lines()
    for line in lines:
        case = json.loads(line)
        assert case["status"] in {"ok", "skipped"} or "File too large" in case["reason"], case
    with sweep.start() as process:
        _, printed = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode in {0, 1}, printed
    check_finished(sweep, lines, sweep.ids())


SMALL_DISK = """
set -e
mount -t tmpfs -o size=$1 tmpfs "$2"
shift 2
set +e
"$@" 2>"$PRINTED"
code=$?
cp -r "$DISK/run" "$KEPT" 2>/dev/null
exit $code
"""


def can_mount() -> bool:
    unshare = shutil.which("unshare")
    if unshare is None:
        return False
    command = [unshare, "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "x", "/mnt"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_mount(), reason="no file system can be mounted here")
@pytest.mark.parametrize("size", ["4k", "12k"])
def test_small_disk(size: str, tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "noisy"], [1000, 2000, 3000])
    disk, kept, printed = tmp_path / "disk", tmp_path / "kept", tmp_path / "printed"
    disk.mkdir()
    shell = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK, "sh"]
    places = {"DISK": str(disk), "KEPT": str(kept), "PRINTED": str(printed)}
    environment = {**os.environ, "BENCH_ROOT": str(ROOT), **places}
    command = (*shell, size, disk, BENCH, "run", sweep, "--out", disk / "run")
    done = ran(*command, env=environment, expect=None)
    text = printed.read_text(encoding="utf-8")
    assert done.returncode in {1, 2}, text
    last = text.splitlines()[-1]
    assert last.startswith(f"bench: {disk}/run/"), text
    assert "No space left on device" in last
    journal = kept / "cases.jsonl"
    lines = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    bench("run", sweep, "--out", kept, "--resume")
    assert journal.read_bytes().split(b"\n")[: len(lines)] == lines
    assert len(read_lines(kept)) == len(read_cases(kept)) == 6
