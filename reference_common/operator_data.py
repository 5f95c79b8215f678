"""Inputs of described workloads in host memory, and outputs as files have them."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from host_memory import expect_room
from input_files import InputFiles
from operator_request import Array as ArraySpec
from workload import CaseError

Array = npt.NDArray[Any]

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


class OperatorInputs:
    """The inputs of a case in host memory, as files have them, in the description's order."""

    refilled = True
    _as_opened: list[Array]
    """Of what `own` returns."""

    def __init__(self, specs: Sequence[ArraySpec], files: InputFiles | None) -> None:
        if files is None:
            raise CaseError("inputs: missing: a described workload reads them from files")
        self.files = files
        self.specs = [spec for spec in specs if spec.is_input]
        for spec in self.specs:
            if spec.fill is None:
                raise CaseError(f"operator: input {spec.name} has no fill")
        expect_room(sum(math.prod(s.shape) * STORED[s.dtype].itemsize for s in self.specs))
        self.arrays = [files.read(s.name, s.shape, STORED[s.dtype]) for s in self.specs]

    def own(self) -> OperatorInputs:
        """Return a copy that a refill may change."""
        own = copy.copy(self)
        own._as_opened = self.arrays
        own.arrays = [
            array if spec.is_fixed else array.copy()
            for spec, array in zip(self.specs, self.arrays, strict=True)
        ]
        return own

    def refill(self, seed: int, left: Mapping[str, Array] | None = None) -> None:
        """Give the inputs the values of a refill's seed, in place; constants and data are as opened.

        Arrays in place have those of the outputs that a run has `left`, as `written` has them.
        """
        for number, (spec, array) in enumerate(zip(self.specs, self.arrays, strict=True)):
            if spec.in_place and left is not None:
                self._replace(number, read(left[spec.name], spec.dtype))
            elif spec.is_refilled:
                self._take(spec, number, array, seed)
            elif spec.in_place:
                array[...] = self._as_opened[number]  # a whole training has replaced it

    def _replace(self, number: int, array: Array) -> None:
        self.arrays[number][...] = array

    def _take(self, spec: ArraySpec, _number: int, array: Array, refill: int) -> None:
        """Give one input its values."""
        array[...] = self.files.read(spec.name, spec.shape, array.dtype, refill)


def read(array: Array, dtype: str) -> Array:
    """Return an output of a file as inputs have it."""
    if dtype in ("e4m3", "e5m2"):
        raise CaseError(f"continues: arrays in place of {dtype} are not read")
    if dtype == "bf16":
        return (array.astype(np.float32).view(np.uint32) >> 16).astype(BFLOAT16)
    return array.astype(STORED[dtype], copy=False)


def written(array: Array, dtype: str) -> Array:
    """Return an output as `.npy` files may have it (`bench/io/npy.c`)."""
    floats = dict.fromkeys(("bf16", "e4m3", "e5m2"), np.float32)
    to = {**floats, **dict.fromkeys(("u8", "bool", "i8"), np.int32)}.get(dtype, array.dtype)
    return np.asarray(array.astype(to, copy=False), order="C")
