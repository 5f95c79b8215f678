"""A workload's arrays as tensors: inputs from the seed, outputs as files hold them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import operator_data
from operator_data import Array, ArraySpec
from operator_files import REFERENCE, load
from operator_fill import KINDS, Filler
from operator_request import Operator
from protocol import CaseSpec
from workload import CaseError

DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f64": torch.float64,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
    "i8": torch.int8,
    "e4m3": torch.float8_e4m3fn,
    "e5m2": torch.float8_e5m2,
}
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class OperatorInputs(operator_data.OperatorInputs):
    """Inputs in host memory, in the description's order; shared by cases and read-only."""

    filler: Filler | None = None
    """What refills compute with; None: the host."""

    def __init__(
        self, operator: Operator, spec: CaseSpec, seed: int, made: Path | None = None
    ) -> None:
        if spec.dtype not in DTYPES:
            raise CaseError(f"dtype: expected one of {', '.join(DTYPES)}, found {spec.dtype}")
        self.operator = operator
        self.spec = spec
        self.params: Mapping[str, Any] = spec.params
        self.dtype = DTYPES[spec.dtype]
        super().__init__(operator.arrays, seed, made)

    def _fill(self, spec: ArraySpec, key: int, number: int, array: Array) -> None:
        if self.filler is None or spec.fill is None or spec.fill.kind not in KINDS:
            super()._fill(spec, key, number, array)
            return
        to = torch.from_numpy(array).view(DTYPES[spec.dtype])
        self.filler.fill(to, spec.dtype, spec.fill, key, number)

    def tensors(self) -> list[Tensor]:
        """Return the inputs as tensors in the same memory."""
        return [
            torch.from_numpy(array).view(DTYPES[spec.dtype])
            for spec, array in zip(self.specs, self.arrays, strict=True)
        ]

    def _take_made(self, refill: int) -> None:
        if self.made is not None:  # of `bench run`
            super()._take_made(refill)
            return
        for spec, x in made_by_function(self.operator, self.spec, (self.seed, refill)):
            self.tensors()[self.specs.index(spec)].copy_(x)


def made_by_function(
    operator: Operator, spec: CaseSpec, seeds: tuple[int, int]
) -> list[tuple[ArraySpec, Tensor]]:
    """Have `inputs` of the reference make those with the fill "function"; seeds: case, refill."""
    specs = [s for s in operator.inputs if s.fill is not None and s.fill.kind == "function"]
    if not specs:
        return []
    where = f"{operator.place(REFERENCE)}: inputs"
    function = getattr(load(operator, REFERENCE), "inputs", None)
    if not callable(function):
        raise CaseError(f'{where}: no such function, which the fill "function" needs')
    with torch.random.fork_rng(devices=[]):
        seed_all(np.random.SeedSequence(seeds).generate_state(1, np.uint64)[0])
        made = function(dict(spec.params), DTYPES[spec.dtype])
    if len(made) != len(specs):
        raise CaseError(f"{where} returned {len(made)} tensors, expected {len(specs)}")
    for array, x in zip(specs, made, strict=True):
        found = (tuple(x.shape), dtype_name(x.dtype))
        if found != (array.shape, array.dtype):
            raise CaseError(
                f"{where}: {array.name} is {list(x.shape)} {found[1]}, "
                f"expected {list(array.shape)} {array.dtype}"
            )
    return list(zip(specs, made, strict=True))


def write_made(operator: Operator, spec: CaseSpec, seeds: tuple[int, int], path: str) -> None:
    """Write the bytes of each of these inputs as a file of its name.

    On one thread: others would go on spinning for a while, beside what is timed next.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for array, x in made_by_function(operator, spec, seeds):
            x.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tofile(
                Path(path, array.name)
            )
    finally:
        torch.set_num_threads(threads)


def seed_all(seed: int) -> None:
    """Seed every generator that users' files draw from."""
    torch.manual_seed(int(seed))
    np.random.seed(int(seed) % 2**32)
    random.seed(int(seed))


def dtype_name(dtype: torch.dtype) -> str:
    """Return a dtype as descriptions name it."""
    return _NAMES.get(dtype, str(dtype).removeprefix("torch."))


def widened(tensor: Tensor) -> Tensor:
    """Return floats as float64, others as they are."""
    return tensor.double() if tensor.is_floating_point() else tensor


def written(tensor: Tensor) -> np.ndarray:
    """Return an array of a type that `.npy` files of outputs may have (`bench/io/npy.c`).

    It may be in the tensor's memory.
    """
    host = tensor.detach().cpu()
    if host.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        host = host.float()
    elif host.dtype in (torch.bool, torch.uint8, torch.int8):
        host = host.int()
    return np.ascontiguousarray(host.numpy())
