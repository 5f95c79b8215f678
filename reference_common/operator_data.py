"""Inputs of described workloads, bit for bit those of `bench/workloads/described/fill.h`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import native
import philox
from host_memory import expect_room
from operator_request import Array as ArraySpec
from operator_request import Fill
from workload import CaseError

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]

STREAM = 64

# NumPy has no bfloat16 and no FP8: these are their bits. No array of a workload has 16-bit integers.
# torch.from_numpy(array).view(torch.bfloat16)
BFLOAT16 = np.dtype(np.uint16)
FP8 = np.dtype(np.uint8)
STORED = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": BFLOAT16,
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "e4m3": FP8,
    "e5m2": FP8,
}
# Fills that a refill does not draw; what a function makes is made again.
STAYING = ("constant", "function")
# For i64, up to the largest float64 below 2^63.
BOUNDS = {
    "i32": (-(2.0**31), 2.0**31 - 1),
    "i64": (-(2.0**63), 2.0**63 - 1024),
    "u8": (0.0, 255.0),
    "i8": (-128.0, 127.0),
}


class OperatorInputs:
    """The inputs of a case in host memory, made from the seed, in the description's order."""

    refilled = ("arrays",)
    """What a refill changes."""

    def __init__(self, specs: Sequence[ArraySpec], seed: int, made: Path | None = None) -> None:
        """`made`: has the files of those that a function makes, SEED/NAME for a refill's seed."""
        self.made = made
        self.specs = [spec for spec in specs if spec.is_input]
        self.seed = seed
        for spec in self.specs:
            if spec.fill is None:
                raise CaseError(f"operator: input {spec.name} has no fill")
        expect_room(sum(math.prod(s.shape) * STORED[s.dtype].itemsize for s in self.specs))
        self.arrays = [filled(spec, seed, number) for number, spec in enumerate(self.specs)]
        self._take_made(0)

    def refill(self, _before: int, after: int) -> None:
        """Give the inputs the values of the refill seed `after`, in place."""
        key = fill_key(self.seed, after)
        for number, (spec, array) in enumerate(zip(self.specs, self.arrays, strict=True)):
            if spec.fill is not None and spec.fill.kind not in STAYING:
                self._fill(spec, key, number, array)
        self._take_made(after)

    def _take_made(self, refill: int) -> None:
        """Give the inputs that a function makes the values of a refill's seed."""
        for spec, array in zip(self.specs, self.arrays, strict=True):
            if spec.fill is None or spec.fill.kind != "function":
                continue
            if self.made is None:
                raise CaseError(f"{spec.name}: a function makes it, and no file was handed over")
            bits = array.reshape(-1).view(np.uint8)
            bits[:] = np.memmap(
                self.made / str(refill) / spec.name, np.uint8, "r", shape=bits.shape
            )

    def _fill(self, spec: ArraySpec, key: int, number: int, array: Array) -> None:
        """Fill input `number` under this key."""
        fill_array(array, spec, key, number)


def fill_key(seed: int, refill: int) -> int:
    """Return the generator's key for a case's inputs of a refill seed; 0: as opened."""
    return seed if refill == 0 else philox.mix(seed ^ refill)


def filled(spec: ArraySpec, seed: int, number: int) -> Array:
    """Return input `number` of a case."""
    array = np.empty(spec.shape, STORED[spec.dtype])
    fill_array(array, spec, seed, number)
    return array


def fill_array(array: Array, spec: ArraySpec, seed: int, number: int) -> None:
    """Fill the contiguous array of input `number` of a case."""
    fill = spec.fill
    assert fill is not None
    if fill.kind == "function":  # the caller's
        return
    flat = array.reshape(-1)
    stream = STREAM + number
    keys = _sorted_keys(flat.size, seed, stream) if fill.kind == "permutation" else None

    def draw(first: int, count: int) -> None:
        part = flat[first : first + count]
        if keys is not None:
            values = (keys[first : first + count] & np.uint64(0xFFFFFFFF)).astype(np.float64)
        elif native.fill(part, spec.dtype, fill, native.Position(seed, stream, first)):
            return
        else:
            values = _drawn(fill, count, seed, stream, first)
        part[:] = _rounded(values, spec.dtype)

    philox.in_chunks(flat.size, draw)


def written(array: Array, dtype: str) -> Array:
    """Return an output as `.npy` files may have it (`bench/io/npy.c`)."""
    floats = dict.fromkeys(("bf16", "e4m3", "e5m2"), np.float32)
    to = {**floats, **dict.fromkeys(("u8", "bool", "i8"), np.int32)}.get(dtype, array.dtype)
    return np.ascontiguousarray(array.astype(to, copy=False))


def widened(array: Array) -> Array:
    """Return floats as float64, exactly; others as they are."""
    if array.dtype == BFLOAT16:
        array = (array.astype(np.uint32) << 16).view(np.float32)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def _drawn(fill: Fill, count: int, seed: int, stream: int, first: int) -> Doubles:
    if fill.kind == "constant":
        return np.full(count, fill.low)
    if fill.kind == "uniform":
        uniform = np.empty(count, np.float32)
        philox.fill_uniform(uniform, seed, stream, fill.low, fill.high, first)
        return uniform.astype(np.float64)
    words = philox.words(seed, stream, first, count)
    if fill.kind == "normal":
        return fill.low + fill.high * normal(words)
    if fill.kind == "integers":
        scaled = words.astype(np.uint64) * np.uint64(fill.high - fill.low) >> np.uint64(32)
        return fill.low + scaled.astype(np.float64)
    raise ValueError(f"fill: unknown kind {fill.kind}")


