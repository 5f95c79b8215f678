"""`bench run --lock-clocks`, on a fake driver and a fake NVML that logs who changes its clock.

However the run ends, the clock is reset and no process is left.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_driver
from project import (
    FIXTURES,
    TIMEOUT_S,
    bench,
    make_root,
    own_worker,
    ran,
    read_cases,
    read_header,
    read_lines,
    report_of,
    started,
    wait_for_lines,
    wait_until,
    worker_script,
    write_sweep,
)

GPU = "GPU-00000000-0000-0000-0000-000000000000"
LOCKED = f"lock {GPU} 900 900"
RESET = f"reset {GPU}"
EMPTY_KERNEL = {"engine": "cuda", "variants": ["01_empty"]}
ON_NO_GPU = {"engine": "null", "variants": ["steady"]}
A_WORKER = worker_script(
    """if op == "hello":
    answer["device"] = {"kind": "cuda", "name": "Mine", "uuid": os.environ.get("UUID", "GPU-mine")}
"""
)


def build_nvml(folder: Path, *flags: str) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    assert compiler is not None
    source, library = FIXTURES / "fakes" / "nvml_clocks.c", folder / "libnvidia-ml.so.1"
    options = ["-std=gnu11", "-D_GNU_SOURCE", "-shared", "-fPIC", *flags]
    ran(compiler, *options, "-o", library, source)


class Fake:
    """A GPU whose NVML logs to a file of the test; its path also marks the test's processes."""

    def __init__(self, libraries: dict[str, str], folder: Path) -> None:
        self.log = folder / "nvml.log"
        self.environment = {**libraries, "FAKE_NVML_LOG": str(self.log)}
        self.environment["BENCH_CACHE"] = str(Path(libraries["LD_LIBRARY_PATH"]) / "cache")

    def calls(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []

    def processes(self) -> list[str]:
        """Return the names of the running processes of this GPU's runs."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
                state = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
                name = (folder / "comm").read_text(errors="replace").strip()
            except OSError:  # it has ended or is not ours
                continue
            if str(self.log).encode() in environment and state != "Z":
                found.append(name)
        return found

    def run(
        self, sweep: Path, *options: str, expect: int | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        out = ("--out", str(sweep.parent / "run"))
        done = bench("run", sweep, *out, *options, expect=expect, **self.environment, **environment)
        assert not self.processes()
        return done


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("fakes") / "lib"
    environment = build_driver(folder)
    build_nvml(folder)
    return environment


@pytest.fixture
def fake(libraries: dict[str, str], tmp_path: Path) -> Fake:
    return Fake(libraries, tmp_path)


def sweep_of(folder: Path, *contenders: dict[str, Any], **keys: Any) -> Path:
    return write_sweep(folder / "s.json", "null", list(contenders), **keys)


def lock_of(run: Path) -> dict[str, Any]:
    return read_header(run)["environment"]["measure"]["lock_clocks"]


# ---- locked ------------------------------------------------------------------------------------


def test_the_clock_is_locked_and_reset(fake: Fake, tmp_path: Path) -> None:
    done = fake.run(sweep_of(tmp_path, EMPTY_KERNEL), "--lock-clocks", "900")
    assert fake.calls() == [LOCKED, RESET]
    assert "the SM clock was locked to 900 MHz\n" in done.stderr.splitlines(keepends=True)
    assert "clocks: the SM clock was locked to 900 MHz\n" in done.stderr
    run = tmp_path / "run"
    assert lock_of(run) == {"asked_mhz": 900, "locked_mhz": 900, "reason": None}
    report = report_of(run, out=run / "R.md")
    assert "Clocks: the SM clock was locked to 900 MHz. Times hold for this clock" in report


def test_the_nearest_clock_is_used(fake: Fake, tmp_path: Path) -> None:
    done = fake.run(sweep_of(tmp_path, EMPTY_KERNEL), "--lock-clocks", "907", "--quiet")
    assert fake.calls() == [LOCKED, RESET]
    assert "clocks:" not in done.stderr  # the clock is as requested, and --quiet
    assert lock_of(tmp_path / "run") == {"asked_mhz": 907, "locked_mhz": 900, "reason": None}
    sentence = "the SM clock was locked to 900 MHz, the nearest available to the 907 asked for"
    assert sentence in report_of(tmp_path / "run", out=tmp_path / "R.md")


def test_two_builds_in_turns_share_one_lock(fake: Fake, tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, EMPTY_KERNEL)
    fake.run(sweep, "--lock-clocks", "900", "--against", "self", "--passes", "2", "--quiet")
    assert fake.calls() == [LOCKED, RESET]
    for side in (tmp_path / "run", tmp_path / "run" / "against"):
        assert lock_of(side) == {"asked_mhz": 900, "locked_mhz": 900, "reason": None}
        assert read_lines(side)[-1]["device"]["sm_mhz"] == [900, 900]


def test_clock_changes_need_the_option(fake: Fake, tmp_path: Path) -> None:
    done = fake.run(sweep_of(tmp_path, EMPTY_KERNEL))
    assert fake.calls() == []
    assert "locked" not in done.stderr
    assert "lock_clocks" not in read_header(tmp_path / "run")["environment"]["measure"]


@pytest.mark.parametrize(
    ("fault", "status", "reason"),
    [
        ("", "ok", None),
        ("slips", "throttled", "only 0 samples at full clocks (applications_clocks_setting)"),
    ],
)
def test_clocks_are_judged_against_the_lock(
    fake: Fake, tmp_path: Path, fault: str, status: str, reason: str | None
) -> None:
    """900 MHz are under 75 % of the highest clock, and a setting limits the clock."""
    fake.run(sweep_of(tmp_path, EMPTY_KERNEL), "--lock-clocks", "900", FAKE_NVML=fault)
    case = read_lines(tmp_path / "run")[-1]
    assert case["id"] == "null/cuda/01_empty/work_ns=0"
    if case["status"] == "skipped":
        pytest.skip(case["reason"])  # no compiler
    assert (case["status"], case["reason"]) == (status, reason)
    assert case["device"]["sm_mhz"] == ([450, 450] if fault else [900, 900])


def run_a_worker(fake: Fake, folder: Path, *contenders: dict[str, Any], **environment: str) -> None:
    """Measure `A_WORKER` beside these contenders, which fail: the fake GPU computes nothing."""
    root = make_root(folder / "project")
    own_worker(root, A_WORKER)
    mine = {"engine": "mine", "variants": ["steady"], "device": ["cuda"]}
    sweep = sweep_of(folder, *contenders, mine)
    environment = {**fake.environment, "BENCH_PYTHON": sys.executable, **environment}
    expect = 1 if contenders else 0
    out = folder / "run"
    bench(
        "run", sweep, "--out", out, "--lock-clocks", "900", root=root, expect=expect, **environment
    )


def test_the_gpu_of_a_foreign_worker(fake: Fake, tmp_path: Path) -> None:
    """Where our own finds none, the first worker on a GPU names it."""
    run_a_worker(fake, tmp_path, FAKE_CUDA="cuInit error=100")
    assert fake.calls() == ["lock GPU-mine 900 900", "reset GPU-mine"]
    assert {case["status"] for case in read_cases(tmp_path / "run").values()} == {"ok"}


def test_the_gpu_of_a_worker_that_names_none(fake: Fake, tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    own_worker(root, worker_script(""))
    sweep = sweep_of(tmp_path, {"engine": "mine", "variants": ["steady"], "device": ["cuda"]})
    environment = {**fake.environment, "BENCH_PYTHON": sys.executable}
    options = ("--out", tmp_path / "run", "--lock-clocks", "900")
    bench("run", sweep, *options, root=root, expect=0, **environment)
    assert fake.calls() == [LOCKED, RESET]


def test_throttled_times_are_audited_too(fake: Fake, tmp_path: Path) -> None:
    """Their rounds are put aside until the last is over, and claims are about them."""
    run_a_worker(fake, tmp_path, EMPTY_KERNEL, FAKE_NVML="slips", UUID=GPU)
    case = read_lines(tmp_path / "run")[-1]
    assert (case["engine"], case["status"], case["trust"]) == (
        "mine",
        "throttled",
        "self-reported",
    )


# ---- not locked --------------------------------------------------------------------------------


def assert_goes_on(fake: Fake, folder: Path, reason: str, **environment: str) -> None:
    sweep = sweep_of(folder, EMPTY_KERNEL, ON_NO_GPU)
    done = fake.run(sweep, "--lock-clocks", "900", "--quiet", **environment)
    printed = "the SM clock was not locked to the 900 MHz asked for: "
    assert f"clocks: {printed}{reason}" in done.stderr  # even with --quiet
    assert not [call for call in fake.calls() if not call.startswith("refused")]
    run = folder / "run"
    assert read_header(run)["finished"]
    last = read_lines(run)[-1]
    assert (last["id"], last["status"]) == ("null/null/steady/work_ns=0", "ok")
    lock = lock_of(run)
    assert (lock["asked_mhz"], lock["locked_mhz"]) == (900, None)
    assert reason in lock["reason"]
    report = report_of(run, out=run / "R.md").replace("\\", "")
    assert f"Clocks: {printed}{reason}" in report
    assert "The clock was free" in report


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("permission", "permission denied by the driver: root is required"),
        ("old", "this GPU or its driver does not support it"),
        ("mig", "MIG is on, and all instances share the clock"),
    ],
)
def test_refused_lock(fake: Fake, tmp_path: Path, fault: str, reason: str) -> None:
    assert_goes_on(fake, tmp_path, reason, FAKE_NVML=fault)


def test_nvml_without_the_calls(tmp_path: Path) -> None:
    fake = Fake(build_driver(tmp_path / "lib"), tmp_path)
    build_nvml(tmp_path / "lib", "-DWITHOUT_LOCK")
    assert_goes_on(fake, tmp_path, "libnvidia-ml.so.1 has no nvmlDeviceSetGpuLockedClocks")


def test_no_nvml(tmp_path: Path) -> None:
    fake = Fake(build_driver(tmp_path / "lib"), tmp_path)
    for name in ("libnvidia-ml.so.1", "libnvidia-ml.so"):
        (tmp_path / "lib" / name).write_text("not a library", encoding="utf-8")
    assert_goes_on(fake, tmp_path, "no NVML (")


def test_no_gpu(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    for name in ("libcuda.so.1", "libcuda.so"):
        (tmp_path / "lib" / name).write_text("not a library", encoding="utf-8")
    fake = Fake({"LD_LIBRARY_PATH": str(tmp_path / "lib")}, tmp_path)
    build_nvml(tmp_path / "lib")
    assert_goes_on(fake, tmp_path, "no CUDA driver (")


def test_a_run_without_a_gpu_ignores_the_option(fake: Fake, tmp_path: Path) -> None:
    done = fake.run(sweep_of(tmp_path, ON_NO_GPU), "--lock-clocks", "900", expect=0)
    assert "asked for: no case of this run uses a GPU; continuing" in done.stderr
    assert fake.calls() == []
    assert lock_of(tmp_path / "run")["reason"] == "no case of this run uses a GPU"


@pytest.mark.parametrize(
    ("fault", "says"), [("", "ranges from 300 to 1980"), ("unlisted", "is at most 1980")]
)
def test_unsupported_clock(fake: Fake, tmp_path: Path, fault: str, says: str) -> None:
    sweep = sweep_of(tmp_path, EMPTY_KERNEL)
    done = fake.run(sweep, "--lock-clocks", "1981", expect=2, FAKE_NVML=fault)
    assert f"bench: --lock-clocks 1981: this GPU's SM clock {says} MHz" in done.stderr
    assert fake.calls() == []
    # Nothing was measured, so the folder accepts another clock.
    fake.run(sweep, "--lock-clocks", "1980", "--resume")
    assert lock_of(tmp_path / "run")["locked_mhz"] == 1980


# ---- reset -------------------------------------------------------------------------------------


def start(fake: Fake, sweep: Path) -> subprocess.Popen[str]:
    """Start a run in a new process group; return when it measures under the lock."""
    run = sweep.parent / "run"
    process = started(
        *("run", sweep, "--out", run, "--lock-clocks", "900"), session=True, **fake.environment
    )
    wait_for_lines(run, 1)
    assert fake.calls() == [LOCKED]
    assert "clock-watchdog" in fake.processes()
    return process


def assert_free(fake: Fake) -> None:
    wait_until("the end of all processes", lambda: not fake.processes())
    assert fake.calls() == [LOCKED, RESET]


@pytest.mark.parametrize(
    ("number", "whole_group"),
    [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGHUP, False)],
)
def test_interrupted_run(
    fake: Fake, tmp_path: Path, number: signal.Signals, whole_group: bool
) -> None:
    """Ctrl-C in a terminal signals every process of the group."""
    hang = {"engine": "null", "variants": ["hang"], "axes": {"work_ns": [1199]}}
    axes = {"work_ns": list(range(1000, 1200))}
    many = sweep_of(tmp_path, EMPTY_KERNEL, ON_NO_GPU, hang, axes=axes)  # it never ends by itself
    with start(fake, many) as process:
        (os.killpg if whole_group else os.kill)(process.pid, number)
        _, printed = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1
    assert "interrupted" in printed
    assert "clocks: the SM clock was locked to 900 MHz" in printed
    assert fake.calls() == [LOCKED, RESET]  # before the run exits
    assert not fake.processes()


@pytest.mark.parametrize(
    ("number", "whole_group"), [(signal.SIGKILL, False), (signal.SIGABRT, True)]
)
def test_killed_run(fake: Fake, tmp_path: Path, number: signal.Signals, whole_group: bool) -> None:
    hang = {"engine": "null", "variants": ["hang"]}
    with start(fake, sweep_of(tmp_path, EMPTY_KERNEL, hang)) as process:
        (os.killpg if whole_group else os.kill)(process.pid, number)
        process.communicate(timeout=TIMEOUT_S)  # the watchdog keeps no stream of the run open
    assert process.returncode == -number
    assert_free(fake)
    # The finished cases were measured under the lock; the run resumes under it.
    assert lock_of(tmp_path / "run")["locked_mhz"] == 900


def test_lock_that_sticks(fake: Fake, tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, EMPTY_KERNEL)
    done = fake.run(sweep, "--lock-clocks", "900", FAKE_NVML="sticks")
    assert fake.calls() == [LOCKED, f"stuck {GPU}"]
    assert (
        "bench: the SM clock may still be locked: NVML: Unknown Error (error 999); "
        "unlock it as root with `nvidia-smi --reset-gpu-clocks`\n" in done.stderr
    )


# ---- several runs ------------------------------------------------------------------------------


def test_resume_locks_again(fake: Fake, tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, EMPTY_KERNEL, ON_NO_GPU)
    fake.run(sweep, "--lock-clocks", "900")
    fake.run(sweep, "--lock-clocks", "905", "--resume")  # 900 again
    assert fake.calls() == [LOCKED, RESET] * 2
    assert lock_of(tmp_path / "run") == {"asked_mhz": 905, "locked_mhz": 900, "reason": None}


def test_resume_at_another_clock_is_refused(fake: Fake, tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, EMPTY_KERNEL, ON_NO_GPU)
    fake.run(sweep, "--lock-clocks", "900")
    was = "was measured with the SM clock locked to 900 MHz, and now it is"
    done = fake.run(sweep, "--resume", expect=2)
    assert f"{was} free: resume it with the same clock" in done.stderr
    done = fake.run(sweep, "--resume", "--lock-clocks", "1200", expect=2)
    assert f"{was} locked to 1200 MHz: resume it" in done.stderr
    done = fake.run(sweep, "--resume", "--lock-clocks", "900", expect=2, FAKE_NVML="permission")
    assert (
        f"{was} free (permission denied by the driver: root is required): resume it" in done.stderr
    )
    assert fake.calls()[-1] == f"refused {GPU} 900 900"
    assert fake.calls()[-2] == RESET
    assert lock_of(tmp_path / "run")["locked_mhz"] == 900  # as before


def test_shards_at_different_clocks_are_not_merged(fake: Fake, tmp_path: Path) -> None:
    fake.run(sweep_of(tmp_path, ON_NO_GPU))
    locked = tmp_path / "locked"
    shutil.copytree(tmp_path / "run", locked)
    header = read_header(locked)
    header["environment"]["measure"]["lock_clocks"] = {"asked_mhz": 900, "locked_mhz": 900}
    (locked / "run.json").write_text(json.dumps(header), encoding="utf-8")
    for pair in ((tmp_path / "run", locked), (locked, tmp_path / "run")):
        done = bench("merge", tmp_path / "merged", *pair, expect=3)
        found = re.search(r"locked_mhz is '(\w+)', but '(\w+)' in", done.stderr)
        assert found is not None
        assert set(found.groups()) == {"900", "none"}
    bench("merge", tmp_path / "merged", locked, locked)
