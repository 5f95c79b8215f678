"""A problem of a kernel benchmark: its arrays, scalars and cost, found by calling it on the CPU."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import imported
import needs
import precision
import problem_cost
import problem_draws
import user_file
from kept import same_bits
from operator_request import FLOATS, MOST_ARRAYS, MOST_DIMENSIONS
from operator_tensors import dtype_name, seed_all, widened
from workload import CaseError

# The default bounds of the relative L2 error: description_bounds() in
# bench/workloads/described/dtypes.c. They are doubled where Model is not computed in float64
# either: both sides are rounded.
REL_L2 = {"f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}
# How much more than Model's own error is allowed where that exceeds the default: other orders of
# summation have other errors.
_OF_OWN_ERROR = 4
_CASTS = {"f32": "float", "f16": "half", "bf16": "bfloat16", "f64": "double"}
# The rate of products of each dtype, without TF32.
_MATHS = {"f32": "fp32", "f16": "f16", "bf16": "bf16"}
_PARTS = ("Model", "get_inputs", "get_init_inputs")
_SEED = 1


def _nobody(_what: str) -> None:
    return None


def fast_device() -> str | None:
    """Return the GPU, if there is one."""
    return "cuda" if torch.cuda.is_available() else None


class Problem:
    """A file with Model, get_inputs() and get_init_inputs()."""

    def __init__(
        self, path: Path, *, train: bool = False, tell: Callable[[str], None] = _nobody
    ) -> None:
        self.file = path.name
        self._tell = tell
        self.train = train
        self._path = path
        self.module = user_file.load(path.parent, path.stem, "")
        precision.switch_all()
        self.notes: list[str] = []
        for part in _PARTS:
            if not callable(getattr(self.module, part, None)):
                raise CaseError(f"{self.file}: no {part}; expected {', '.join(_PARTS)}")
        seed_all(_SEED)
        self._given = self._inputs()
        self._expect_fresh_inputs()
        self._name_inputs()
        self._expect_no_dropout()
        self._tell("Model runs on the CPU, as it is")
        self._outputs = self._run(self._tensors())
        self._expect_few()
        self.tolerances: list[float | None] = [None] * len(self._outputs)
        self.narrow = self._complaint_in_float64()
        if self.narrow:
            self.tolerances = [_twice(y) for y in self._outputs]
            self.notes.append(
                f"reference: not in float64 but as written, with twice the tolerance ({self.narrow})"
            )
        self._compare_other_mode()

    def describe(self, name: str) -> dict[str, Any]:
        """Return workload.json."""
        self._tell("what Model reads and multiplies is counted")
        elements = sum(x.numel() for x in self._tensors())
        dtype = self._dtype()
        arrays = zip(self._names(self._tensors(), "x"), self._tensors(), strict=True)
        about = {
            "schema": 1,
            "name": name,
            "summary": f"Model of {self.file}"[:200],
            "params": {"elements": {"default": elements, "min": elements, "max": elements}},
            "dtypes": {dtype: {"math": _MATHS[dtype]} if dtype in _MATHS else {}},
            "inputs": [{**_array(name, x), "fill": "function"} for name, x in arrays],
            "outputs": self._described_outputs(),
            "cost": self._cost(),
        }
        return {**about, "scalars": self._scalars} if self._scalars else about

    def _expect_few(self) -> None:
        inputs, outputs = len(self._tensors()), len(self._outputs)
        for n, what in (
            (inputs + outputs, f"tensors as inputs and outputs ({inputs} + {outputs})"),
            (len(self._scalars), "numbers as inputs"),
        ):
            if n > MOST_ARRAYS:
                raise CaseError(
                    f"{self.file}: Model has {n} {what}, expected at most {MOST_ARRAYS}"
                )

    def _dtype(self) -> str:
        floats = [y for y in (*self._outputs, *self._tensors()) if y.is_floating_point()]
        return dtype_name(floats[0].dtype) if floats else "f32"

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

    def _expect_fresh_inputs(self) -> None:
        """Raise `CaseError` unless the inputs are those of the seed, and others for another seed."""
        for seed, what in (
            (_SEED, "other values under the same"),
            (_SEED + 1, "the same under every"),
        ):
            seed_all(seed)
            drawn = [x.detach().cpu() for x in self.module.get_inputs() if isinstance(x, Tensor)]
            same = [same_bits(*pair) for pair in zip(drawn, self._tensors(), strict=False)]
            if all(same) != (seed == _SEED):
                raise CaseError(
                    f"{problem_draws.where_inputs_are_seeded(self._path)}: get_inputs() gives {what} "
                    "seed: results could be kept; draw from the generators of torch, NumPy or Python "
                    "as they are, without a generator or a seed of its own"
                )

    @staticmethod
    def _expect_array(where: str, x: Any) -> None:
        if not isinstance(x, Tensor):
            raise CaseError(f"{where} is {_kind(x)}, expected a tensor")
        if dtype_name(x.dtype) not in (*FLOATS, "i32", "i64", "u8", "bool"):
            raise CaseError(f"{where} is {dtype_name(x.dtype)}, which workloads do not have")
        if x.layout != torch.strided or x.dim() > MOST_DIMENSIONS or x.numel() == 0:
            raise CaseError(
                f"{where} has shape {list(x.shape)}, expected a dense tensor of at most "
                f"{MOST_DIMENSIONS} dimensions that is not empty"
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

    def _model(self, train: bool) -> nn.Module:
        """Return Model, made from the seed."""
        seed_all(_SEED)
        return imported.model(self.module, train=train)

    def _call(self, model: nn.Module, tensors: list[Tensor], draws: int = _SEED) -> list[Any]:
        """Run Model on these tensors; `draws` seeds its run."""
        seed_all(draws)
        left = iter(tensors)
        with torch.no_grad():
            y = model(*(next(left) if isinstance(x, Tensor) else x for x in self._given))
        return list(y) if isinstance(y, (list, tuple)) else [y]

    def _expect_no_dropout(self) -> None:
        found = problem_draws.dropouts(self._model(self.train)) if self.train else []
        if found:
            raise CaseError(
                f"{self.file}: Model has {', '.join(found)}, which draws random numbers in training "
                "mode: set p=0, or leave --train out"
            )

    def _run(self, tensors: list[Tensor]) -> list[Tensor]:
        """Run Model as it is; its outputs and inputs are checked."""
        given = [x.clone() for x in tensors]
        model = self._model(self.train)
        outputs = self._call(model, given)
        for i, y in enumerate(outputs):
            self._expect_array(f"{self.file}: output {i} of Model", y)
        for x, before, name in zip(given, tensors, self._names(tensors, "x"), strict=True):
            if not same_bits(x, before):
                raise CaseError(f"{self.file}: Model changes its input {name}: clone it there")
        outputs = [y.clone() for y in outputs]
        self._expect_equal_runs(model, outputs)
        return outputs

    def _expect_equal_runs(self, model: nn.Module, outputs: list[Tensor]) -> None:
        """Raise `CaseError` if a further run draws random numbers, or depends on the one before."""

        def run(own: nn.Module) -> list[Any]:
            return self._call(own, [x.clone() for x in self._tensors()], draws=_SEED + 1)

        if all(map(same_bits, run(model), outputs)):
            return
        if all(map(same_bits, run(self._model(self.train)), outputs)):
            why = "it keeps something from run to run; compute each alone"
        else:
            drawing = problem_draws.drawing(lambda: run(model), self._path)
            why = f"it draws random numbers{drawing}; take them as inputs"
        raise CaseError(
            f"{self.file}: two runs of Model on the same inputs differ: {why}"
            + (", or leave --train out" if self.train else "")
        )

    def _complaint_in_float64(self) -> str:
        """Return why the reference cannot run in float64, "" if it can."""
        try:
            outputs = self._run_in_float64()
        except Exception as error:  # whatever Model raises
            return f"{type(error).__name__}: {needs.first_line(error)}"[:120]
        floats = [y for y in outputs if isinstance(y, Tensor) and y.is_floating_point()]
        found = {dtype_name(y.dtype) for y in floats} - {"f64"}
        if found:
            return f"it casts to {', '.join(sorted(found))}"
        self._compare_errors(outputs)
        return ""

    def _run_in_float64(self) -> list[Any]:
        """Run Model on a GPU if there is one; else, or if that fails, on the CPU, which decides."""
        model = self._model(self.train).double()
        arrays = (*self._tensors(), *model.parameters(), *model.buffers())
        size = f"{sum(8 * x.numel() for x in arrays) / 1e6:,.1f} MB of inputs and weights"
        if device := fast_device():
            self._tell(f"Model runs on {device}, in float64 ({size})")
            try:
                given = [widened(x).to(device) for x in self._tensors()]
                return [y.cpu() for y in self._call(model.to(device), given)]
            except Exception:  # out of memory, say, or a constant that Model makes on the CPU
                model = self._model(self.train).double()
        self._tell(f"Model runs on the CPU, in float64 ({size})")
        return self._call(model, [widened(x) for x in self._tensors()])

    def _compare_errors(self, expected: list[Tensor]) -> None:
        """Allow more where Model's own error is above the default bound, as of a sum that cancels."""
        names = self._names(self._outputs, "y")
        for i, (name, y, exact) in enumerate(zip(names, self._outputs, expected, strict=True)):
            error = float((y - exact).norm() / exact.norm()) if y.is_floating_point() else 0
            if _OF_OWN_ERROR * error >= 1:
                raise CaseError(self._only_rounding(name, y, exact))
            if _OF_OWN_ERROR * error > REL_L2.get(dtype_name(y.dtype), math.inf):
                self.tolerances[i] = float(f"{_OF_OWN_ERROR * error:.1e}")
                self.notes.append(
                    f"tolerance: {name} of Model has a relative L2 error of {error:.1e}; "
                    f"{self.tolerances[i]} is allowed"
                )

    def _only_rounding(self, name: str, y: Tensor, exact: Tensor) -> str:
        def size(x: Tensor) -> str:
            return f"{float(x.norm()) / math.sqrt(x.numel()):.1e}"

        return (
            f"{self.file}: {name} of Model is rounding error: it is {size(exact)} in float64 (root "
            f"mean square), and {dtype_name(y.dtype)} is off by {size(y - exact)}, so what is right "
            "cannot be told from zeros; have Model return what does not cancel"
        )

    def _compare_other_mode(self) -> None:
        """Note if the outputs are others in training mode; with --train, in evaluation mode."""
        model = self._model(not self.train)

        def run() -> list[Any]:
            return self._call(model, [x.clone() for x in self._tensors()])

        drawing = ""
        try:
            same = all(map(same_bits, run(), self._outputs))
            if not same and not self.train:
                drawing = problem_draws.drawing(run, self._path)
        except Exception:  # BatchNorm of one value, say
            same = False
        if not same and self.train:
            self.notes.append("train(): Model and ModelNew are in training mode")
        elif not same:
            why = f", where it draws random numbers{drawing}" if drawing else " (--train)"
            self.notes.append(f"eval(): Model would compute something else in training mode{why}")

    def _cost(self) -> dict[str, Any]:
        """Return what Model moves and computes, as expressions."""
        model, given = self._model(self.train), [x.clone() for x in self._tensors()]
        arrays = [*given, *model.parameters(), *model.buffers()]
        read, flops = problem_cost.cost_of(lambda: self._call(model, given), arrays)
        moved = {"bytes": str(read + sum(y.nbytes for y in self._outputs))}
        counts = flops > 0 and self._dtype() in _MATHS and not self.narrow
        return {**moved, "flops": str(flops)} if counts else moved

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
