"""Kills processes of a sweep at random moments and checks what they leave."""

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from fault_matrix import RETRIED
from project import (
    BENCH,
    ROOT,
    TIMEOUT_S,
    bench,
    null_sweep,
    read_cases,
    read_header,
    wait_until,
    write_sweep,
)

WORK_NS = [1000, 2000, 3000]
BATCHES = [1, 64]
MARKER = "BENCH_TEST_MARKER"


def processes_with(marker: str) -> dict[int, str]:
    """Return the command lines of the processes whose environment has the marker."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            command = (folder / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:  # it has ended or is not ours
            continue
        if marker.encode() in environment and state != "Z":
            found[int(folder.name)] = command
    return found


def wait_for_the_end(marker: str) -> None:
    """Wait until no process has the marker."""
    wait_until(f"the end of all processes with {marker}", lambda: not processes_with(marker))


class Sweep:
    """A short sweep with all kinds of workers, and one run of it."""

    def __init__(self, folder: Path, gpu: dict[str, str]) -> None:
        folder.mkdir()
        cpu = {"engine": "cpu", "variants": ["ref", "omp"]}
        cuda = {"engine": "cuda", "variants": ["01_study", "02_thread_per_sample"]}
        self.sweeps = [
            null_sweep(folder / "null.json", ["steady", "noisy"], WORK_NS),
            write_sweep(folder / "mlp.json", "mlp_infer", [cuda, cpu], axes={"batch": BATCHES}),
        ]
        self.run, self.temporary = folder / "run", folder / "temporary"
        self.temporary.mkdir()
        self.marker = f"{MARKER}={self.run}"
        self.environment = {**gpu, MARKER: str(self.run), "TMPDIR": str(self.temporary)}

    def start(self) -> subprocess.Popen[str]:
        command = [BENCH, "run", *self.sweeps, "--out", self.run, "--resume", "--quiet"]
        return subprocess.Popen(
            [str(part) for part in command],
            text=True,
            env={**os.environ, "BENCH_ROOT": str(ROOT), **self.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def ids(self) -> set[str]:
        """Return the ids of the sweep's cases."""
        done = bench("plan", *self.sweeps, **self.environment)
        return {line.split()[1] for line in done.stdout.splitlines()[:-1]}

    def journal(self) -> bytes:
        path = self.run / "cases.jsonl"
        return path.read_bytes() if path.exists() else b""

    def complete_lines(self) -> list[bytes]:
        return self.journal().split(b"\n")[:-1]


def check_left_over(sweep: Sweep, before: list[bytes]) -> list[bytes]:
    """Check what a killed run leaves; return the complete lines of its journal."""
    wait_for_the_end(sweep.marker)
    lines = sweep.complete_lines()
    assert lines[: len(before)] == before, "finished cases were lost or changed"
    ids = [json.loads(line)["id"] for line in lines]
    assert len(ids) == len(set(ids)), "a case was run twice"
    if (sweep.run / "run.json").exists():
        read_header(sweep.run)
    if lines:
        bench("report", sweep.run, "--out", sweep.temporary / "REPORT.md")
    return lines


def check_finished(sweep: Sweep, before: list[bytes], ids: set[str]) -> None:
    assert sweep.complete_lines()[: len(before)] == before, "finished cases were lost or changed"
    cases = read_cases(sweep.run)
    assert ids <= set(cases)
    assert read_header(sweep.run)["finished"]
    wait_for_the_end(sweep.marker)
    litter = [path.name for path in sweep.run.iterdir() if path.name.endswith(".tmp")]
    assert litter == [], "incomplete files were left"


def wait_for_a_moment(sweep: Sweep, process: subprocess.Popen[str], chance: random.Random) -> None:
    """Wait for a random time, or until the journal has some more lines."""
    if chance.random() < 0.5:
        with suppress(subprocess.TimeoutExpired):
            process.wait(chance.uniform(0, 0.6))  # any moment will do
        return
    bound = len(sweep.journal()) + chance.randrange(1, 3000)
    while len(sweep.journal()) < bound and process.poll() is None:
        pass


def wait_for_the_beginning(
    sweep: Sweep, process: subprocess.Popen[str], chance: random.Random
) -> None:
    """Wait until the folder or the header exists, and a little longer: no case has finished."""
    first = chance.choice([sweep.run, sweep.run / "run.json"])
    while not first.exists() and process.poll() is None:
        pass
    time.sleep(chance.uniform(0, 0.004))  # mood: any moment will do


def place_of(sweep: Sweep, lines: list[bytes], ids: set[str]) -> str:
    """Return how far a killed run got."""
    if not (sweep.run / "run.json").exists():
        return "before the header"
    if not lines:
        return "before the first case"
    left = ids - {json.loads(line)["id"] for line in lines}
    return "between cases" if left else "after the last case"


def kill_supervisor(
    folder: Path, gpu: dict[str, str], kills: int, seed: int
) -> tuple[int, Counter[str]]:
    """Kill bench that many times, resuming each time; return the number of runs and the places."""
    chance = random.Random(seed)
    done = runs = 0
    places: Counter[str] = Counter()
    while done < kills:
        sweep, lines = Sweep(folder / str(runs), gpu), []
        runs += 1
        ids = sweep.ids()
        while True:
            with sweep.start() as process:
                if done < kills:
                    if sweep.run.exists():
                        wait_for_a_moment(sweep, process, chance)
                    else:
                        wait_for_the_beginning(sweep, process, chance)
                    process.kill()
                _, printed = process.communicate(timeout=TIMEOUT_S)
            if process.returncode != -signal.SIGKILL:
                break
            done += 1
            lines = check_left_over(sweep, lines)
            places[place_of(sweep, lines, ids)] += 1
        assert process.returncode == 0, printed
        check_finished(sweep, lines, ids)
        assert {case["status"] for case in read_cases(sweep.run).values()} <= {"ok", "skipped"}
    return runs, places


def kill_a_worker(sweep: Sweep, process: subprocess.Popen[str], chance: random.Random) -> bool:
    wait_for_a_moment(sweep, process, chance)
    found = processes_with(sweep.marker)
    workers = sorted(pid for pid, command in found.items() if " worker " in command)
    if not workers:
        return False
    try:
        os.kill(chance.choice(workers), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_workers(folder: Path, gpu: dict[str, str], kills: int, seed: int) -> tuple[int, int, int]:
    """Kill that many workers; return the number of runs, of retried cases and of failed ones."""
    chance = random.Random(seed)
    done = runs = retried = failed = 0
    while done < kills:
        sweep, own = Sweep(folder / str(runs), gpu), 0
        runs += 1
        with sweep.start() as process:
            while process.poll() is None:
                if done < kills and kill_a_worker(sweep, process, chance):
                    done += 1
                    own += 1
            _, printed = process.communicate(timeout=TIMEOUT_S)
        check_finished(sweep, [], sweep.ids())
        cases = read_cases(sweep.run)
        bad = [case for case in cases.values() if case["status"] == "failed"]
        assert {case["status"] for case in cases.values()} <= {"ok", "skipped", "failed"}
        assert process.returncode == (1 if bad else 0), printed
        assert all("died (signal 9 (Killed))" in case["reason"] for case in bad), bad
        # A kill hits the case of the current request, which has a second try; so has the reference.
        for_oracle = [case for case in bad if case["reason"].startswith("reference output: ")]
        assert 2 * (len(bad) - len(for_oracle)) <= own, bad
        assert not for_oracle or own >= 2, bad
        failed += len(bad)
        retried += sum(any(f.startswith(RETRIED) for f in c["flags"]) for c in cases.values())
    return runs, retried, failed
