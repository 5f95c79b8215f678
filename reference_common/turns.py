"""Processes that compile side by side, and use the GPU for their choices one at a time.

`bench run` names a file in `BENCH_TUNES_IN_TURNS` for workers whose cases it only has compiled
(`bench/run/passes.c`); without it there is nobody to wait for.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_VARIABLE = "BENCH_TUNES_IN_TURNS"
_has_turn = False


def are_taken() -> bool:
    """Return whether there are others."""
    return _VARIABLE in os.environ


@contextmanager
def alone() -> Iterator[None]:
    """Wait until no other process is in here."""
    global _has_turn
    if _has_turn or not are_taken():
        yield
        return
    with open(os.environ[_VARIABLE], "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _has_turn = True
        try:
            yield
        finally:
            _has_turn = False


def in_turn(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function, called when no other process is in one."""

    @wraps(function)
    def called(*args: P.args, **keys: P.kwargs) -> R:
        with alone():
            return function(*args, **keys)

    return called
