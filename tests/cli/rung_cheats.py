"""The rungs in `tests/cheats/rungs/`, and the operators in `tests/cheats/row_shares/` and `row_l2/`."""

from pathlib import Path

from project import ROOT

CHEATS = ROOT / "tests" / "cheats" / "rungs"
OPERATOR = ROOT / "tests" / "cheats" / "row_shares"
NORMS = ROOT / "tests" / "cheats" / "row_l2"


def verdict_of(file: Path) -> str:
    """Return the verdict in the first line of a rung."""
    return file.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("// Verdict ")
