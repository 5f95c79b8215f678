"""The rungs in `tests/cheats/rungs/`, and the workloads of cheats beside it that have rungs."""

from pathlib import Path

from project import ROOT

CHEATS = ROOT / "tests" / "cheats" / "rungs"
OPERATOR = ROOT / "tests" / "cheats" / "row_shares"
NORMS = ROOT / "tests" / "cheats" / "row_l2"
TURNS = ROOT / "tests" / "cheats" / "turns"


def verdict_of(file: Path) -> str:
    """Return the verdict in the first line of a rung."""
    return file.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("// Verdict ")
