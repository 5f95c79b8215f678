"""Helpers to run bench: command line, project folder, run folder."""

import fcntl
import functools
import gzip
import json
import os
import shutil
import subprocess
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
BENCH = Path(os.environ.get("BENCH", ROOT / "build" / "bench")).resolve()
# Much longer than any command needs: it only ends tests whose command hangs.
TIMEOUT_S = 240
# Enough for synthetic times and small batches: one pass, rounds of a few samples, a low precision.
QUICK_MEASURE = {
    "passes": 1,
    "precision": 0.2,
    "time_limit_s": 0.3,
    "round_s": 0.002,
    "min_rounds": 2,
    "min_samples": 6,
}
# For the doctor, which takes seconds to import PyTorch and JAX.
NO_PYTHON = {"BENCH_PYTHON": "none", "BENCH_JAX_PYTHON": "none"}
# The minimum, for cases in which a sample is an epoch.
EPOCH_MEASURE = {**QUICK_MEASURE, "time_limit_s": 0.01, "min_rounds": 1, "min_samples": 1}


def wait_until(what: str, condition: Callable[[], object]) -> None:
    """Wait until the condition holds; fail with what was waited for."""
    end_s = time.monotonic() + TIMEOUT_S  # mood: ends a test that hangs
    while not condition():
        assert time.monotonic() < end_s, f"waited {TIMEOUT_S} s for {what}"  # mood: likewise
        time.sleep(0.005)  # mood: as often as it takes


def wait_for_lines(run: Path, n: int) -> None:
    """Wait until a run's journal has that many lines."""
    journal = run / "cases.jsonl"
    wait_until(
        f"{n} lines of {journal}",
        lambda: journal.exists() and journal.read_bytes().count(b"\n") >= n,
    )


