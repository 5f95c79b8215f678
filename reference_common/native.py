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


def _load() -> dict[str, Any]:
    """Return the functions by their names in C; none without the library, or with another one."""
    size, pointer, real = ctypes.c_size_t, ctypes.c_void_p, ctypes.c_float
    signatures = {
        "rng_words": (pointer, size, _Position),
        "rng_fill_uniform": (pointer, size, _Position, real, real),
    }
    for place in _PLACES:
        with suppress(OSError, AttributeError):
            library = ctypes.CDLL(str(place / "libinputs.so"))
            functions = {name: getattr(library, name) for name in signatures}
            for name, types in signatures.items():
                functions[name].argtypes = types
                functions[name].restype = None
            return functions
    return {}


_found = _load()
_words, _uniform = (_found.get(name) for name in ("rng_words", "rng_fill_uniform"))


def words(into: npt.NDArray[np.uint32], at: Position) -> bool:
    """Fill a contiguous array with the words from a position on; False: there is no library."""
    if _words is None:
        return False
    _words(into.ctypes.data, into.size, _Position(*at))
    return True


def uniform(into: npt.NDArray[np.float32], at: Position, low: float, high: float) -> bool:
    """Do so with uniform numbers: `philox.fill_uniform`."""
    if _uniform is None:
        return False
    _uniform(into.ctypes.data, into.size, _Position(*at), low, high)
    return True
