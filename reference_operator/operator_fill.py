"""Inputs of operators, filled by PyTorch on a device: bit for bit those of `operator_data.py`.

Every operation is one of PyTorch's by itself, so that nothing is fused. Integers are int64: their
products wrap as those of 64 bits without sign do, of which the lower half of the bits, and after a
mask the upper half, are right.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

import operator_data
from operator_data import Fill

# Elements at a time, whose intermediate results take about a hundred times as many bytes.
CHUNK = 1 << 20
_MASK = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)
# Rounded as IEEE 754 says on GPUs. On a CPU, PyTorch may call MKL's, which is not.
root = torch.sqrt
_BOUNDS = {
    torch.int32: operator_data.BOUNDS["i32"],
    torch.int64: operator_data.BOUNDS["i64"],
    torch.uint8: operator_data.BOUNDS["u8"],
    torch.int8: operator_data.BOUNDS["i8"],
}


# PyTorch rounds what is larger to NaN or infinity, bench/base/half.c and CUDA to these.
_LARGEST = {torch.float8_e4m3fn: 448, torch.float8_e5m2: 57344}


def fill_by(
    device: torch.device, to: Tensor, fill: Fill, key: int, number: int, chunk: int = CHUNK
) -> None:
    """Fill `to`, contiguous and anywhere, with input `number` under a key, computed on a device."""
    flat = to.view(-1)
    stream = operator_data.STREAM + number
    if fill.kind == "permutation":
        words = torch.empty(len(flat), dtype=torch.int64, device=device)
        for first in range(0, len(flat), chunk):
            part = words[first : first + chunk]
            part.copy_(_words(key, stream, first, len(part), device))
        flat.copy_(_rounded(torch.sort(words, stable=True).indices.double(), to.dtype))
        return
    for first in range(0, len(flat), chunk):
        part = flat[first : first + chunk]
        words = _words(key, stream, first, len(part), device)
        part.copy_(_rounded(_drawn(fill, words), to.dtype))


def _words(key: int, stream: int, first: int, count: int, device: torch.device) -> Tensor:
    """Return the words of a stream from `first` on, which is a block's first: `philox.words`."""
    assert first % 4 == 0, "a chunk begins within a block"
    block = torch.arange(first // 4, (first + count + 3) // 4, device=device)
    c0, c1 = block & _MASK, block >> 32
    c2, c3 = torch.full_like(block, stream), torch.zeros_like(block)
    k0, k1 = key & _MASK, key >> 32
    for _ in range(10):
        p0, p1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0 = (p1 >> 32 & _MASK) ^ c1 ^ k0
        c2 = (p0 >> 32 & _MASK) ^ c3 ^ k1
        c1, c3 = p1 & _MASK, p0 & _MASK
        k0, k1 = (k0 + _WEYL[0]) & _MASK, (k1 + _WEYL[1]) & _MASK
    return torch.stack((c0, c1, c2, c3), 1).view(-1)[:count]


def _drawn(fill: Fill, words: Tensor) -> Tensor:
    if fill.kind == "uniform":
        low, high = np.float32(fill.low), np.float32(fill.high)
        unit = (words >> 8).float().mul_(2.0**-24)
        return unit.mul_(float(high - low)).add_(float(low)).double()
    if fill.kind == "normal":
        return _normal(words).mul_(fill.high).add_(fill.low)
    if fill.kind == "integers":
        return (words * int(fill.high - fill.low) >> 32 & _MASK).double().add_(fill.low)
    raise ValueError(f"fill: unknown kind {fill.kind}")


def _normal(words: Tensor) -> Tensor:
    p = words.double().add_(0.5).mul_(2.0**-32)
    q = p - 0.5
    r = 0.180625 - q * q
    values = _polynomial(operator_data.CENTRE_ABOVE, r).mul_(q)
    values.div_(_polynomial(operator_data.CENTRE_BELOW, r))
    tail = q.abs() > 0.425
    p, q = p[tail], q[tail]
    r = root(-_natural_log(torch.where(q < 0, p, 1 - p))).sub_(1.6)
    size = _polynomial(operator_data.TAIL_ABOVE, r).div_(_polynomial(operator_data.TAIL_BELOW, r))
    values[tail] = torch.where(q < 0, -size, size)
    return values


def _polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    total = torch.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total.mul_(x).add_(coefficient)
    return total


def _natural_log(x: Tensor) -> Tensor:
    bits = x.view(torch.int64)
    exponent = (bits >> 52) - 1022
    mantissa = (bits & (1 << 52) - 1 | 1022 << 52).view(torch.float64)  # in [1/2, 1)
    small = mantissa < operator_data.ROOT_HALF
    mantissa = torch.where(small, mantissa * 2, mantissa)
    exponent = exponent - small.long()
    s = (mantissa - 1) / (mantissa + 1)
    series = _polynomial(operator_data.LOG_SERIES, s * s)
    return exponent.double() * operator_data.LOG_2 + 2 * s * series


def _rounded(values: Tensor, dtype: torch.dtype) -> Tensor:
    """Round float64 to an element type: integers to the nearest within its range."""
    if dtype == torch.bool:
        return values != 0
    if dtype in _LARGEST:
        return values.float().clamp(-_LARGEST[dtype], _LARGEST[dtype]).to(dtype)
    if dtype.is_floating_point:
        return values if dtype == torch.float64 else values.float().to(dtype)
    least, most = _BOUNDS[dtype]
    return values.round().clamp(least, most).to(dtype)
