"""The rungs in `tests/cheats/rungs/`."""

from __future__ import annotations

from pathlib import Path

from project import ROOT

CHEATS = ROOT / "tests" / "cheats" / "rungs"


def verdict_of(file: Path) -> str:
    """Return the verdict in the first line of a rung."""
    return file.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("// Verdict ")
