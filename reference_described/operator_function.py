"""Functions in a workload's Python files, and checks of what they are and return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch.utils._device import DeviceContext

from forward import listed
from kept import same_bits
from operator_call import NOT_FUSED, Call
from operator_files import REFERENCE, load
from operator_request import FLOATS, Array, Operator
from operator_tensors import DTYPES, OperatorInputs, dtype_name, widened
from operator_training import compiled_training, trained
from workload import CaseError

# As they are before a user's file is loaded, which may replace them: how many modes are on, and each.
_MODES = (
    (torch._C._len_torch_function_stack, torch._C._get_function_stack_at),
    (torch._C._len_torch_dispatch_stack, torch._C._get_dispatch_stack_at),
)
_ON_DEVICE = DeviceContext.__torch_function__
_is_lazy_copy = getattr(torch._C, "_is_cow_tensor", lambda _y: False)


def expect_tensors(call: Call, outputs: Sequence[Any]) -> None:
    """Raise `CaseError` if an output of a call is something else, or of a subclass."""
    for array, y in zip(call.outputs, outputs, strict=True):
        if type(y) not in (Tensor, nn.Parameter):
            raise CaseError(
                f"{call.place}: {array.name} is of type {type(y).__name__}, expected a tensor"
            )


def expect_dense(where: str, array: Array, y: Tensor) -> None:
    """Raise `CaseError` if an output has another shape, or is not all there."""
    if y.layout != torch.strided:
        raise CaseError(f"{where} is sparse, expected a dense tensor")
    if _is_lazy_copy(y):
        raise CaseError(f"{where} is a lazy copy (torch._lazy_clone), expected one that is made")
    if tuple(y.shape) != array.shape:
        raise CaseError(f"{where} has shape {list(y.shape)}, expected {list(array.shape)}")


class Function:
    """A function as it is called for one case: with the inputs, the scalars and its state."""

    def __init__(
        self,
        inputs: OperatorInputs,
        stem: str,
        name: str,
        state: dict[str, Any],
        offers: Mapping[str, Any] = NOT_FUSED,
    ) -> None:
        self.operator = operator = inputs.operator
        self.name = name
        function = getattr(load(operator, stem), name, None)
        self._call = Call(operator, stem, function, name, inputs.params, offers)
        self.place = self._call.place
        self._first: list[dict[str, Any]] = []
        self.state = state
        self._bound = self._call.bound(**state)
        self._step = self._bound
        if self._call.is_step:
            self._bound = trained(self._listed_step, operator)
        elif any(array.list is not None for array in operator.outputs):
            self._bound = self._flat

    def compiled_training(
        self, mode: str, **options: bool
    ) -> Callable[[list[Tensor]], list[Tensor]]:
        """Return all steps of a training, each compiled, as a function of the inputs alone."""
        return compiled_training(self._step, self.operator, mode, **options)

    def _flat(self, inputs: list[Tensor]) -> Any:
        result = self._step(inputs)
        if not isinstance(result, (list, tuple)):
            return result
        return [y for part in result for y in listed(part)]

    def _listed_step(self, inputs: Sequence[Tensor], number: int) -> list[Any]:
        found = self._call.listed(self._step(inputs, number))
        if number == 0:
            self.expect_tensors(found)
        return found

    def bound(self) -> Callable[[list[Tensor]], Any]:
        """Return it as a function of the inputs alone."""
        return self._bound

    def begun(self, steps: int) -> Callable[[list[Tensor]], Any]:
        """Return it as `bound` does; of a training only the first steps."""
        if not self._call.is_step or steps >= self.operator.steps:
            return self._bound
        return trained(self._listed_step, self.operator, steps)

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
        expect_tensors(self._call, outputs)

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
        """Return what the function returned as a list with one item for each output."""
        if result is None and self.name == "run" and all(a.in_place for a in self.operator.outputs):
            return in_place_of(self.operator, given)
        return self._call.listed(result)

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

    def _expect_output(self, array: Array, y: Any, device: torch.device, wide: bool) -> None:
        where = f"{self.place}: {array.name}"
        expect_dense(where, array, y)
        if y.device.type != device.type:
            raise CaseError(f"{where} is on the device {y.device.type}, expected {device.type}")
        expected = torch.float64 if wide and array.dtype in FLOATS else DTYPES[array.dtype]
        if y.dtype == expected:
            return
        found = f"{where} is {dtype_name(y.dtype)}, expected {dtype_name(expected)}"
        if wide and array.dtype in FLOATS:
            found += f": {self.name} casts inside; the inputs are f64 here, and its result must be"
            if self.name == self.operator.function:
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


def state_of(inputs: OperatorInputs, stem: str, device: torch.device, wide: bool) -> dict[str, Any]:
    """Return the keyword `state` if the file or the reference has `setup`, else nothing.

    It is made on the CPU in the case's dtype, from the case's seed, so that every mode and the oracle
    get the same; then it is moved, and for the oracle widened.
    """
    for place in dict.fromkeys((stem, REFERENCE)):
        setup = getattr(load(inputs.operator, place), "setup", None)
        if setup is not None:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(inputs.files.seed)
                state = setup(dict(inputs.spec.params), torch.device("cpu"), inputs.dtype)
            return {"state": pytree.tree_map(lambda leaf: _placed(leaf, device, wide), state)}
    return {}


def _placed(leaf: Any, device: torch.device, wide: bool) -> Any:
    if isinstance(leaf, nn.Module):
        return (leaf.double() if wide else leaf).to(device)
    if isinstance(leaf, Tensor):
        return (widened(leaf) if wide else leaf).to(device)
    return leaf
