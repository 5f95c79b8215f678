"""The key `operator` of `open`: a workload that a folder describes, evaluated for one case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from json_checks import Shape, boolean, by_key, each, integer, one_of, shape_of, text

DTYPES = ("f32", "f16", "bf16", "f64", "i32", "i64", "u8", "bool", "i8", "e4m3", "e5m2")
FLOATS = ("f32", "f16", "bf16", "f64", "e4m3", "e5m2")
# bench/workloads/described/description.h
MOST_DIMENSIONS, MOST_ARRAYS, MOST_SHAPES = 8, 16, 48
FILLS = ("uniform", "normal", "integers", "permutation", "constant", "function", "data")


@dataclass(frozen=True)
class Fill:
    """How an input is made, as in `bench/workloads/described/fill.h`."""

    kind: str
    low: float = 0
    high: float = 0
    times: float = 0
    """So many times input number `of` is added, which is filled so:"""
    of_low: float = 0
    of_high: float = 0
    of_kind: str = "uniform"
    of: int = 0


@dataclass(frozen=True)
class Array:
    """An input, an output, or both: in place."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    is_input: bool
    is_output: bool
    fill: Fill | None = None
    stays: bool = False
    """Whether it is on the device before a run: weights, and what is resident."""
    list: str | None = None
    """The list that it is in: the argument, whose arrays follow one another."""
    cut: bool = False
    """Whether its rows may be copied and computed in parts."""
    every: int = 0
    """Of a training's curve: it has a value for the steps 0, every, 2 · every, …; else 0."""

    @property
    def in_place(self) -> bool:
        """Whether runs change it."""
        return self.is_input and self.is_output

    @property
    def is_refilled(self) -> bool:
        """Whether a refill gives it other values: not constants and data."""
        return self.fill is not None and self.fill.kind not in ("constant", "data")

    @property
    def is_fixed(self) -> bool:
        """Whether neither a run nor a refill changes an input."""
        return not self.is_refilled and not self.in_place


@dataclass(frozen=True)
class Scalar:
    """An argument that is one number, the same in every run."""

    name: str
    dtype: str
    value: float


@dataclass(frozen=True)
class Operator:
    """A workload's arrays and scalars in one case; `hash` is that of its files."""

    folder: str
    hash: str
    name: str
    arrays: tuple[Array, ...]
    types: Mapping[str, str]
    """By type letter: the element type that it stands for in this case."""
    scalars: tuple[Scalar, ...] = ()
    deterministic: bool = True
    by_step: bool = False
    """Whether a step is compared: then the phases are those of a training."""
    splits: str | None = None
    """The param that is the number of rows of the arrays that are cut; None: none is."""
    steps: int = 0
    """Of a call, if it is a training; else 0."""
    tf32: bool = False
    """Whether products of float32 may be computed in TF32."""

    @property
    def dtype(self) -> str:
        """The element type that `T` stands for."""
        return self.types["T"]

    @property
    def inputs(self) -> list[Array]:
        """Inputs, in-place arrays among them, in the order of the description."""
        return [array for array in self.arrays if array.is_input]

    @property
    def outputs(self) -> list[Array]:
        """What a run returns: in-place arrays, then the other outputs."""
        return sorted(
            (array for array in self.arrays if array.is_output), key=lambda a: not a.is_input
        )

    @property
    def parameters(self) -> list[str]:
        """Names of what functions are called with."""
        inputs = dict.fromkeys(array.list or array.name for array in self.inputs)
        return [*inputs, *(scalar.name for scalar in self.scalars)]

    @property
    def parts(self) -> list[int | slice]:
        """Where the inputs of each argument stand among all."""
        return parts_of(self.inputs)

    @property
    def function(self) -> str:
        """Name of what reference.py computes with: of a call, or of a step of a training."""
        return "step" if self.steps > 0 else "reference"

    def place(self, stem: str) -> str:
        """Return one of its Python files for messages."""
        return f"{Path(self.folder).name}/{stem}.py"


def parts_of(arrays: Sequence[Array], before: int = 0) -> list[int | slice]:
    """Return where the arrays of each argument stand, after others: those of a list are one."""
    parts: dict[str, int | slice] = {}
    for i, array in enumerate(arrays, before):
        if array.list is None:
            parts[array.name] = i
        else:
            first = parts.get(array.list, slice(i, i))
            assert isinstance(first, slice)
            parts[array.list] = slice(first.start, i + 1)
    return list(parts.values())


_DTYPE = one_of(*DTYPES)
_FILL = shape_of(
    Fill, kind=one_of(*FILLS), of_kind=one_of(*FILLS[:3]), of=integer(0, MOST_SHAPES - 1)
)
_ARRAY: Mapping[str, Any] = {
    "name": text,
    "shape": each(integer(0, (1 << 63) - 1)),
    "dtype": _DTYPE,
    "input": boolean,
    "output": boolean,
}


def _array(input: bool, output: bool, **keys: Any) -> Array:
    return Array(is_input=input, is_output=output, **keys)


ARRAY = Shape(
    _array,
    _ARRAY,
    {"fill": _FILL, "stays": boolean, "list": text, "cut": boolean, "every": integer(1, 1 << 53)},
)
_SCALAR = shape_of(Scalar, dtype=_DTYPE)
OPERATOR = shape_of(
    Operator,
    arrays=each(ARRAY),
    types=by_key(_DTYPE),
    scalars=each(_SCALAR),
    steps=integer(1, 1_000_000),
)
