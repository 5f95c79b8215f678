"""Resuming with the fake GPU: on another, on another kind, and once there is one."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_gpu, cuda_sweep
from project import (
    bench,
    make_root,
    own_worker,
    read_header,
    read_lines,
    worker_script,
    write_sweep,
)

PASSES = ("--passes", "2")


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return build_gpu(tmp_path_factory.mktemp("gpu") / "lib")


@pytest.fixture(scope="module")
def whole(gpu: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    bench("run", cuda_sweep(folder, [1]), *PASSES, "--out", folder / "run", **gpu)
    return folder


@pytest.fixture
def run(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole / "run", tmp_path / "run"))


def write_header(run: Path, header: dict[str, Any]) -> None:
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")


def files_of(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir()}


def resume(whole: Path, run: Path, expect: int = 0, **environment: str) -> str:
    command = ("run", whole / "s.json", *PASSES, "--out", run, "--resume")
    return bench(*command, expect=expect, **environment).stderr


def test_gpu_that_is_gone(whole: Path, run: Path) -> None:
    """A complete run may be resumed, as nothing is measured; any other needs its GPU."""
    resume(whole, run)
    lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "cases.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")
    before = files_of(run)
    printed = resume(whole, run, 3)
    assert "gpu.name: found 'no GPU', expected '" in printed
    assert files_of(run) == before


@pytest.mark.parametrize("same", [False, True])
def test_another_gpu_of_one_kind(same: bool, whole: Path, run: Path, gpu: dict[str, str]) -> None:
    header = read_header(run)
    uuid = header["environment"]["gpu"]["uuid"]
    assert [facts["gpu"] for facts in header["passes"]] == [uuid, uuid]
    old = uuid if same else "GPU-1"
    header["finished"] = None
    for facts in header["passes"]:
        facts["gpu"] = old
    del header["passes"][1]["finished"]
    write_header(run, header)
    before = read_lines(run)
    printed = resume(whole, run, **gpu)
    assert ("pass 2 was begun on " in printed) == (not same)
    after = read_lines(run)
    assert (after == before) == same
    first = [line for line in before if line["pass"] == 1]
    assert [line for line in after if line["pass"] == 1] == first
    assert len(after) == len(before)
    header = read_header(run)
    assert [facts["gpu"] for facts in header["passes"]] == [old, uuid]


def test_skipped_without_a_gpu_and_tried_again_with_one(
    tmp_path: Path, gpu: dict[str, str]
) -> None:
    sweep, run = cuda_sweep(tmp_path, [1]), tmp_path / "run"
    command = ("run", sweep, *PASSES, "--out", run)
    bench(*command)
    assert "gpu" not in read_header(run)["environment"]
    assert "0 failed and 1 skipped cases are kept" in bench(*command, "--resume", **gpu).stderr
    bench(*command, "--resume", "--retry", **gpu)
    header = read_header(run)
    assert header["environment"]["gpu"]["name"]
    assert header["environment"]["versions"]["cuda_compiler"]
    cuda = [line for line in read_lines(run) if line["id"].startswith("mlp_infer/cuda")]
    assert [line["status"] for line in cuda] == ["skipped", "ok", "ok"]


# ---- Python workers ------------------------------------------------------------------------------

WORKER = worker_script(
    """if op == "hello":
    answer["versions"] = {"torch": os.environ["TORCH"]}
"""
)


def test_another_version_of_pytorch_is_refused(tmp_path: Path) -> None:
    """Only the running worker tells it, so it is started before anything is written."""
    root, run = make_root(tmp_path / "project"), tmp_path / "run"
    own_worker(root, WORKER)
    mine = {"engine": "mine", "variants": ["a", "b"], "device": ["cpu"]}
    sweep = write_sweep(tmp_path / "s.json", "null", [mine])
    command = ("run", sweep, "--passes", "1", "--out", run)
    bench(*command, root=root, BENCH_PYTHON=sys.executable, TORCH="1.0")
    lines = (run / "cases.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (run / "cases.jsonl").write_text(lines[0], encoding="utf-8")
    before = files_of(run)
    again = {"root": root, "BENCH_PYTHON": sys.executable}
    done = bench(*command, "--resume", expect=3, TORCH="2.0", **again)
    assert "versions.pytorch: found '2.0', expected '1.0'" in done.stderr
    assert files_of(run) == before
    bench(*command, "--resume", TORCH="1.0", **again)
    assert len(read_lines(run)) == 2
