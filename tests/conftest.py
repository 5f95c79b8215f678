"""Deselects tests that need a GPU if there is none, and long ones without $CHECK_LONG; says so.

Has the fixtures for a Python that has imported PyTorch.
"""

import gc
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LONG = "long"
# The files that take longest come first: at the end, no process waits for one of them.
SLOWEST = (
    *("jax_worker", "jax_runs", "against", "operator_kernels"),
    *("operator_cuda", "operator_training", "operator_inputs", "refill", "cheats"),
    *("report", "probes", "hostile_results", "faults"),
    *("lock_clocks", "shard", "resume", "pytorch_refill", "devices"),
    *("operator_emulate", "compare", "pytorch_operator", "pytorch_operator_bad"),
)
DESELECTED = pytest.StashKey[dict[str, int]]()
# For make check-slurm, as they take minutes and start daemons.
collect_ignore = [] if os.environ.get("CHECK_SLURM") else ["slurm"]
# For the workers of all tests, and PyTorch in this process: tests compute little, and several
# threads spin at barriers, for seconds on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# torch.compile builds and runs three programs in each process to try them, which takes seconds.
os.environ.setdefault("TORCHINDUCTOR_VEC_ISA_OK", "0")  # no vector instructions
# However busy the machine is, its programs find it idle (docs/testing.md).
os.environ["BENCH_BUSY"] = "0 0.00 0.00 0.00 1/1 1"


def pytest_configure(config: pytest.Config) -> None:
    """Undo nohup, under which the programs of the tests would ignore SIGHUP, too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # pytest-xdist would begin with the files of most tests, and end with long ones of few.
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the slowest files first; deselect long tests, and those of a GPU where there is none."""
    places = {f"test_{name}": place for place, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(places)))
    deselected: dict[str, int] = {}
    kept, others = [], []
    for item in items:
        reason = next((m.args[0] for m in item.iter_markers("gpu") if m.args[0]), None)
        if item.get_closest_marker("long") and not os.environ.get("CHECK_LONG"):
            reason = LONG
        (others if reason else kept).append(item)
        if reason:
            deselected[reason] = deselected.get(reason, 0) + 1
    items[:] = kept
    config.hook.pytest_deselected(items=others)
    config.stash[DESELECTED] = deselected


def pytest_collection_finish() -> None:
    """Spare the garbage collector thousands of tests, which stay."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts to the process that prints, if this is one of pytest-xdist's workers."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["deselected"] = session.config.stash[DESELECTED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Keep the counts of a worker of pytest-xdist; every worker collects all tests."""
    if counts := getattr(node, "workeroutput", {}).get("deselected"):
        node.config.stash[DESELECTED] = counts


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    deselected = terminalreporter.config.stash.get(DESELECTED, {})
    if n_long := deselected.pop(LONG, 0):
        terminalreporter.write_line(f"{n_long} long tests are left to make check-long")
    if deselected:
        n, why = sum(deselected.values()), "; ".join(deselected)
        terminalreporter.write_line(f"{n} tests need a GPU, for make check-gpu: {why}")


# ---- a Python that has imported PyTorch ------------------------------------------------------------

WARM_PYTHON = Path(__file__).with_name("warm_python.py")


@pytest.fixture(scope="session")
def python_with_torch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a Python that has imported PyTorch, or this one if it has none."""
    if importlib.util.find_spec("torch") is None:
        yield Path(sys.executable)
        return
    folder = tmp_path_factory.mktemp("warm")
    program = folder / "python3"
    program.write_text(f"#!{sys.executable} -IS\n{WARM_PYTHON.read_text('utf-8')}", "utf-8")
    program.chmod(0o755)
    command = [sys.executable, str(WARM_PYTHON), "--serve", str(folder), "numpy", "torch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout.readline() == b"ready\n"
        yield program


@pytest.fixture(scope="module")
def warm_workers(python_with_torch: Path) -> Iterator[None]:
    """Have bench start its workers of PyTorch in such a Python."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BENCH_PYTHON", str(python_with_torch))
        yield
