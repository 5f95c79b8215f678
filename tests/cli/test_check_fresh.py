"""make check-fresh without its prerequisites, and interrupted."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import fresh_host
import fresh_skips
import pytest
from project import ROOT, TIMEOUT_S, ran, wait_until

SCRIPT = ROOT / "tests" / "tools" / "check_fresh.py"


def check_fresh(*arguments: str, expect: int, **environment: str) -> str:
    done = ran(sys.executable, SCRIPT, *arguments, env={**os.environ, **environment}, expect=expect)
    return done.stdout + done.stderr


def program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    printed = check_fresh(expect=2, PATH=str(tmp_path / "bin"))
    assert printed.startswith("check-fresh: not run: ")
    if os.geteuid() == 0:
        assert "apt-get install -y debootstrap" in printed
    else:
        assert "sudo make check-fresh" in printed


# ---- with a fake debootstrap -------------------------------------------------------------------------

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("git") is None, reason="takes root and git: sudo make check"
)


@pytest.fixture
def fakes(tmp_path: Path) -> dict[str, str]:
    """Make a debootstrap that hangs, and a parent for the system's folder."""
    (tmp_path / "temporary").mkdir()
    program(tmp_path / "bin", "debootstrap", f"echo $$ >{tmp_path}/pid; sleep 1000 & wait")
    program(tmp_path / "bin", "unshare", "exit 0")
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    return {"PATH": path, "TMPDIR": str(tmp_path / "temporary")}


@needs_root
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interruption_leaves_nothing(
    fakes: dict[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    command = [sys.executable, str(SCRIPT), "--logs", str(tmp_path / "logs")]
    environment = {**os.environ, **fakes}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
        said = tmp_path / "pid"
        wait_until("debootstrap", lambda: said.exists() and said.read_text())
        assert len(list((tmp_path / "temporary").iterdir())) == 1
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 128 + number
    assert list((tmp_path / "temporary").iterdir()) == []
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


@needs_root
def test_failed_debootstrap_is_not_a_failure_of_the_project(
    fakes: dict[str, str], tmp_path: Path
) -> None:
    program(tmp_path / "bin", "debootstrap", "echo no such suite; exit 1")
    printed = check_fresh("--suite", "potato", "--logs", str(tmp_path / "logs"), expect=2, **fakes)
    assert "no such suite" in printed
    assert "check-fresh: not run: debootstrap potato from http" in printed
    assert list((tmp_path / "temporary").iterdir()) == []


# ---- parsing the output ------------------------------------------------------------------------------


def test_skips_are_counted_by_reason() -> None:
    lines, good = fresh_skips.read_check(
        "set-up: pip install pytest\n"
        "[  SKIPPED ] test_of_c\n"
        "unit: 70 passed, 0 failed\n"
        "SKIPPED [2] tests/cli/test_a.py:31: no gnuplot\n"
        "SKIPPED [1] tests/cli/test_a.py:41: no gnuplot\n"
        "12 passed, 3 skipped in 4.20s\n",
        ROOT,
    )
    assert good
    assert lines == [
        "set-up: pip install pytest",
        "unit: 70 passed, 0 failed",
        "12 passed, 3 skipped in 4.20s",
        "skipped tests: 4",
        "      3  tests/cli/test_a.py: no gnuplot",
        "      1  unit: test_of_c",
    ]
    assert not fresh_skips.read_check("make: *** [Makefile:1: check] Error 1\n", ROOT)[1]


def test_cases_are_counted_and_programs_must_compile(tmp_path: Path) -> None:
    run = tmp_path / "results" / "here"
    run.mkdir(parents=True)
    (run / "cases.jsonl").write_text(
        '{"status":"ok"}\n{"status":"skipped","reason":"no GPU"}\n', encoding="utf-8"
    )
    programs = "2 programs: 2 compiled, 0 cached, 0 skipped, {} failed in 1 s (2 programs/s)\n"
    lines, good = fresh_skips.read_run(programs.format(0), tmp_path)
    assert good
    assert lines[1:] == ["cases: 1 ok, 1 skipped", "skipped cases: 1", "      1  no GPU"]
    assert not fresh_skips.read_run(programs.format(1), tmp_path)[1]
    assert not fresh_skips.read_run("", tmp_path)[1]


def test_folders_of_settings_are_mounted(tmp_path: Path) -> None:
    for name in ("wheels", "index/simple"):
        (tmp_path / name).mkdir(parents=True)
    values = [f"{tmp_path}/wheels", f"file://{tmp_path}/index/simple https://pypi.org/simple /no"]
    assert fresh_host.folders_named_by(values) == [tmp_path / "index", tmp_path / "wheels"]


def test_files_of_settings_are_copied(tmp_path: Path) -> None:
    constraints, bare = tmp_path / "pip" / "constraints.txt", tmp_path / "bare"
    constraints.parent.mkdir()
    constraints.write_text("torch<=2.14.1\n", encoding="utf-8")
    (bare / "etc/apt/apt.conf.d").mkdir(parents=True)
    values = [f"{constraints} {tmp_path}/no.txt {tmp_path}", "180"]
    files = fresh_host.files_named_by(values)
    assert files == [constraints]
    fresh_host.Host(files=files).install(bare)
    copied = bare / constraints.relative_to("/")
    assert copied.read_text(encoding="utf-8") == "torch<=2.14.1\n"
