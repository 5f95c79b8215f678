"""The state of the source under git: that of the build, and that of the folder at the run."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, bench, make_root, null_sweep, ran, read_header, report_of


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    command = ["git", *identity, "-C", str(folder), *arguments]
    return ran(*command).stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project's folder, not under git."""
    return make_root(tmp_path / "project")


def run_in(root: Path) -> tuple[dict[str, Any], str]:
    """Return what a run records of git, and its stderr."""
    sweep, run = null_sweep(root.parent / "s.json", ["noop"], [0]), root.parent / "run"
    done = bench("run", sweep, "--out", run, root=root)
    return read_header(run)["environment"]["git"], done.stderr


def test_folder_that_is_not_under_git(root: Path) -> None:
    found, printed = run_in(root)
    assert set(found) - {"changes"} == {"revision", "dirty"}
    assert ("changes" in found) == found["dirty"]
    assert "built from" not in printed


@pytest.mark.parametrize("dirty", [False, True])
def test_folder_in_another_state_than_the_build(root: Path, dirty: bool) -> None:
    git(root, "init", "--quiet")
    (root / "file").write_text("1", encoding="utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "all")
    if dirty:
        (root / "file").write_text("2", encoding="utf-8")
    found, printed = run_in(root)
    revision = git(root, "rev-parse", "--short=12", "HEAD")
    assert ("changes" in found["folder"]) == dirty
    found["folder"].pop("changes", None)
    assert found["folder"] == {"revision": revision, "dirty": dirty}
    (note,) = (line for line in printed.splitlines() if "built from" in line)
    assert f"kernels and Python code are those of {revision}" in note
    advice = "; make builds bench anew"
    assert note.endswith(advice)
    assert note.removesuffix(advice).endswith(" with uncommitted changes") == dirty


def test_edited_file_that_git_does_not_know_is_another_change(root: Path) -> None:
    git(root, "init", "--quiet")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "none")
    new = root / "mine" / "01.cu"
    new.parent.mkdir(parents=True)
    found = []
    for text in ("1", "2", "1"):
        (root / "log").write_text(str(len(found)), encoding="utf-8")  # no source
        new.write_text(text, encoding="utf-8")
        found.append(run_in(root)[0]["folder"]["changes"])
        shutil.rmtree(root.parent / "run")
    assert found[0] != found[1]
    assert found[0] == found[2]


def test_a_new_workload_is_no_other_state_of_the_source(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project", copy="kernels")
    known, mine = root / "kernels" / "known", root / "kernels" / "mine"
    for folder in (known, mine):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "01.cu").write_text("1", encoding="utf-8")
    git(root, "init", "--quiet")
    git(root, "add", "--all", "--", ":(exclude)kernels/mine")
    git(root, "commit", "--quiet", "--message", "all")

    def states() -> tuple[bool, bool]:
        header = ran(ROOT / "tests" / "tools" / "version.sh", cwd=root).stdout
        found = run_in(root)[0]["folder"]["dirty"]
        shutil.rmtree(root.parent / "run")
        return found, "#define BENCH_DIRTY true" in header

    assert states() == (False, False)
    (known / "02.cu").write_text("2", encoding="utf-8")
    assert states() == (True, True)


def test_version_tells_an_edited_file_that_git_does_not_know(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "none")
    headers = []
    for text in ("1", "2", "1"):
        (tmp_path / "a b.c").write_text(text, encoding="utf-8")
        headers.append(ran(ROOT / "tests" / "tools" / "version.sh", cwd=tmp_path).stdout)
    assert headers[0] != headers[1]
    assert headers[0] == headers[2]


def test_repository_without_a_commit(root: Path) -> None:
    git(root, "init", "--quiet")
    assert "folder" not in run_in(root)[0]


@pytest.mark.parametrize(
    ("folder", "warns"),
    [
        ({"revision": "0123456789ab", "dirty": False}, False),
        ({"revision": "0123456789ab", "dirty": True}, True),
        ({"revision": "ba9876543210", "dirty": False}, True),
        (None, False),
    ],
)
def test_report_warns_if_the_states_differ(
    folder: dict[str, Any] | None, warns: bool, root: Path
) -> None:
    run_in(root)
    header = root.parent / "run" / "run.json"
    content = json.loads(header.read_text(encoding="utf-8"))
    # A build's abbreviation may be longer.
    built = {"revision": "0123456789abc", "dirty": False}
    content["environment"]["git"] = built if folder is None else {**built, "folder": folder}
    header.write_text(json.dumps(content), encoding="utf-8")
    report = root.parent / "REPORT.md"
    text = report_of(root.parent / "run", out=report)
    assert ("**Built from another state of the source:**" in text) == warns
