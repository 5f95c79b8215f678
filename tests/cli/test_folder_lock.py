"""Two processes never write one run's folder, also if several machines share it."""

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from project import BENCH, ROOT, TIMEOUT_S, bench, null_sweep, ran, read_cases, started, wait_until

HOST = socket.gethostname()
BOOT = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()
TASK = {"SLURM_JOB_ID": "71", "SLURM_ARRAY_JOB_ID": "70", "SLURM_ARRAY_TASK_ID": "3"}
OTHER = {
    "host": "node17",
    "process": os.getpid(),
    "boot": "of node17",
    "since": "2026-03-02T11:00:00+00:00",
    "slurm_task": "70_3",
    "slurm_restarts": 1,
}


@contextmanager
def hanging_run(folder: Path) -> Iterator[tuple[Path, Path, subprocess.Popen[bytes]]]:
    """Start a run that writes its folder until it is stopped."""
    sweep, run = null_sweep(folder / "hang.json", ["hang"], [1000]), folder / "run"
    with started("run", sweep, "--out", run) as process:
        try:
            wait_until("the journal", (run / "cases.jsonl").exists)
            yield sweep, run, process
        finally:
            process.kill()


def planted(folder: Path, **changes: Any) -> tuple[Path, Path]:
    """Return a sweep, and a folder that says that somebody is writing to it."""
    sweep, run = null_sweep(folder / "s.json", ["steady"], [1000]), folder / "run"
    run.mkdir()
    (run / "run.lock").write_text(json.dumps({**OTHER, **changes}), encoding="utf-8")
    return sweep, run


def is_taken_over(sweep: Path, run: Path, **environment: str) -> bool:
    """Run, and check that a folder in use stays as it is."""
    before = (run / "run.lock").read_text(encoding="utf-8")
    done = bench("run", sweep, "--out", run, "--resume", expect=None, **environment)
    if done.returncode == 0:
        assert len(read_cases(run)) == 1
        assert not (run / "run.lock").exists()
        return True
    assert done.returncode == 2
    assert [path.name for path in run.iterdir()] == ["run.lock"]
    assert (run / "run.lock").read_text(encoding="utf-8") == before
    owner = json.loads(before)
    assert f"in use by process {owner['process']} on host {owner['host']}" in done.stderr
    return False


@pytest.mark.parametrize("options", [[], ["--resume"]])
def test_the_second_run_says_who_writes(tmp_path: Path, options: list[str]) -> None:
    with hanging_run(tmp_path) as (sweep, run, process):
        owner = json.loads((run / "run.lock").read_text(encoding="utf-8"))
        done = bench("run", sweep, "--out", run, *options, expect=2)
        assert done.stderr == (
            f"bench: {run} is in use by process {process.pid} on host {HOST} "
            f"since {owner['since']}\n"
        )
        assert (run / "run.lock").exists()


