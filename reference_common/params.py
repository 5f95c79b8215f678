"""Checks of a case's parameters by a table, with uniform error messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from protocol import CaseSpec
from workload import CaseError


class Check(NamedTuple):
    """What a parameter must be, in words and as a test."""

    expected: str
    fits: Callable[[Any], bool]


def integer(least: int, most: int) -> Check:
    """Expect an integer of at least `least` and at most `most`."""

    def fits(value: Any) -> bool:
        # In Python, bool is a subclass of int.
        return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most

    return Check(f"an integer {least}…{most}", fits)


def checked(spec: CaseSpec, checks: Mapping[str, Check]) -> dict[str, Any]:
    """Return a case's parameters; raise `CaseError` for a bad one."""
    for name in spec.params:
        if name not in checks:
            raise CaseError(f"params.{name}: unknown; known: {', '.join(checks)}")
    kept = {}
    for name, check in checks.items():
        value = spec.params.get(name)
        if not check.fits(value):
            raise CaseError(f"params.{name}: expected {check.expected}, found {value!r}")
        kept[name] = value
    return kept
