"""Functions in a workload's Python files, and checks of what they are and return."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch.utils._device import DeviceContext

from kept import same_bits
from operator_files import REFERENCE, load
from operator_request import FLOATS, Array, Operator
from operator_tensors import DTYPES, OperatorInputs, dtype_name, widened
from workload import CaseError

# As they are before a user's file is loaded, which may replace them: how many modes are on, and each.
_MODES = (
    (torch._C._len_torch_function_stack, torch._C._get_function_stack_at),
    (torch._C._len_torch_dispatch_stack, torch._C._get_dispatch_stack_at),
)
_ON_DEVICE = DeviceContext.__torch_function__
_is_lazy_copy = getattr(torch._C, "_is_cow_tensor", lambda _y: False)


class Function:
    """A function as it is called for one case: with the inputs, the scalars and its state."""

    def __init__(self, inputs: OperatorInputs, stem: str, name: str, state: dict[str, Any]) -> None:
        self.operator = operator = inputs.operator
        self.name = name
        function = getattr(load(operator, stem), name, None)
        if not callable(function):
            raise CaseError(f"{operator.place(stem)}: no function {name}")
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", None)
        at = "" if line is None else f":{line}"
        self.place = f"{operator.place(stem)}{at}: {name}"
        self._call = function
        self._first: list[dict[str, Any]] = []
        self._scalars = tuple(_rounded(s.value, s.dtype) for s in operator.scalars)
        self.state = state
        self._keywords = {**state, **params_of(function, inputs)}
        self._expect_parameters()

    def bound(self) -> Callable[[list[Tensor]], Any]:
        """Return it as a function of the inputs alone."""
        call, scalars, keywords = self._call, self._scalars, self._keywords

        def forward(inputs: list[Tensor]) -> Any:
            return call(*inputs, *scalars, **keywords)

        return forward

    def checked(
        self,
        inputs: OperatorInputs,
        given: list[Tensor],
        *,
        wide: bool = False,
        compiled: Callable[[list[Tensor]], Any] | None = None,
    ) -> list[Tensor]:
        """Run once on these tensors; return the outputs after checking them and the inputs.

        `wide`: floats are float64, the state's too. `compiled`: `bound()`, compiled.
        """
        device = given[0].device if given else torch.device("cpu")
        outputs = self.outputs_of((compiled or self.bound())(given), given)
        self.expect_unchanged(inputs, given)
        self.expect_tensors(outputs)
        for array, y in zip(self.operator.outputs, outputs, strict=True):
            self._expect_output(array, y, device, wide)
        self._first = [_about(y, given) for y in outputs]
        return outputs

    def expect_tensors(self, outputs: list[Any]) -> None:
        """Raise `CaseError` if one may be computed when it is used, as a subclass of Tensor can."""
        for array, y in zip(self.operator.outputs, outputs, strict=True):
            if type(y) not in (Tensor, nn.Parameter):
                raise CaseError(
                    f"{self.place}: {array.name} is of type {type(y).__name__}, expected a tensor"
                )

    def expect_complete(self, outputs: list[Tensor], given: list[Tensor]) -> None:
        """Raise `CaseError` if one of a run is not what it was in the checked run, or computed later.

        Type, dtype, shape, strides, device, and whose memory it is in: anything else would be work
        that is left to the reader.
        """
        self.expect_tensors(outputs)
        for array, y, first in zip(self.operator.outputs, outputs, self._first, strict=True):
            found = _about(y, given)
            for what, value in found.items():
                if value != first.get(what):
                    raise CaseError(
                        f"{self.place}: {array.name} of a timed run has {what}: {value}, "
                        f"that of the first run has {what}: {first.get(what)}"
                    )

    def expect_no_mode(self) -> None:
        """Raise `CaseError` if what PyTorch is called for next may do work of this function.

        `torch.set_default_device` leaves a mode on, too.
        """
        on = [mode_at(i) for count, mode_at in _MODES for i in range(count())]
        for mode in on:
            if type(mode).__torch_function__ is not _ON_DEVICE:
                raise CaseError(
                    f"{self.place} leaves {type(mode).__name__} on, a mode of PyTorch that may "
                    "compute later; expected none after a run"
                )

    def outputs_of(self, result: Any, given: list[Tensor]) -> list[Any]:
        """Return what the function returned as a list with one item for each output.

        A subclass of tuple or list is read as the tuple or list that it is, so that no code of its
        own decides what is in it.
        """
        arrays = self.operator.outputs
        if result is None and self.name == "run" and all(a.in_place for a in arrays):
            return in_place_of(self.operator, given)
        if isinstance(result, tuple):
            found = list(tuple.__iter__(result))
        elif isinstance(result, list):
            found = list(list.__iter__(result))
        else:
            found = [result]
        if len(found) != len(arrays):
            names = ", ".join(array.name for array in arrays)
            raise CaseError(
                f"{self.place} returned {len(found)} values, expected {len(arrays)}: {names}"
            )
        return found

    def expect_unchanged(
        self, inputs: OperatorInputs, given: list[Tensor], sources: list[Tensor] | None = None
    ) -> None:
        """Raise `CaseError` if a run has changed an input that is not in place.

        `sources`: copies of the inputs that are faster to read.
        """
        sources = sources or inputs.tensors()
        for array, x, before in zip(inputs.specs, given, sources, strict=True):
            if not array.in_place and not same_bits(x, before.to(x.dtype)):
                raise CaseError(
                    f"{self.place} changes its input {array.name}; only an array that is input "
                    "and output may change"
                )

    def _expect_parameters(self) -> None:
        try:
            signature = inspect.signature(self._call)
        except (TypeError, ValueError):  # of a built-in function
            return
        names = self.operator.parameters
        try:
            signature.bind(*names, **self._keywords)
        except TypeError as error:
            keywords = [f"{name}=…" for name in self._keywords]
            expected = ", ".join([*names, *keywords])
            raise CaseError(
                f"{self.place}{signature} is called as {self.name}({expected}): {error}"
            ) from error

    def _expect_output(self, array: Array, y: Any, device: torch.device, wide: bool) -> None:
        where = f"{self.place}: {array.name}"
        if y.layout != torch.strided:
            raise CaseError(f"{where} is sparse, expected a dense tensor")
        if _is_lazy_copy(y):
            raise CaseError(
                f"{where} is a lazy copy (torch._lazy_clone), expected one that is made"
            )
        if tuple(y.shape) != array.shape:
            raise CaseError(f"{where} has shape {list(y.shape)}, expected {list(array.shape)}")
        if y.device.type != device.type:
            raise CaseError(f"{where} is on the device {y.device.type}, expected {device.type}")
        expected = torch.float64 if wide and array.dtype in FLOATS else DTYPES[array.dtype]
        if y.dtype == expected:
            return
        found = f"{where} is {dtype_name(y.dtype)}, expected {dtype_name(expected)}"
        if wide and array.dtype in FLOATS:
            found += f": {self.name} casts inside; the inputs are f64 here, and its result must be"
            if self.name == REFERENCE:
                found += ", or a function oracle beside it computes in f64"
        raise CaseError(found)


def _about(y: Tensor, given: list[Tensor]) -> dict[str, Any]:
    """Return what must be the same in every run; finding it computes nothing that is lazy."""
    strided = y.layout == torch.strided
    lazy = strided and (y.is_neg() or y.is_conj() or _is_lazy_copy(y))
    about = {
        "layout": y.layout,
        "dtype": dtype_name(y.dtype),
        "shape": list(y.shape),
        "device": y.device.type,
        "lazy": lazy,
    }
    if strided and not lazy:
        about["strides"] = list(y.stride())
        memory = y.untyped_storage().data_ptr()
        about["in an input's memory"] = any(x.untyped_storage().data_ptr() == memory for x in given)
    return about


def in_place_of(operator: Operator, given: list[Tensor]) -> list[Tensor]:
    """Return those of the inputs that are outputs, too."""
    return [x for x, array in zip(given, operator.inputs, strict=True) if array.in_place]


def params_of(function: Callable[..., Any], inputs: OperatorInputs) -> dict[str, Any]:
    """Return the keyword `params`, the case's params by name, if the function has it."""
    try:
        named = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a built-in function
        return {}
    takes = "params" in named and "params" not in inputs.operator.parameters
    return {"params": dict(inputs.params)} if takes else {}


def state_of(inputs: OperatorInputs, stem: str, device: torch.device, wide: bool) -> dict[str, Any]:
    """Return the keyword `state` if the file or the reference has `setup`, else nothing.

    It is made on the CPU in the case's dtype, from the case's seed, so that every mode and the oracle
    get the same; then it is moved, and for the oracle widened.
    """
    for place in dict.fromkeys((stem, REFERENCE)):
        setup = getattr(load(inputs.operator, place), "setup", None)
        if setup is not None:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(inputs.seed)
                state = setup(dict(inputs.params), torch.device("cpu"), inputs.dtype)
            return {"state": pytree.tree_map(lambda leaf: _placed(leaf, device, wide), state)}
    return {}


def _placed(leaf: Any, device: torch.device, wide: bool) -> Any:
    if isinstance(leaf, nn.Module):
        return (leaf.double() if wide else leaf).to(device)
    if isinstance(leaf, Tensor):
        return (widened(leaf) if wide else leaf).to(device)
    return leaf


def _rounded(value: float, dtype: str) -> float:
    """Return a scalar as a kernel gets it."""
    if dtype not in FLOATS:
        return int(value)
    return float(np.float32(value)) if dtype == "f32" else float(value)
