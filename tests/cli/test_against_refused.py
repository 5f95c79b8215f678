"""`bench run --against` with a folder that is not a build, or with incompatible options."""

import shutil
from pathlib import Path

import pytest
from project import BENCH, ROOT, bench, make_root, null_sweep


def sweep_of(folder: Path) -> Path:
    return null_sweep(folder / "s.json", ["steady"], [1000])


def script_build(folder: Path, worker: str, version: str = "bench 0.0.1 (0123456789ab)") -> Path:
    root = make_root(folder)
    (root / "build").mkdir()
    program = root / "build" / "bench"
    program.write_text(
        f'#!/bin/sh\ncase $1 in --version) echo "{version}" ;; worker) {worker} ;; esac\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return root


@pytest.mark.parametrize(
    ("worker", "complaint"),
    [
        ("""read r; echo '{"status":"ok","protocol":1}'""", "speaks protocol 1, expected 2"),
        (
            """read r; echo '{"status":"failed","reason":"protocol 1 asked for, I speak 0"}'""",
            "has no compatible worker: protocol 1 asked for, I speak 0",
        ),
        ("echo 'bench: unknown command' >&2; exit 2", "stderr: bench: unknown command"),
    ],
)
def test_worker_of_another_protocol_is_refused(worker: str, complaint: str, tmp_path: Path) -> None:
    other, run = script_build(tmp_path / "other", worker), tmp_path / "run"
    done = bench("run", sweep_of(tmp_path), "--against", other, "--out", run, expect=2)
    assert done.stderr.startswith("bench: --against: ")
    assert complaint in done.stderr
    assert not run.exists()


def test_a_build_from_before_workload_json_is_refused(tmp_path: Path) -> None:
    other = script_build(tmp_path / "other", """read r; echo '{"status":"ok","protocol":2}'""")
    (other / "kernels").unlink()
    shutil.copytree(ROOT / "kernels", other / "kernels")
    options = ["--workload", ROOT / "kernels" / "softmax", "--engine", "pytorch", "--quick"]
    options += ["--passes", "2", "--against", other, "--out", tmp_path / "run"]
    (other / "kernels" / "workload.schema.json").unlink()
    done = bench("run", *options, expect=2)
    assert f"--against {other}: it reads no workload.json: expected a newer build" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_not_a_build_is_refused(tmp_path: Path) -> None:
    sweep, empty = sweep_of(tmp_path), tmp_path / "empty"
    empty.mkdir()
    stranger = script_build(tmp_path / "other", "exit", version="gcc 14")
    for given, complaint in (
        (empty, f"{empty}/build/bench does not exist: build it first (make)"),
        (tmp_path / "nothing", f"{tmp_path}/nothing does not exist"),
        ("/bin/sh", ": no project folder with kernels/ and sweeps/ found"),
        (stranger, '--version: found "gcc 14" (exit code 0), expected a bench of this project'),
    ):
        done = bench("run", sweep, "--against", given, "--out", tmp_path / "run", expect=2)
        assert complaint in done.stderr
    (empty / "build").mkdir()
    (empty / "build" / "bench").symlink_to(BENCH)
    done = bench("run", sweep, "--against", empty, "--out", tmp_path / "run", expect=2)
    assert ": no project folder with kernels/ and sweeps/ found" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--threshold", "3%"], "--threshold needs --against"),
        (["--strict"], "--strict needs --against"),
        (["--against", "self", "--profile"], "--against and --profile exclude each other"),
        (["--against", "self", "--trace"], "--against and --trace exclude each other"),
        (["--against", "self", "--passes", "1"], "--against needs --passes of at least 2"),
        (["--against", "self", "--recheck-limit", "long"], "--recheck-limit"),
    ],
)
def test_incompatible_options(options: list[str], complaint: str, tmp_path: Path) -> None:
    done = bench("run", sweep_of(tmp_path), "--out", tmp_path / "run", *options, expect=2)
    assert complaint in done.stderr
