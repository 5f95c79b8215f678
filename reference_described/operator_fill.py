"""Inputs of described workloads, filled on a GPU: by the program that fills those of rungs.

It is `kernels/common/refill.cu`, compiled for this GPU; its bits are those of the files that a
worker on the CPU gets.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from operator_data import STORED
from operator_request import DTYPES, Fill

_MASK = 0xFFFFFFFFFFFFFFFF
# LAUNCH of refill.cu.
THREADS, ELEMENTS = 256, 1024
KINDS = ("uniform", "normal", "integers")
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class FillArgument(ctypes.Structure):
    """`fill_t` of `bench/workloads/described/fill.h`."""

    _fields_ = [
        ("kind", ctypes.c_uint32),
        *((name, ctypes.c_double) for name in ("low", "high", "times", "of_low", "of_high")),
        ("of_kind", ctypes.c_uint32),
        ("of", ctypes.c_uint32),
    ]


def arguments_of(
    at: int, n: int, key: int, number: int, dtype: str, fill: Fill, differs: int = 0
) -> list[Any]:
    """Return those of the program for `n` elements of input `number`.

    `differs`: the address of a word to set if what is there differs; 0: fill.
    """
    kind, of_kind = KINDS.index(fill.kind), KINDS.index(fill.of_kind)
    return [
        ctypes.c_uint64(at),
        ctypes.c_uint64(n),
        ctypes.c_uint64(key),
        ctypes.c_uint32(number),
        ctypes.c_uint32(DTYPES.index(dtype)),
        FillArgument(
            kind, fill.low, fill.high, fill.times, fill.of_low, fill.of_high, of_kind, fill.of
        ),
        ctypes.c_uint64(differs),
    ]


def fill_key(seed: int, refill: int) -> int:
    """Return the generator's key for a refill: `fill_key` of `bench/workloads/described/fill.h`."""
    bits = ((seed ^ refill) + 0x9E3779B97F4A7C15) & _MASK
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB & _MASK
    return bits ^ bits >> 31


class Filler:
    """The program, loaded into the process's context on a GPU."""

    def __init__(self, cubin: str) -> None:
        torch.cuda.synchronize()  # makes the context current
        self._cuda = ctypes.CDLL("libcuda.so.1")
        module, self._kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoad", ctypes.byref(module), cubin.encode())
        self._call("cuModuleGetFunction", ctypes.byref(self._kernel), module, b"refill")

    def draw(self, shape: Sequence[int], dtype: str, fill: Fill, key: int, number: int) -> Tensor:
        """Return input number `number` under a key, as bits in a new tensor on the GPU."""
        values = torch.empty(shape, dtype=_BITS[STORED[dtype].itemsize], device="cuda")
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        arguments = arguments_of(values.data_ptr(), values.numel(), key, number, dtype, fill)
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        if blocks := -(-values.numel() // ELEMENTS):
            grid, block = (blocks, 1, 1), (THREADS, 1, 1)
            self._call("cuLaunchKernel", self._kernel, *grid, *block, 0, stream, pointers, None)
        return values

    def _call(self, name: str, *arguments: object) -> None:
        status = getattr(self._cuda, name)(*arguments)
        if status != 0:
            torch.cuda.synchronize()  # of a lost device this says so
            raise RuntimeError(f"{name}: error {status} of the CUDA driver")
