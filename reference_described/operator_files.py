"""The Python files in a workload's folder."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import precision
import user_file
from operator_request import Operator

REFERENCE = "reference"


# By module: the switches that a file has changed as it was imported, or in its `setup`.
_changed: dict[str, list[str]] = {}


def load(operator: Operator, stem: str) -> ModuleType:
    """Import a file of the operator's folder; what it does to switches is taken back and noted.

    Called again before a function of the file is used, it does so for the file's `setup`, too.
    """
    module = user_file.load(Path(operator.folder), stem, operator.hash)
    if found := precision.restore():
        _changed.setdefault(module.__name__, []).extend(found)
    return module


def results_of(operator: Operator, stem: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return what a file's `results` says of its cases, {} without one."""
    module = load(operator, stem)
    results = getattr(module, "results", None)
    found = {} if results is None else dict(results(**state))
    if changed := _changed.get(module.__name__):
        note = f"switches: {stem}.py sets {', '.join(changed)}; it runs without, as all do"
        found["notes"] = [*found.get("notes", []), note]
    return found