def _sorted_keys(n: int, seed: int, stream: int) -> npt.NDArray[np.uint64]:
    """Return word · 2^32 + number of each element, in order."""
    keys = np.empty(n, np.uint64)

    def draw(first: int, count: int) -> None:
        part = keys[first : first + count]
        part[:] = philox.words(seed, stream, first, count)
        part <<= np.uint64(32)
        part += np.arange(first, first + count, dtype=np.uint64)

    philox.in_chunks(n, draw)
    keys.sort()
    return keys


def _rounded(values: Doubles, dtype: str) -> Array:
    """Round to an element type: integers to the nearest within its range."""
    if dtype == "f64":
        return values
    if dtype == "bool":
        return values != 0
    if dtype in BOUNDS:
        return np.clip(np.rint(values), *BOUNDS[dtype]).astype(STORED[dtype])
    with np.errstate(over="ignore"):
        singles = values.astype(np.float32)
        if dtype in _FP8_FORMATS:
            return _fp8_bits(singles, *_FP8_FORMATS[dtype])
        if dtype != "bf16":
            return singles.astype(STORED[dtype])
    bits = singles.view(np.uint32)
    last = bits >> np.uint32(16) & np.uint32(1)
    return (bits + np.uint32(0x7FFF) + last >> np.uint32(16)).astype(BFLOAT16)


# Bits of the mantissa, bias of the exponent, and the largest number (bench/base/half.c).
_FP8_FORMATS = {"e4m3": (3, 7, 0x7E), "e5m2": (2, 15, 0x7B)}


def _fp8_bits(values: npt.NDArray[np.float32], mantissa: int, bias: int, largest: int) -> Array:
    dropped, rebias = 23 - mantissa, (127 - bias) << 23
    bits = values.view(np.uint32)
    magnitude = (bits & np.uint32(0x7FFFFFFF)).astype(np.int64)
    normal = magnitude - rebias + (1 << dropped - 1) - 1 + (magnitude >> dropped & 1) >> dropped
    subnormal = np.rint(np.abs(values) * np.float32(2.0 ** (bias - 1 + mantissa)))
    is_normal = magnitude >= rebias + (1 << 23)
    rounded = np.where(is_normal, normal, np.where(is_normal, 0, subnormal).astype(np.int64))
    return (bits >> np.uint32(24) & np.uint32(0x80) | np.minimum(rounded, largest)).astype(FP8)


# ---- normal numbers: fill.c has the source of the constants and the reason for each step ----------

CENTRE_ABOVE = (
    3.3871328727963666080e0,
    1.3314166789178437745e2,
    1.9715909503065514427e3,
    1.3731693765509461125e4,
    4.5921953931549871457e4,
    6.7265770927008700853e4,
    3.3430575583588128105e4,
    2.5090809287301226727e3,
)
CENTRE_BELOW = (
    1.0,
    4.2313330701600911252e1,
    6.8718700749205790830e2,
    5.3941960214247511077e3,
    2.1213794301586595867e4,
    3.9307895800092710610e4,
    2.8729085735721942674e4,
    5.2264952788528545610e3,
)
TAIL_ABOVE = (
    1.42343711074968357734e0,
    4.63033784615654529590e0,
    5.76949722146069140550e0,
    3.64784832476320460504e0,
    1.27045825245236838258e0,
    2.41780725177450611770e-1,
    2.27238449892691845833e-2,
    7.74545014278341407640e-4,
)
TAIL_BELOW = (
    1.0,
    2.05319162663775882187e0,
    1.67638483018380384940e0,
    6.89767334985100004550e-1,
    1.48103976427480074590e-1,
    1.51986665636164571966e-2,
    5.47593808499534494600e-4,
    1.05075007164441684324e-9,
)
LOG_SERIES = tuple(1.0 / k for k in range(1, 20, 2))
LOG_2 = 0.693147180559945309417
ROOT_HALF = 0.707106781186547524401


def normal(words: npt.NDArray[np.uint32]) -> Doubles:
    """Return the standard normal distribution's quantiles at (word + 0.5) · 2^-32."""
    p = (words.astype(np.float64) + 0.5) * 2.0**-32
    q = p - 0.5
    r = 0.180625 - q * q
    values = _polynomial(CENTRE_ABOVE, r) * q / _polynomial(CENTRE_BELOW, r)
    tail = np.abs(q) > 0.425
    p, q = p[tail], q[tail]
    r = np.sqrt(-_natural_log(np.where(q < 0, p, 1 - p))) - 1.6
    size = _polynomial(TAIL_ABOVE, r) / _polynomial(TAIL_BELOW, r)
    values[tail] = np.where(q < 0, -size, size)
    return values


def _polynomial(coefficients: Sequence[float], x: Doubles) -> Doubles:
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= x
        total += coefficient
    return total


def _natural_log(x: Doubles) -> Doubles:
    mantissa, exponent = np.frexp(x)
    small = mantissa < ROOT_HALF
    mantissa = np.where(small, mantissa * 2, mantissa)
    exponent = exponent - small
    s = (mantissa - 1) / (mantissa + 1)
    return exponent * LOG_2 + 2 * s * _polynomial(LOG_SERIES, s * s)
