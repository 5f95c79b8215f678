"""The reference output of a described workload, in float64."""

from __future__ import annotations

import json
import math
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import user_file
from case import Case
from device import Device
from kept import same_bits
from operator_call import keywords_of
from operator_files import REFERENCE, load
from operator_function import Function, state_of
from operator_request import FLOATS, Array, Operator
from operator_tensors import DTYPES, OperatorInputs, widened, written
from timing import Mark, Sample, now_ns
from workload import INITIAL, SCALE, CaseError, ClockDomain

# By so much, relative to themselves, inputs move unseen by float32, and seen by every 8-bit mantissa.
_UNSEEN, _SEEN = 2.0**-40, 2.0**-6
# Of an output that moves less with _SEEN, as it is nearly constant, float64 has no digits for what
# moves with _UNSEEN.
_MOVED = 2.0**-16
# Larger sizes are not tried: a reference that casts does so at every size.
_MOST_TRIED = 1 << 20


# A step of more elements in place takes so long that all cores are worth waiting for.
_LARGE_STEP = 1 << 24
# Of a training these are run twice, to see whether they repeat: all would take as long again.
_REPEATED_STEPS = 2


def _threads_of_a_training(most: int, operator: Operator) -> int:
    """Return half as many as there are cores, and at most 8; all for large steps.

    A step is many small operations, at the end of each of which all threads wait for each other: eight
    are nearly as fast as 32, and one thread on a core that others use makes all wait for milliseconds.
    """
    n_cores = len(os.sched_getaffinity(0))
    if sum(math.prod(array.shape) for array in operator.inputs if array.in_place) >= _LARGE_STEP:
        return min(most, n_cores)
    return min(most, 8, max(1, n_cores // 2))


class Oracle(Case):
    """Runs `oracle`, or else `reference`, on the inputs as they were rounded, widened to float64."""

    phases: Mapping[str, ClockDomain] = {"total": "host"}
    runs_when_opened = False
    """A run may take seconds, and of a later pass only one on other inputs is asked for."""

    def __init__(self, inputs: OperatorInputs, device: Device, mark: Mark) -> None:
        super().__init__(device, mark)
        self._inputs = inputs
        self._operator = operator = inputs.operator
        self._module = load(operator, REFERENCE)
        # torch.func.grad, for one, does not work where nothing can be differentiated.
        self._grad_mode = torch.no_grad if operator.steps > 0 else torch.inference_mode
        self._may_round = hasattr(self._module, "oracle")
        self._state = state_of(inputs, REFERENCE, device.torch_device, wide=True)
        name = "oracle" if self._may_round else operator.function
        self._function = Function(inputs, REFERENCE, name, self._state)
        self._unchecked = True
        self._opened = inputs
        self._fixed: dict[str, Tensor] = {}
        """For `_run`, of which the first is checked: it changes no inputs."""
        self.probes = self._keeping([self._total])

    def load(self, inputs: OperatorInputs) -> None:
        self._inputs = inputs

    @contextmanager
    def timed(self) -> Iterator[Callable[[], list[Tensor]]]:
        threads = torch.get_num_threads()
        if self._operator.steps > 1:
            torch.set_num_threads(_threads_of_a_training(threads, self._operator))
        try:
            with self._grad_mode():
                yield self._run
        finally:
            torch.set_num_threads(threads)

    def leave_random(self) -> None:
        self._left = None

    def read(self) -> dict[str, np.ndarray]:
        names = [array.name for array in self._operator.outputs]
        outputs = (y if y.is_floating_point() else y.long() for y in self._left)
        return {name: written(y) for name, y in zip(names, outputs, strict=True)}

    def output(self, *, compares: bool = True) -> dict[str, np.ndarray]:
        self._left = self._total().output
        return {**self.read(), **self._scales(), **self._initial()}

    def verify(self, folder: Path) -> dict[str, Any]:
        """Return whether the file has `verify`, and what it says of the outputs in a folder."""
        verify = getattr(self._module, "verify", None)
        if verify is None:
            return {"defined": False, "complaint": None}
        outputs = [self._found(folder, array) for array in self._operator.outputs]
        inputs = self._widened()
        try:
            complaint = verify(
                [inputs[part] for part in self._operator.parts],
                outputs,
                **keywords_of(verify, self._inputs.params, 2),
            )
        except Exception as error:
            # It accepts what the reference returns, so the outputs are the cause.
            traceback.print_exc(file=sys.stderr)
            reason = user_file.located(error) or f"{type(error).__name__}: {error}"
            complaint = f"raised at {reason}"
        if complaint is not None and not isinstance(complaint, str):
            where = f"{self._operator.place(REFERENCE)}: verify"
            kind = type(complaint).__name__
            raise CaseError(f"{where} returned a value of type {kind}, expected None or a message")
        return {"defined": True, "complaint": complaint}

    def evaluate(self, folder: Path) -> dict[str, Any]:
        """Return what the file's `evaluate` says of the arrays in place in a folder."""
        function = Function(self._inputs, REFERENCE, "evaluate", {})
        given = self._inputs.tensors()
        for number, array in enumerate(self._inputs.specs):
            if array.in_place:
                left = torch.from_numpy(np.load(folder / f"{array.name}.npy"))
                given[number] = left.to(DTYPES[array.dtype])
        with torch.no_grad():
            found = function.bound()(given)
        if not isinstance(found, dict):
            raise CaseError(f"{function.place} returned a {type(found).__name__}, expected a dict")
        curves = {array.name for array in self._operator.outputs if not array.in_place}
        for key, value in found.items():
            if key in curves:
                raise CaseError(f"{function.place} returned {key}, which is the name of a curve")
            if not isinstance(key, str) or not _is_in_json({key: value}):
                raise CaseError(
                    f"{function.place}: {key} is {value!r:.80}, expected numbers and texts that JSON "
                    "has, integers of 64 bits: .item() or .tolist() of tensors and arrays"
                )
        return found

    @staticmethod
    def _found(folder: Path, array: Array) -> Tensor:
        y = torch.from_numpy(np.load(folder / f"{array.name}.npy"))
        return widened(y) if array.dtype in FLOATS else y.to(DTYPES[array.dtype])

    def _expect_repeatable(self, outputs: list[Tensor]) -> None:
        """Raise `CaseError` if a second run on the same inputs gives other bits."""
        run = self._function.begun(_REPEATED_STEPS)
        if run is not self._function.bound():
            outputs = self._function.outputs_of(run(given := self._widened()), given)
        again = self._function.outputs_of(run(given := self._widened()), given)
        for array, first, y in zip(self._operator.outputs, outputs, again, strict=True):
            if not same_bits(first, y):
                raise CaseError(
                    f"{self._function.place}: two runs on the same inputs differ in {array.name}: "
                    'take random numbers as inputs, or set "deterministic": false in workload.json'
                )

    def _expect_float64_inside(self, outputs: list[Tensor]) -> None:
        """Raise `CaseError` if the reference casts to less than float64, and its result back."""
        if sum(x.numel() for x in self._inputs.tensors()) > _MOST_TRIED:
            return
        moved = zip(*map(self._moved, (_UNSEEN, _SEEN, -_SEEN)), strict=True)
        for array, y, (near, up, down) in zip(self._operator.outputs, outputs, moved, strict=True):
            if array.dtype not in FLOATS or not same_bits(y, near):
                continue
            # Signs and other steps stay, at least in one direction; what is rounded moves in both.
            least = _MOVED * y.abs()
            if (((up - y).abs() > least) & ((down - y).abs() > least)).double().mean() > 0.5:
                raise CaseError(
                    f"{self._function.place}: {array.name} is the same if the inputs differ by "
                    f"{_UNSEEN:.0e} of themselves, and another if by {_SEEN:.0e}: reference casts "
                    "to a smaller dtype inside and back, so it is no float64 reference; let it "
                    "compute in the dtype of its inputs, or add a function oracle that does "
                    "(oracle = reference if it is meant to round)"
                )

    def _moved(self, by: float) -> list[Tensor]:
        """Return the outputs for inputs that each differ by `by` to twice that of themselves."""
        source = torch.Generator().manual_seed(1)
        given = []
        for x in self._widened():
            share = by * (1 + torch.rand(x.shape, generator=source, dtype=torch.float64))
            given.append(x + x * share.to(x.device) if x.is_floating_point() else x)
        return self._function.outputs_of(self._function.bound()(given), given)

    def _widened(self, fixed: dict[str, Tensor] | None = None) -> list[Tensor]:
        """Return new tensors of the inputs, but for those in `fixed`, which keeps what is fixed."""
        fixed, given = {} if fixed is None else fixed, []
        for array, x in zip(self._inputs.specs, self._inputs.tensors(), strict=True):
            wide = fixed.get(array.name)
            if wide is None:
                dtype = torch.float64 if x.is_floating_point() else x.dtype
                wide = x.to(self._device.torch_device, dtype, copy=True)
            if array.is_fixed:
                fixed[array.name] = wide
            given.append(wide)
        return given

    def _run(self) -> list[Tensor]:
        given = self._widened(self._fixed)
        if self._unchecked:
            outputs = self._function.checked(self._inputs, given, wide=True)
            self._expect_sound(outputs)
            self._unchecked = False
        else:
            outputs = self._function.outputs_of(self._function.bound()(given), given)
        self._device.synchronize()
        return outputs

    def _expect_sound(self, outputs: list[Tensor]) -> None:
        """Raise `CaseError` if what runs on the inputs as opened, in the first pass, show is wrong."""
        if self._inputs is not self._opened:
            return
        if self._operator.deterministic:
            self._expect_repeatable(outputs)
        if not self._may_round:
            self._expect_float64_inside(outputs)

    def _total(self) -> Sample:
        with self.timed() as run:
            start_ns = now_ns()
            outputs = run()
            return Sample({"total": now_ns() - start_ns}, outputs)

    def _initial(self) -> dict[str, np.ndarray]:
        """Return, by `NAME.initial`, what arrays in place hold before a run."""
        specs = zip(self._inputs.specs, self._inputs.tensors(), strict=True)
        return {array.name + INITIAL: written(x) for array, x in specs if array.is_output}

    def _scales(self) -> dict[str, np.ndarray]:
        """Return, by `NAME.scale`, how large the terms are that an output is summed from."""
        if not hasattr(self._module, "scale"):
            return {}
        function = Function(self._inputs, REFERENCE, "scale", self._state)
        with self._grad_mode():
            given = self._widened()
            sizes = function.outputs_of(function.bound()(given), given)
        scales = {}
        for array, size in zip(self._operator.outputs, sizes, strict=True):
            try:
                scales[array.name + SCALE] = np.array(float(size), np.float64)
            except (TypeError, ValueError, RuntimeError) as error:
                raise CaseError(
                    f"{function.place}: {array.name} is of type {type(size).__name__}, "
                    "expected a number"
                ) from error
        return scales


def _is_in_json(value: Any) -> bool:
    """Return whether the supervisor can read it: finite, integers of 64 bits, texts in UTF-8."""

    def integer(text: str) -> int:
        if not -(2**63) <= int(text) < 2**63:
            raise ValueError(text)
        return int(text)

    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        json.loads(text.encode(), parse_int=integer)
    except (TypeError, ValueError):
        return False
    return True