def test_of_runs_that_start_at_once_one_measures(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "hang.json", ["hang"], [1000]), tmp_path / "run"
    command = [str(BENCH), "run", str(sweep), "--out", str(run), "--quiet"]
    started = [
        subprocess.Popen(
            command,
            env={**os.environ, "BENCH_ROOT": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    try:
        wait_until(
            "the end of three of four",
            lambda: sum(process.poll() is not None for process in started) == 3,
        )
        (winner,) = (process for process in started if process.poll() is None)
        for process in started:
            if process is not winner:
                assert process.stderr is not None
                assert f"{run} is in use by process {winner.pid} on host" in process.stderr.read()
                assert process.returncode == 2
    finally:
        for process in started:
            process.kill()
            process.communicate()


def has_open(process: int, path: Path) -> bool:
    """Tell whether the process has the file open; others may be closed while they are looked at."""
    for opened in Path(f"/proc/{process}/fd").iterdir():
        with suppress(FileNotFoundError):
            if opened.readlink() == path:
                return True
    return False


def compiled_and_preloaded(folder: Path, code: str) -> dict[str, str]:
    (folder / "calls.c").write_text(code, encoding="utf-8")
    command = [shutil.which("cc") or "gcc", "-shared", "-fPIC", "-o", folder / "calls.so"]
    ran(*command, folder / "calls.c")
    return {"LD_PRELOAD": str(folder / "calls.so")}


# bench waits for a hundred sleeps, of a second each here: long enough for us on a busy machine.
LONG_SLEEPS = """
#include <poll.h>
#include <time.h>
/* mood: what sleeps is bench, and we are quicker */
int nanosleep(const struct timespec *a, struct timespec *b) { return poll(0, 0, 1000); }
"""


def test_whoever_is_about_to_write_the_lock_is_awaited(tmp_path: Path) -> None:
    sweep, run = null_sweep(tmp_path / "s.json", ["steady"], [1000]), tmp_path / "run"
    run.mkdir()
    slow = compiled_and_preloaded(tmp_path, LONG_SLEEPS)
    folder = os.open(run, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with started("run", sweep, "--out", run, **slow) as process:
        wait_until("bench at the folder", lambda: has_open(process.pid, run))
        (tmp_path / "lock").write_text(json.dumps(OTHER), encoding="utf-8")
        (tmp_path / "lock").rename(run / "run.lock")
        assert process.wait(TIMEOUT_S) == 2
        assert process.stderr is not None
        assert "in use by process" in process.stderr.read()
    os.close(folder)


def test_what_a_killed_run_was_about_to_start_is_awaited(tmp_path: Path) -> None:
    """Between fork and exec a child has the lock of its parent, which has ended."""
    with subprocess.Popen(["true"]) as ended:
        pass
    sweep, run = planted(tmp_path, host=HOST, boot=BOOT, process=ended.pid)
    slow = compiled_and_preloaded(tmp_path, LONG_SLEEPS)
    folder = os.open(run, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    with started("run", sweep, "--out", run, "--resume", **slow) as process:
        wait_until(
            "bench at the folder",
            lambda: has_open(process.pid, run) or process.poll() is not None,
        )
        os.close(folder)
        assert process.stderr is not None
        assert process.wait(TIMEOUT_S) == 0, process.stderr.read()


def test_a_folder_that_is_locked_is_in_use_whatever_the_file_says(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    sweep, run = planted(tmp_path, host=HOST, boot=BOOT, process=ended.pid)
    folder = os.open(run, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    assert not is_taken_over(sweep, run)
    os.close(folder)
    assert is_taken_over(sweep, run)


@pytest.fixture(scope="module")
def poor_file_system(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment in which files have neither locks nor second names."""
    folder = tmp_path_factory.mktemp("poor")
    code = "#include <errno.h>\n" + "".join(
        f"int {call} {{ errno = ENOTSUP; return -1; }}\n"
        for call in ("flock(int a, int b)", "link(const char *a, const char *b)")
    )
    return compiled_and_preloaded(folder, code)


def test_without_flock_a_living_process_keeps_the_folder(
    tmp_path: Path, poor_file_system: dict[str, str]
) -> None:
    sweep, run = planted(tmp_path, host=HOST, boot=BOOT)
    assert not is_taken_over(sweep, run, **poor_file_system)
    with subprocess.Popen(["true"]) as ended:
        pass
    (run / "run.lock").unlink()
    run.rmdir()
    sweep, run = planted(tmp_path, host=HOST, boot=BOOT, process=ended.pid)
    assert is_taken_over(sweep, run, **poor_file_system)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_run_leaves_no_lock(tmp_path: Path, number: signal.Signals) -> None:
    with hanging_run(tmp_path) as (_, run, process):
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 1
        assert not (run / "run.lock").exists()


def test_a_killed_run_is_taken_over(tmp_path: Path) -> None:
    with hanging_run(tmp_path) as (_, run, process):
        process.kill()
        process.wait(TIMEOUT_S)
        assert (run / "run.lock").exists()
        assert (
            "cannot be resumed"
            in bench("run", "--workload", "null", "--out", run, "--resume", expect=3).stderr
        )
        assert not (run / "run.lock").exists()


def test_another_machine_is_not_taken_over(tmp_path: Path) -> None:
    sweep, run = planted(tmp_path)
    done = bench("run", sweep, "--out", run, expect=2)
    assert done.stderr == (
        f"bench: {run} is in use by process {OTHER['process']} on host node17 since "
        f"{OTHER['since']}; if it is not running there any more, remove {run}/run.lock\n"
    )
    (run / "run.lock").unlink()
    bench("run", sweep, "--out", run)


def test_a_process_of_an_earlier_start_of_this_machine_has_ended(tmp_path: Path) -> None:
    assert is_taken_over(*planted(tmp_path, host=HOST))


def test_a_process_number_that_was_used_again(tmp_path: Path) -> None:
    """flock() knows that no process of this machine writes, whatever has that number now."""
    assert is_taken_over(*planted(tmp_path, host=HOST, boot=BOOT, process=os.getppid()))


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({**TASK, "SLURM_RESTART_COUNT": "2"}, True),
        ({**TASK, "SLURM_RESTART_COUNT": "1"}, False),
        (TASK, False),
        ({**TASK, "SLURM_RESTART_COUNT": "2", "SLURM_ARRAY_TASK_ID": "4"}, False),
        ({**TASK, "SLURM_RESTART_COUNT": "2", "SLURM_ARRAY_JOB_ID": "71"}, False),
        ({"SLURM_RESTART_COUNT": "2"}, False),
    ],
)
def test_a_requeued_task_takes_over(
    tmp_path: Path, environment: dict[str, str], expected: bool
) -> None:
    assert is_taken_over(*planted(tmp_path), **environment) == expected


@pytest.mark.parametrize("restarts", ["1", "2"])
def test_a_requeued_job_without_an_array(tmp_path: Path, restarts: str) -> None:
    environment = {"SLURM_JOB_ID": "71", "SLURM_RESTART_COUNT": restarts}
    taken = is_taken_over(*planted(tmp_path, slurm_task="71"), **environment)
    assert taken == (restarts == "2")


def test_no_task_is_not_the_same_task(tmp_path: Path) -> None:
    assert not is_taken_over(*planted(tmp_path, slurm_task=None), SLURM_RESTART_COUNT="2")


@pytest.mark.parametrize("text", ["", "{", "[]", "7"])
def test_a_lock_that_says_nothing(tmp_path: Path, text: str) -> None:
    sweep, run = planted(tmp_path)
    (run / "run.lock").write_text(text, encoding="utf-8")
    done = bench("run", sweep, "--out", run, expect=2)
    assert done.stderr == (
        f"bench: {run} is in use by another bench run; "
        f"if none is writing there, remove {run}/run.lock\n"
    )


def test_the_lock_of_the_next_owner_stays(tmp_path: Path) -> None:
    with hanging_run(tmp_path) as (_, run, process):
        (run / "run.lock").write_text(json.dumps(OTHER), encoding="utf-8")
        process.send_signal(signal.SIGTERM)
        assert process.wait(TIMEOUT_S) == 1
        assert json.loads((run / "run.lock").read_text(encoding="utf-8")) == OTHER


def test_the_lock_names_the_slurm_task(tmp_path: Path) -> None:
    for environment, task in (({"SLURM_JOB_ID": "71"}, "71"), (TASK, "70_3"), ({}, None)):
        folder = tmp_path / str(task)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {**environment, "SLURM_RESTART_COUNT": "4"}.items():
                patch.setenv(name, value)
            with hanging_run(folder) as (_, run, _process):
                owner = json.loads((run / "run.lock").read_text(encoding="utf-8"))
        assert (owner["slurm_task"], owner["slurm_restarts"]) == (task, 4)