def ran(
    *command: object, expect: int | None = 0, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a program, with the options of subprocess.run(); `expect` is its exit code (None: any)."""
    streams = {"text": True, "capture_output": True, "timeout": TIMEOUT_S, "check": False}
    done = subprocess.run([str(word) for word in command], **{**streams, **options})
    if expect is not None:
        assert done.returncode == expect, f"{done.stdout}\n{done.stderr}"
    return done


def bench(
    *arguments: str | Path,
    root: Path = ROOT,
    cwd: Path | None = None,
    expect: int | None = 0,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run bench; `expect` is the expected exit code (None: any)."""
    inherited = {**os.environ, "BENCH_ROOT": str(root), **environment}
    return ran(BENCH, *arguments, cwd=cwd, env=inherited, expect=expect)


def started(
    *arguments: str | Path, root: Path = ROOT, session: bool = False, **environment: str
) -> subprocess.Popen[str]:
    """Start bench; its stderr is a pipe."""
    return subprocess.Popen(
        [str(BENCH), *map(str, arguments)],
        text=True,
        env={**os.environ, "BENCH_ROOT": str(root), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=session,
    )


def report_of(*runs: Path, out: Path, root: Path = ROOT, **environment: str) -> str:
    """Write a report to `out`, with its pages in a folder beside it; return all of it as text."""
    pages = out.parent / f"{out.stem}-pages"
    shutil.rmtree(pages, ignore_errors=True)
    bench("report", *runs, "--out", out, "--pages", pages, root=root, **environment)
    files = [out, *sorted(pages.glob("*/*.md"))]
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def saved_runs() -> list[str]:
    """Return the runs of REPORT.md, as its command names them."""
    text = (ROOT / "REPORT.md").read_text(encoding="utf-8")
    command = text.partition("\n    build/bench report ")[2].partition("\n")[0]
    return [word for word in command.split() if not word.startswith("--")]


def built(name: str) -> Path:
    """Return the program of tests/tools/NAME.c, made beside bench."""
    path = BENCH.parent / name
    with path.with_name("make.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two would write the same files
        subprocess.run(
            ["make", "-s", f"BUILD={BENCH.parent}", str(path)],
            cwd=ROOT,
            check=True,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
    return path


WORKERS = tuple(sorted(path.name for path in ROOT.glob("reference_*")))
PARTS = ("kernels", "sweeps", "plots", *WORKERS, ".venv", ".venv-jax")


def make_root(folder: Path, *, copy: str = "") -> Path:
    """Make a project folder of links to the real one; `copy` names a part that must be writable."""
    folder.mkdir()
    for name in PARTS:
        if name == copy:
            shutil.copytree(ROOT / name, folder / name)
        elif (ROOT / name).exists():
            (folder / name).symlink_to(ROOT / name)
    return folder


def own_worker(root: Path, script: str, engine: str = "mine") -> Path:
    """Give a project a worker of its own; return the worker's folder."""
    folder = root / f"reference_{engine}"
    folder.mkdir()
    (folder / "worker.py").write_text(script, encoding="utf-8")
    return folder


# `change` sees each request and may edit its answer; `first` comes before the first one.
WORKER = """
import json, os, pathlib, sys, time
here = pathlib.Path(__file__).parent
{first}
for line in sys.stdin:
    request = json.loads(line)
    op, answer = request["op"], {"status": "ok", "protocol": 2, "id": request.get("id")}
    if op == "open":
        answer.update(id=request["case"]["id"], phases={"total": "host"})
    if op == "sample":
        answer["phases"] = {"total": [1000] * min(request["max_samples"], 8)}
{change}
    print(json.dumps(answer), flush=True)
    if op == "bye":
        break
"""


def worker_script(change: str, first: str = "") -> str:
    """Return a worker that answers with one phase of 1 µs, but for what is changed."""
    return WORKER.replace("{first}", first).replace("{change}", textwrap.indent(change, "    "))


SEES = """
import json, pathlib, sys
for line in sys.stdin:
    request = json.loads(line)
    hello = {"engine": "sees", "device": {"kind": "cpu", "name": "none"}, "open_keys": ["inputs"]}
    answer = {"status": "ok", "protocol": 2, **hello}
    if request["op"] == "open":
        pathlib.Path(__file__).with_name("seen.json").write_text(json.dumps(request["operator"]))
        answer = {"status": "failed", "id": request["case"]["id"], "reason": "it only sees"}
    print(json.dumps(answer), flush=True)
    if request["op"] == "bye":
        break
"""


def described(folder: Path, workload: str, *settings: str) -> dict[str, Any]:
    """Return the key `operator` of the request `open` for a case of a described workload."""
    root = make_root(folder / "described")
    seen = own_worker(root, SEES, "sees") / "seen.json"
    options = ["--engine", "sees", "--variant", "v", "--set", "device=cpu"]
    for setting in settings:
        options += ["--set", setting]
    bench("run", "--workload", workload, *options, "--out", folder / "seen", root=root, expect=1)
    return json.loads(seen.read_text("utf-8"))


def make_root_without_images(factory: pytest.TempPathFactory) -> Path:
    """Make a project folder without MNIST: only the synthetic set is available."""
    top = factory.mktemp("without") / "inside"
    top.mkdir()
    return make_root(top / "project")


def write_sweep(path: Path, workload: str, contenders: list[dict[str, Any]], **keys: Any) -> Path:
    sweep = {
        "schema": 1,
        "name": path.stem,
        "workload": workload,
        "contenders": contenders,
        "measure": QUICK_MEASURE,
        **keys,
    }
    path.write_text(json.dumps(sweep), encoding="utf-8")
    return path


def null_sweep(path: Path, variants: list[str], work_ns: list[int]) -> Path:
    return write_sweep(
        path, "null", [{"engine": "null", "variants": variants}], axes={"work_ns": work_ns}
    )


def rename_gpu(run: Path, name: str) -> None:
    """Make a run look as if it was measured on another GPU."""
    header = read_header(run)
    gpu = header["environment"].setdefault("gpu", {})
    before, gpu["name"] = gpu.get("name", "NVIDIA H200"), name
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    for journal in run.glob("cases.jsonl*"):
        packed = journal.suffix == ".gz"
        data = gzip.decompress(journal.read_bytes()) if packed else journal.read_bytes()
        data = data.replace(json.dumps(before).encode(), json.dumps(name).encode())
        journal.write_bytes(gzip.compress(data) if packed else data)


def read_lines(run: Path) -> list[dict[str, Any]]:
    """Return the lines of a run's journal, in order."""
    text = (run / "cases.jsonl").read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def read_passes(run: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the lines of a run by id and pass; each may occur only once."""
    lines = read_lines(run)
    passes = {(line["id"], line["pass"]): line for line in lines}
    assert len(passes) == len(lines), "a pass of a case was run twice"
    return passes


def read_cases(run: Path) -> dict[str, dict[str, Any]]:
    """Return the cases of a run of one pass by id; each may occur only once."""
    lines = read_lines(run)
    cases = {line["id"]: line for line in lines}
    assert len(cases) == len(lines), "a case was run twice"
    return cases


def read_header(run: Path) -> dict[str, Any]:
    return json.loads((run / "run.json").read_text(encoding="utf-8"))


@functools.cache
def compiler_options() -> list[str]:
    """Return the options that select an available compiler."""
    done = bench("doctor", "--json", expect=None, **NO_PYTHON)
    found = {item["what"]: item["found"] for item in json.loads(done.stdout)}
    for what, name in (("NVRTC", "nvrtc"), ("nvcc", "nvcc")):
        if found[what]:
            return ["--compiler", name]
    pytest.skip("neither NVRTC nor nvcc is installed")
