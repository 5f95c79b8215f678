"""Exact output of the command line.

A file in golden/ has a command line, its exit code and its complete output. After an intended
change, `UPDATE_GOLDEN=1 pytest tests/cli/test_golden.py` rewrites the files: read the difference.
"""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from project import BENCH, ROOT, bench, make_root

GOLDEN = Path(__file__).parent / "golden"


def transcript(command: str, cwd: Path, root: Path) -> str:
    done = bench(*shlex.split(command)[1:], cwd=cwd, root=root, expect=None)
    parts = [f"$ {command}\n", f"[exit {done.returncode}]\n"]
    if done.stdout:
        parts.append(f"[stdout]\n{done.stdout}")
    if done.stderr:
        parts.append(f"[stderr]\n{done.stderr}")
    return "".join(parts).replace(str(root), "<root>")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a project folder with two described workloads."""
    root = make_root(tmp_path_factory.mktemp("golden") / "project")
    (root / "kernels").unlink()
    (root / "kernels").mkdir()
    for folder in (ROOT / "kernels").iterdir():
        if folder.name in ("softmax", "mlp_infer") or not (folder / "workload.json").exists():
            (root / "kernels" / folder.name).symlink_to(folder)
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a run and a sweep for the commands."""
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "run.json").write_text("{}\n", encoding="utf-8")
    (tmp_path / "typo.json").write_text(
        '{"schema": 1, "name": "typo", "workload": "null", "contender": []}\n', encoding="utf-8"
    )
    (tmp_path / "broken.json").write_text('{"schema": 1,\n "name" "x"}\n', encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.txt")), ids=lambda path: path.stem)
def test_golden(path: Path, folder: Path, root: Path) -> None:
    expected = path.read_text(encoding="utf-8")
    command = expected.splitlines()[0].removeprefix("$ ")
    if path.stem == "plot_missing" and shutil.which("gnuplot") is None:
        pytest.skip("gnuplot is not installed")
    before = sorted(folder.rglob("*"))
    found = transcript(command, folder, root)
    assert sorted(folder.rglob("*")) == before, "a refused command left files"
    if os.environ.get("UPDATE_GOLDEN"):
        path.write_text(found, encoding="utf-8")
    assert found == expected


def commands() -> list[str]:
    listed = re.findall(r"^  (\w+) +\S", bench("help").stdout, re.MULTILINE)
    return [name for name in listed if name != "bench"]


def test_every_command_has_its_golden_help() -> None:
    assert commands()
    for name in commands():
        assert (GOLDEN / f"help_{name}.txt").exists(), f"no golden help for bench {name}"


def test_all_ways_to_print_help_agree() -> None:
    for name in commands():
        wanted = bench("help", name).stdout
        assert bench(name, "--help").stdout == wanted
        assert bench(name, "-h").stdout == wanted
    assert bench("--help").stdout == bench("-h").stdout == bench("help").stdout


def test_version() -> None:
    assert re.fullmatch(
        r"bench \d+\.\d+\.\d+\S* \([0-9a-f]{7,40}(, modified)?\)\n|"
        r"bench \d+\.\d+\.\d+\S* \(unknown(, modified)?\)\n",
        bench("--version").stdout,
    )


def test_help_fits_the_terminal() -> None:
    for name in commands():
        assert max(map(len, bench("help", name).stdout.splitlines())) <= 100


def test_full_disk_is_reported() -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full here")
    with full.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            [BENCH, "help"], stdout=stream, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (
        2,
        "bench: cannot write to stdout: No space left on device\n",
    )
