"""A workload's arrays as tensors: inputs and outputs as files hold them."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import operator_data
from input_files import InputFiles
from operator_data import Array, ArraySpec
from operator_files import REFERENCE, load
from operator_fill import KINDS, Filler, fill_key
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
# A refill seed: any but 0.
_OTHERS = 1
_NAMES = {dtype: name for name, dtype in DTYPES.items()}


class OperatorInputs(operator_data.OperatorInputs):
    """Inputs in host memory, in the description's order; shared by cases and read-only."""

    filler: Filler | None = None
    """Draws what a refill draws, on a GPU; None: files have that."""
    drawn: dict[int, Tensor]
    """What it drew, by number; of these, `arrays` has the values as opened."""

    def __init__(self, operator: Operator, spec: CaseSpec, files: InputFiles | None) -> None:
        self.operator, self.spec = operator, spec
        self.params: Mapping[str, Any] = {**spec.params, "dtype": spec.dtype}
        self.dtype = DTYPES[operator.dtype]
        self.drawn = {}
        super().__init__(operator.arrays, files)

    def own(self) -> OperatorInputs:
        """Return a copy that a refill may change."""
        own = copy.copy(self)
        own.drawn, own._as_opened = {}, self.arrays
        own.arrays = [
            array if self._is_drawn(spec) or spec.is_fixed else array.copy()
            for spec, array in zip(self.specs, self.arrays, strict=True)
        ]
        return own

    def _is_drawn(self, spec: ArraySpec) -> bool:
        return self.filler is not None and spec.fill is not None and spec.fill.kind in KINDS

    def _take(self, spec: ArraySpec, number: int, array: Array, refill: int) -> None:
        if self.filler is None or spec.fill is None or spec.fill.kind not in KINDS:
            super()._take(spec, number, array, refill)
            return
        self.drawn.pop(number, None)  # its memory may be that of the new one
        key = fill_key(self.files.seed, refill)
        drawn = self.filler.draw(spec.shape, spec.dtype, spec.fill, key, number)
        self.drawn[number] = drawn.view(DTYPES[spec.dtype])

    def _replace(self, number: int, array: Array) -> None:
        # Of what the GPU drew, `arrays` keeps the values as opened.
        if number in self.drawn:
            tensor = torch.from_numpy(array).view(DTYPES[self.specs[number].dtype])
            self.drawn[number].copy_(tensor)
        else:
            super()._replace(number, array)

    def others(self) -> OperatorInputs:
        """Return inputs with other values, of no refill: each element is where the one before it was.

        Where an element of what a function makes is may matter: it makes others.
        """
        other = copy.copy(self)
        other.drawn = {}
        other.arrays = [np.roll(array, 1) for array in self.arrays]
        for spec, x in made_by_function(self.operator, self.spec, (self.files.seed, _OTHERS)):
            other.tensors()[self.specs.index(spec)].copy_(x)
        return other

    def tensors(self) -> list[Tensor]:
        """Return the inputs in host memory, but for drawn ones in that of `arrays`."""
        return [x.cpu() for x in self.sources()]

    def sources(self) -> list[Tensor]:
        """Return the inputs where they are: what is drawn on the GPU."""
        return [
            self.drawn[number]
            if number in self.drawn
            else torch.from_numpy(array).view(DTYPES[spec.dtype])
            for number, (spec, array) in enumerate(zip(self.specs, self.arrays, strict=True))
        ]


def made_by_function(
    operator: Operator, spec: CaseSpec, seeds: tuple[int, int]
) -> list[tuple[ArraySpec, Tensor]]:
    """Have the reference make inputs; seeds: case, refill.

    Those with the fill "function" by `inputs`, those with the fill "data", once, by `data`.
    """
    kinds = {"function": "inputs"} if seeds[1] else {"data": "data", "function": "inputs"}
    return [pair for kind in kinds for pair in _made(operator, spec, seeds, kind, kinds[kind])]


def _made(
    operator: Operator, spec: CaseSpec, seeds: tuple[int, int], kind: str, name: str
) -> list[tuple[ArraySpec, Tensor]]:
    specs = [s for s in operator.inputs if s.fill is not None and s.fill.kind == kind]
    if not specs:
        return []
    where = f"{operator.place(REFERENCE)}: {name}"
    function = getattr(load(operator, REFERENCE), name, None)
    if not callable(function):
        raise CaseError(f'{where}: no such function, which the fill "{kind}" needs')
    with torch.random.fork_rng(devices=[]):
        seed_all(np.random.SeedSequence(seeds[0] ^ seeds[1]).generate_state(1, np.uint64)[0])
        made = function(dict(spec.params), DTYPES[operator.dtype])
    if not isinstance(made, (list, tuple)):
        raise CaseError(f"{where} returned a value of type {type(made).__name__}, expected a list")
    made = _flat(made)
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


def _flat(made: Any) -> list[Tensor]:
    """Return the tensors of lists among those of other inputs."""
    return [x for part in made for x in (part if isinstance(part, (list, tuple)) else [part])]


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
    return np.asarray(host.numpy(), order="C")
