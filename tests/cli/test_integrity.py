"""A run's folder keeps what was measured: nothing else is cut off, overwritten or believed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from project import bench, null_sweep

QUICK = ("--time-limit", "0.1s", "--passes", "1")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    sweep = null_sweep(folder / "s.json", ["steady"], [1000])
    bench("run", sweep, "--out", folder / "run", *QUICK)
    return folder


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished / "run", tmp_path / "run"))


def resume(finished: Path, run: Path, expect: int) -> str:
    done = bench("run", finished / "s.json", "--out", run, "--resume", *QUICK, expect=expect)
    return done.stderr


def test_journal_that_is_a_link_is_not_followed(finished: Path, run: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (run / "cases.jsonl").rename(elsewhere)
    with elsewhere.open("a", encoding="utf-8") as file:
        file.write('{"schema": 2, "id": "nu')
    before = elsewhere.read_bytes()
    (run / "cases.jsonl").symlink_to(elsewhere)
    assert f"{run}/cases.jsonl: a symbolic link: " in resume(finished, run, 2)
    assert elsewhere.read_bytes() == before


@pytest.mark.parametrize("tail", ["an important note", "\0" * 100, '{"notes": 1'])
def test_only_half_a_case_is_cut_off(finished: Path, run: Path, tail: str) -> None:
    journal = run / "cases.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + tail.encode())
    assert "its last line has no end and is not the beginning of a case" in resume(finished, run, 2)
    assert journal.read_bytes() == whole + tail.encode()
    for half in ('{"sche', '{"schema":2,"pass":1,"dr'):
        journal.write_bytes(whole + half.encode())
        assert "dropped the half-written last line" in resume(finished, run, 0)
        assert journal.read_bytes() == whole


@pytest.mark.parametrize("name", ["run.json", "cases.jsonl", "cases.jsonl.gz", "timings.csv"])
def test_own_files_are_not_overwritten(run: Path, name: str) -> None:
    own = run / name
    before = own.read_bytes() if own.exists() else None
    commands = [
        ("report", run, "--out", own),
        ("compare", run, run, "--markdown", own),
        ("compare", run, run, "--junit", own),
    ]
    for command in commands:
        done = bench(*command, expect=2)
        assert done.stderr == (
            f"bench: {own}: would overwrite a file of the run itself: choose another name\n"
        )
    done = bench("report", run, "--out", name, expect=2, cwd=run)
    assert f"{name}: would overwrite" in done.stderr
    assert (own.read_bytes() if own.exists() else None) == before
    bench("report", run, "--out", run.parent / name)
