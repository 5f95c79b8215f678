"""A problem of a kernel benchmark: its arrays and scalars, found by calling it on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import imported
import needs
import user_file
from operator_request import FLOATS
from operator_tensors import dtype_name, same_bits, seed_all, widened
from workload import CaseError

# The default bounds of the relative L2 error: description_bounds() in
# bench/workloads/operator/arrays.c. They are doubled where Model is not computed in float64 either:
# both sides are rounded.
REL_L2 = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}
# How much more than Model's own error is allowed where that exceeds the default: other orders of
# summation have other errors.
_OF_OWN_ERROR = 4
_CASTS = {"f32": "float", "f16": "half", "bf16": "bfloat16", "f64": "double"}
_DIMENSIONS = 4
_PARTS = ("Model", "get_inputs", "get_init_inputs")
_SEED = 1


class Problem:
    """A file with Model, get_inputs() and get_init_inputs()."""

    def __init__(self, path: Path) -> None:
        self.file = path.name
        self.module = user_file.load(path.parent, path.stem, "")
        self.notes: list[str] = []
        for part in _PARTS:
            if not callable(getattr(self.module, part, None)):
                raise CaseError(f"{self.file}: no {part}; expected {', '.join(_PARTS)}")
        seed_all(_SEED)
        self._given = self._inputs()
        self._name_inputs()
        self._outputs = self._run(self._tensors())
        self._expect_no_draws()
        self.tolerances: list[float | None] = [None] * len(self._outputs)
        self.narrow = self._complaint_in_float64()
        if self.narrow:
            self.tolerances = [_twice(y) for y in self._outputs]
            self.notes.append(
                f"reference: not in float64 but as written, with twice the tolerance ({self.narrow})"
            )
        self._compare_training_mode()

    def describe(self, name: str) -> dict[str, Any]:
        """Return operator.json."""
        elements = sum(x.numel() for x in self._tensors())
        floats = [y for y in (*self._outputs, *self._tensors()) if y.is_floating_point()]
        arrays = zip(self._names(self._tensors(), "x"), self._tensors(), strict=True)
        about = {
            "schema": 1,
            "name": name,
            "summary": f"Model of {self.file}"[:200],
            "params": {"elements": {"default": elements, "min": elements, "max": elements}},
            "dtypes": [dtype_name(floats[0].dtype) if floats else "f32"],
            "inputs": [{**_array(name, x), "fill": "function"} for name, x in arrays],
            "outputs": self._described_outputs(),
        }
        return {**about, "scalars": self._scalars} if self._scalars else about

    def _inputs(self) -> list[Any]:
        given = self.module.get_inputs()
        if not isinstance(given, (list, tuple)):
            raise CaseError(f"{self.file}: get_inputs() returns {_kind(given)}, expected a list")
        for i, x in enumerate(given):
            where = f"{self.file}: get_inputs()[{i}]"
            if isinstance(x, Tensor):
                self._expect_array(where, x)
            elif not isinstance(x, (bool, int, float)) or not math.isfinite(x):
                found = _kind(x) if not isinstance(x, float) else str(x)
                raise CaseError(f"{where} is {found}, expected a tensor or a number")
        if not any(isinstance(x, Tensor) for x in given):
            raise CaseError(f"{self.file}: get_inputs() returns no tensor")
        return [x.detach().cpu() if isinstance(x, Tensor) else x for x in given]

    @staticmethod
    def _expect_array(where: str, x: Any) -> None:
        if not isinstance(x, Tensor):
            raise CaseError(f"{where} is {_kind(x)}, expected a tensor")
        if dtype_name(x.dtype) not in (*FLOATS, "i32", "i64", "u8", "bool"):
            raise CaseError(f"{where} is {dtype_name(x.dtype)}, which operators do not have")
        if x.layout != torch.strided or x.dim() > _DIMENSIONS or x.numel() == 0:
            raise CaseError(
                f"{where} has shape {list(x.shape)}, expected a dense tensor of at most "
                f"{_DIMENSIONS} dimensions that is not empty"
            )

    def _name_inputs(self) -> None:
        """Name what the functions get, scalars after tensors, and what Model is called with."""
        tensors = iter(self._names(self._tensors(), "x"))
        numbers = [x for x in self._given if not isinstance(x, Tensor)]
        scalars = iter(self._names(numbers, "a"))
        self._scalars: list[dict[str, Any]] = []
        self.arguments: list[str] = []
        for x in self._given:
            name = next(tensors if isinstance(x, Tensor) else scalars)
            self.arguments.append(f"bool({name})" if isinstance(x, bool) else name)
            if not isinstance(x, Tensor):
                dtype = "f64" if isinstance(x, float) else "i64"
                value = x if isinstance(x, float) else int(x)
                self._scalars.append({"name": name, "dtype": dtype, "value": value})
        names = self._names(self._tensors(), "x")
        numbers_names = [scalar["name"] for scalar in self._scalars]
        self.parameters = names + numbers_names
        self.narrowed = [
            f"{name}.{_CASTS[dtype_name(x.dtype)]}()" if x.is_floating_point() else name
            for name, x in zip(names, self._tensors(), strict=True)
        ] + numbers_names

    def _tensors(self) -> list[Tensor]:
        return [x for x in self._given if isinstance(x, Tensor)]

    @staticmethod
    def _names(values: list[Any], letter: str) -> list[str]:
        return [letter] if len(values) == 1 else [f"{letter}{i + 1}" for i in range(len(values))]

    def _call(
        self, change: Callable[[Any], Any], tensors: list[Tensor], draws: int = _SEED
    ) -> list[Any]:
        """Run Model, made from the seed and changed, on these tensors; `draws` seeds its run."""
        seed_all(_SEED)
        model = change(imported.model(self.module))
        seed_all(draws)
        left = iter(tensors)
        with torch.no_grad():
            y = model(*(next(left) if isinstance(x, Tensor) else x for x in self._given))
        return list(y) if isinstance(y, (list, tuple)) else [y]

    def _run(self, tensors: list[Tensor]) -> list[Tensor]:
        """Run Model as it is; its outputs and inputs are checked."""
        given = [x.clone() for x in tensors]
        outputs = self._call(lambda model: model, given)
        for i, y in enumerate(outputs):
            self._expect_array(f"{self.file}: output {i} of Model", y)
        for x, before, name in zip(given, tensors, self._names(tensors, "x"), strict=True):
            if not same_bits(x, before):
                raise CaseError(f"{self.file}: Model changes its input {name}: clone it there")
        return outputs

    def _expect_no_draws(self) -> None:
        """Raise `CaseError` if a run draws random numbers."""
        given = [x.clone() for x in self._tensors()]
        outputs = self._call(lambda model: model, given, draws=_SEED + 1)
        if not all(map(same_bits, outputs, self._outputs)):
            raise CaseError(
                f"{self.file}: two runs of Model on the same inputs differ: it draws random numbers; "
                "take them as inputs"
            )

    def _complaint_in_float64(self) -> str:
        """Return why the reference cannot run in float64, "" if it can."""
        try:
            outputs = self._call(
                lambda model: model.double(), [widened(x) for x in self._tensors()]
            )
        except Exception as error:  # whatever Model raises
            return f"{type(error).__name__}: {needs.first_line(error)}"[:120]
        floats = [y for y in outputs if isinstance(y, Tensor) and y.is_floating_point()]
        found = {dtype_name(y.dtype) for y in floats} - {"f64"}
        if found:
            return f"it casts to {', '.join(sorted(found))}"
        self._compare_errors(outputs)
        return ""

    def _compare_errors(self, expected: list[Tensor]) -> None:
        """Allow more where Model's own error is above the default bound, as of a sum that cancels."""
        names = self._names(self._outputs, "y")
        for i, (name, y, exact) in enumerate(zip(names, self._outputs, expected, strict=True)):
            error = float((y - exact).norm() / exact.norm()) if y.is_floating_point() else 0
            if _OF_OWN_ERROR * error > REL_L2.get(dtype_name(y.dtype), math.inf):
                self.tolerances[i] = float(f"{_OF_OWN_ERROR * error:.1e}")
                self.notes.append(
                    f"tolerance: {name} of Model has a relative L2 error of {error:.1e}; "
                    f"{self.tolerances[i]} is allowed"
                )

    def _compare_training_mode(self) -> None:
        """Note if the outputs are others in training mode."""
        try:
            outputs = self._call(lambda model: model.train(), [x.clone() for x in self._tensors()])
            same = all(map(same_bits, outputs, self._outputs))
        except Exception:  # BatchNorm of one value, say
            same = False
        if not same:
            self.notes.append("eval(): Model and ModelNew would compute something else in training")

    def _described_outputs(self) -> list[dict[str, Any]]:
        described = []
        names = self._names(self._outputs, "y")
        for name, y, rel_l2 in zip(names, self._outputs, self.tolerances, strict=True):
            allowed = {} if rel_l2 is None else {"tolerance": {"rel_l2": rel_l2}}
            described.append({**_array(name, y), **allowed})
        return described


def _twice(y: Tensor) -> float | None:
    bound = REL_L2.get(dtype_name(y.dtype))
    return None if bound is None else 2 * bound


def _kind(value: Any) -> str:
    return f"of type {type(value).__name__}"


def _array(name: str, x: Tensor) -> dict[str, Any]:
    return {"name": name, "shape": list(x.shape), "dtype": dtype_name(x.dtype)}
