"""The Python files in an operator's folder."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import user_file
from operator_request import Operator

REFERENCE = "reference"


def load(operator: Operator, stem: str) -> ModuleType:
    """Import a file of the operator's folder."""
    return user_file.load(Path(operator.folder), stem, operator.hash)


def results_of(operator: Operator, stem: str, state: dict[str, Any]) -> dict[str, Any]:
    """Return what a file's `results` says of its cases, {} without one."""
    results = getattr(load(operator, stem), "results", None)
    return {} if results is None else dict(results(**state))
