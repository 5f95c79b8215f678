"""What C computes several times as fast as NumPy: the project's random numbers.

`make` builds the library from `bench/base/rng.c`. Where it is missing, NumPy computes the same bits.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

_ROOT = Path(__file__).resolve().parents[1]
# In a checkout, and beside PREFIX/share/bench.
_PLACES = (_ROOT / "build", _ROOT.parent.parent / "lib" / "bench")


class Position(NamedTuple):
    """An element of a stream: `rng_position_t`."""

    seed: int
    stream: int
    first: int


class _Position(ctypes.Structure):
    _fields_ = (
        ("seed", ctypes.c_uint64),
        ("stream", ctypes.c_uint32),
        ("first", ctypes.c_uint64),
    )


def _load() -> Any:
    """Return the function in C; None without the library."""
    for place in _PLACES:
        with suppress(OSError, AttributeError):
            function = ctypes.CDLL(str(place / "libinputs.so")).rng_words
            function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, _Position)
            function.restype = None
            return function
    return None


_words = _load()


def words(into: npt.NDArray[np.uint32], at: Position) -> bool:
    """Fill a contiguous array with the words from a position on; False: there is no library."""
    if _words is None:
        return False
    _words(into.ctypes.data, into.size, _Position(*at))
    return True
