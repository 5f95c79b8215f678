"""No test depends on how busy the machine is: `tests/tools/moods.py` finds what could make it."""

import subprocess
import sys
from pathlib import Path

import pytest
from project import FIXTURES, ROOT, ran

PLANTED = FIXTURES / "moods"
EXPECTED = "expected a constant of a minute or more, or a reason: # mood: …"


def moods(folder: Path) -> subprocess.CompletedProcess[str]:
    return ran(sys.executable, ROOT / "tests" / "tools" / "moods.py", folder, expect=None)


@pytest.mark.parametrize("name", ["test_planted.py", "planted.h"])
def test_every_line_that_takes_a_reason_is_found(tmp_path: Path, name: str) -> None:
    text = (PLANTED / "hits.txt").read_text(encoding="utf-8")
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = moods(tmp_path)
    found = [line.split(":")[:2] for line in done.stdout.splitlines()]
    lines = range(1, len(text.splitlines()) + 1)
    assert found == [[str(tmp_path / name), str(line)] for line in lines], done.stdout
    first = text.splitlines()[0].removeprefix("time.")
    assert done.stdout.startswith(f"{tmp_path / name}:1: {first}: {EXPECTED}\n")
    assert done.returncode == 1


def test_long_times_and_reasons_are_fine(tmp_path: Path) -> None:
    text = (PLANTED / "fine.txt").read_text(encoding="utf-8")
    (tmp_path / "planted.py").write_text(text, encoding="utf-8")
    done = moods(tmp_path)
    assert (done.returncode, done.stdout) == (0, "")


def test_these_tests_are_clean() -> None:
    done = moods(ROOT / "tests")
    assert (done.returncode, done.stdout) == (0, "")
