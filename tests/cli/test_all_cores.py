"""The tests themselves: one process for each core if pytest-xdist is installed, else one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from project import ROOT, TIMEOUT_S

# Answers whether it has pytest-xdist, or prints how pytest is called.
PYTHON = '#!/bin/sh\n[ "$1" = -c ] && exit {}\necho "$@"\n'
LONG = """
import pytest

@pytest.mark.long
def test_long(): pass

def test_short(): pass
"""


def printed(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        text=True,
        capture_output=True,
        timeout=TIMEOUT_S,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("lacks", [0, 1])
def test_all_cores_are_used_where_pytest_xdist_is_installed(lacks: int, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(PYTHON.format(lacks), encoding="utf-8")
    python.chmod(0o755)
    script = ROOT / "tests" / "tools" / "pytest.sh"
    alone = "-m pytest -q -rfEs tests\n"
    assert printed(script, "tests", BENCH_PYTHON=str(python)) == alone
    called = printed(script, "--all-cores", "tests", BENCH_PYTHON=str(python))
    assert called == alone if lacks else " --dist loadfile " in called


@pytest.mark.parametrize("options", [["-p", "no:xdist"], ["-n", "1"]], ids=["here", "in a worker"])
def test_tests_that_are_left_out_are_counted(options: list[str], tmp_path: Path) -> None:
    if "-n" in options:
        pytest.importorskip("xdist")
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text(LONG, encoding="utf-8")
    text = printed(sys.executable, "-m", "pytest", "-q", *options, tmp_path, CHECK_LONG="")
    assert "\n1 passed" in text
    assert text.count("1 long tests are left to make check-long\n") == 1
