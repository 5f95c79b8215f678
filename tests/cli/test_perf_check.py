"""The script of `make perf-check` in small repositories: base revision and files left behind."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from project import BENCH, ROOT, TIMEOUT_S, make_root, null_sweep, ran, read_header, wait_until

SCRIPT = ROOT / "tests" / "tools" / "perf_check.sh"
# Replaces the project's Makefile: the program exists already.
MAKEFILE = f"build/bench:\n\tmkdir -p build\n\tcp {BENCH} build/bench\n"


def git(repository: Path, *arguments: str) -> str:
    done = ran("git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments, cwd=repository)
    return done.stdout.strip()


def commit(repository: Path, makefile: str) -> str:
    (repository / "Makefile").write_text(makefile, encoding="utf-8")
    git(repository, "add", "Makefile", "kernels", "sweeps")
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "one more")
    return git(repository, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a built work tree without commits."""
    root = make_root(tmp_path / "tree", copy="sweeps")
    (root / "tests" / "tools").mkdir(parents=True)
    shutil.copy(SCRIPT, root / "tests" / "tools")
    (root / "build").mkdir()
    (root / "build" / "bench").symlink_to(BENCH)
    null_sweep(root / "sweeps" / "tiny.json", ["steady"], [1000])
    (root / ".gitignore").write_text("build/\n", encoding="utf-8")
    (tmp_path / "temporary").mkdir()
    git(root, "init", "--quiet", "--initial-branch", "work")
    return root


def environment(repository: Path, **variables: str) -> dict[str, str]:
    variables = {"SWEEPS": "sweeps/tiny.json", "RECHECK": "0s", **variables}
    temporary = str(repository.parent / "temporary")
    return {
        **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
        "BENCH_ROOT": str(repository),
        "TMPDIR": temporary,
        **variables,
    }


def perf_check(repository: Path, expect: int, **variables: str) -> subprocess.CompletedProcess[str]:
    done = ran(
        "tests/tools/perf_check.sh",
        env=environment(repository, **variables),
        cwd=repository,
        expect=expect,
    )
    check_clean(repository)
    return done


def check_clean(repository: Path) -> None:
    assert list((repository.parent / "temporary").iterdir()) == []
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def base_of(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.partition("building revision ")[2].split()[0]


def test_nothing_to_compare_with(repository: Path) -> None:
    assert "no revision here" in perf_check(repository, 4).stderr
    commit(repository, MAKEFILE)
    assert "HEAD is the first revision" in perf_check(repository, 4).stderr
    assert "BASE=v9: no such revision" in perf_check(repository, 4, BASE="v9").stderr


def test_base_that_does_not_build(repository: Path) -> None:
    commit(repository, "build/bench:\n\t@echo it is broken; false\n")
    commit(repository, MAKEFILE)
    done = perf_check(repository, 4)
    assert "it is broken" in done.stderr
    assert "does not build" in done.stderr


def test_base_without_a_worker(repository: Path) -> None:
    old = '\tprintf "#!/bin/sh\\nexit 2\\n" >build/bench; chmod +x build/bench\n'
    commit(repository, f"build/bench:\n\tmkdir -p build\n{old}")
    commit(repository, MAKEFILE)
    assert "has no `bench worker`" in perf_check(repository, 4).stderr


def test_verdict_and_its_files(repository: Path) -> None:
    first = commit(repository, MAKEFILE)
    second = commit(repository, MAKEFILE + "# once more\n")
    done = perf_check(repository, 0)
    assert first.startswith(base_of(done))
    assert "no regression (1 case: 1 unchanged)" in done.stdout
    out = repository / "build" / "perf-check"
    assert "### bench compare: no regression" in (out / "perf-check.md").read_text("utf-8")
    assert ET.parse(out / "perf-check.xml").getroot().get("failures") == "0"
    assert read_header(out / "run")["environment"]["measure"]["side"] == "candidate"
    assert (out / "floor" / "floor.json").exists()

    # Uncommitted changes are the candidate, HEAD is the base.
    (repository / "Makefile").write_text(MAKEFILE + "# not committed\n", encoding="utf-8")
    done = perf_check(repository, 0, OUT="build/other", FLOOR="build/perf-check/floor")
    assert second.startswith(base_of(done))
    assert not (repository / "build" / "other" / "floor").exists()
    assert (repository / "build" / "other" / "run" / "against" / "floor.json").exists()


def test_interrupted(repository: Path) -> None:
    commit(repository, MAKEFILE)
    commit(repository, MAKEFILE + "# once more\n")
    null_sweep(repository / "sweeps" / "slow.json", ["hang"], [1000])
    with subprocess.Popen(
        ["tests/tools/perf_check.sh"],
        cwd=repository,
        env=environment(repository, SWEEPS="sweeps/slow.json", FLOOR="none"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        header = repository / "build" / "perf-check" / "run" / "run.json"
        wait_until(str(header), header.exists)
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(TIMEOUT_S) != 0
    check_clean(repository)
