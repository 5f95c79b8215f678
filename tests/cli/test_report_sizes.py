"""Thousands of sizes are reported in time that grows as they do; `make report-cost` prints it."""

from pathlib import Path

from project import report_of
from report_cost import plant

N_SIZES = 10_000  # with a step that takes their cube it would not end in TIMEOUT_S


def test_thousands_of_sizes_are_reported(tmp_path: Path) -> None:
    """Of two boots: each case is looked up in the other."""
    runs = [plant(tmp_path / name, N_SIZES, boot) for boot, name in enumerate(("run", "boot"))]
    text = report_of(*runs, out=tmp_path / "REPORT.md")
    assert f"at all {N_SIZES} sizes compared ours has the lower time" in text
    assert ", 2 starts.\n" in text
