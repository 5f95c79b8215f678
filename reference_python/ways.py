"""The ways to run a file NAME.py, as variants: NAME, NAME+graph, NAME+compile.

bench/workloads/registry.c has which of them a run takes by itself.
"""

from __future__ import annotations

from typing import Any

GRAPH, COMPILE = "+graph", "+compile"


class Ways(tuple[str, ...]):
    """Names of files; a variant is one of them, or one with a way to run it behind."""

    __slots__ = ()

    def __contains__(self, variant: Any) -> bool:
        return tuple.__contains__(self, self.split(variant)[0])

    def split(self, variant: str) -> tuple[str, str]:
        """Return a variant's file and way, "": as the file is. A file's own name comes first."""
        for way in (GRAPH, COMPILE):
            if variant.endswith(way) and not tuple.__contains__(self, variant):
                return variant.removesuffix(way), way
        return variant, ""
