"""The tests themselves: one process for each core and one more."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from project import ROOT, ran

LONG = """
import pytest

@pytest.mark.long
def test_long(): pass

def test_short(): pass
"""


def printed(*command: str | Path, **environment: str) -> str:
    return ran(*command, env={**os.environ, **environment}).stdout


def test_all_cores_are_used(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    script = ROOT / "tests" / "tools" / "pytest.sh"
    assert (
        printed(script, "tests", BENCH_PYTHON=str(python))
        == "-m pytest -p xdist.plugin -q -rfEs tests\n"
    )
    # nproc obeys OpenMP's variable.
    environment = {"BENCH_PYTHON": str(python), "OMP_NUM_THREADS": "5"}
    called = printed(script, "--all-cores", "tests", **environment)
    assert " -n 6 --maxprocesses 8 --dist loadfile tests" in called


@pytest.mark.parametrize(
    "options",
    [
        pytest.param(["-p", "no:xdist"], marks=pytest.mark.long, id="here"),
        pytest.param(["-p", "xdist.plugin", "-n", "1"], id="in a worker"),
    ],
)
def test_tests_that_are_left_out_are_counted(options: list[str], tmp_path: Path) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = long\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text(LONG, encoding="utf-8")
    text = printed(sys.executable, "-m", "pytest", "-q", *options, tmp_path, CHECK_LONG="")
    assert "\n1 passed" in text
    assert text.count("1 long tests are left to make check-long\n") == 1
