"""What takes a GPU is not begun without one, and told in one line."""

from __future__ import annotations

import pytest

WITHOUT = pytest.StashKey[dict[str, int]]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests marked `gpu` that give a reason why there is none."""
    left_out: dict[str, int] = {}
    kept, others = [], []
    for item in items:
        reason = next((m.args[0] for m in item.iter_markers("gpu") if m.args[0]), None)
        (others if reason else kept).append(item)
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
    items[:] = kept
    config.hook.pytest_deselected(items=others)
    config.stash[WITHOUT] = left_out


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out = terminalreporter.config.stash.get(WITHOUT, {})
    if left_out:
        n, why = sum(left_out.values()), "; ".join(left_out)
        terminalreporter.write_line(f"{n} tests need a GPU, for make check-gpu: {why}")
