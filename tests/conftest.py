"""Deselects tests that need a GPU if there is none, and long ones without $CHECK_LONG; says so."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

LONG = "long"
DESELECTED = pytest.StashKey[dict[str, int]]()
# For make check-slurm, as they take minutes and start daemons.
collect_ignore = [] if os.environ.get("CHECK_SLURM") else ["slurm"]
# For the workers of all tests, and PyTorch in this process: tests compute little, and several
# threads spin at barriers, for seconds on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_configure(config: pytest.Config) -> None:
    """Undo nohup, under which the programs of the tests would ignore SIGHUP, too."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    # pytest-xdist would begin with the files of most tests, and end with long ones of few.
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests whose `gpu` mark has a reason why there is no GPU."""
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
