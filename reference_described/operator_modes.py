"""Modes in which PyTorch runs a described workload, with several inputs and outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from capturing import compiled
from device import Device
from forward import (
    CompiledForward,
    CompiledGraphForward,
    Forward,
    ForwardCase,
    GraphForward,
    listed,
)
from host_to_host import (
    Chunk,
    CompiledOverlapForward,
    MappedForward,
    OverlapForward,
    device_view,
)
from operator_call import MODEL, Call, is_weight
from operator_files import REFERENCE, load, results_of
from operator_function import Function, expect_dense, expect_tensors, state_of
from operator_request import Array
from operator_tensors import DTYPES, OperatorInputs, written
from operator_training import trained_model
from timing import Mark
from workload import CaseError, Skip

_POLLED = ("f32", "f16")
_WITHOUT_GRAPHS = "max-autotune-no-cudagraphs"  # where graphs are captured here


class Eager(ForwardCase):
    """As users write it: pageable tensors, autograd on, memory allocated by each run."""

    _inputs: OperatorInputs
    _user_function: Function
    _stem = REFERENCE
    """The file whose function is run."""
    _fused = False
    """Whether a compiler fuses what it computes."""
    _step = "step"
    """Of a training: the function of a step."""
    _copies_once = True
    """Whether what is fixed is copied when the case is opened, and not again in each refill."""
    _is_loaded = False

    def __init__(self, inputs: OperatorInputs, device: Device, mark: Mark) -> None:
        self._steps = inputs.operator.steps if inputs.operator.by_step else 0
        if inputs.operator.steps > 0 and self.grad_mode is torch.inference_mode:
            self.grad_mode = torch.no_grad  # in which torch.func.grad works, too
        super().__init__(inputs, device, mark)

    def load(self, inputs: OperatorInputs) -> None:
        self._inputs = inputs
        self._inputs.filler = self._device.filler
        self._sources = self._copied_from(inputs)
        self._there = self._staying()
        self._is_loaded = True

    def _copied_from(self, inputs: OperatorInputs) -> list[Tensor]:
        """Return where runs copy the inputs from."""
        return inputs.tensors()

    def _staying(self) -> dict[int, Tensor]:
        """Return the inputs that no run copies, on the device, by their numbers."""
        device, specs = self._device.torch_device, self._inputs.operator.inputs
        pairs = enumerate(zip(self._sources, specs, strict=True))
        return {
            i: self._there[i] if self._has(array) else x.to(device)
            for i, (x, array) in pairs
            if array.stays
        }

    def _has(self, array: Array) -> bool:
        """Return whether an input is where it is copied to, unchanged."""
        return self._is_loaded and self._copies_once and array.is_fixed

    def _arrays(self, outputs: list[Tensor]) -> dict[str, np.ndarray]:
        arrays = self._inputs.operator.outputs
        return {a.name: written(y) for a, y in zip(arrays, outputs, strict=True)}

    def results(self) -> dict[str, Any]:
        return results_of(self._inputs.operator, self._stem, self._user_function.state)

    def _may_repeat(self) -> bool:
        return not any(array.in_place for array in self._inputs.specs)

    def _tolerance(self, name: str) -> float:
        operator = self._inputs.operator
        if not operator.deterministic:
            return math.inf
        (array,) = (array for array in operator.outputs if array.name == name)
        dtype = DTYPES[array.dtype]
        return 10 * torch.finfo(dtype).eps if dtype.is_floating_point else 0

    def _build(self) -> Forward:
        """Return the function after a first run, whose results are checked."""
        device = self._device.torch_device
        self._user_function = self._load(device)
        given = [x.to(device, copy=True) for x in self._inputs.tensors()]
        with self.grad_mode():
            outputs = self._user_function.checked(self._inputs, given)
        forward = self._callable()
        return forward if all(y.is_contiguous() for y in outputs) else _made_dense(forward)

    def _load(self, device: torch.device) -> Function:
        state = state_of(self._inputs, REFERENCE, device, wide=False)
        operator = self._inputs.operator
        name = self._step if operator.steps > 0 else operator.function
        return Function(self._inputs, REFERENCE, name, state, self._offers())

    def _offers(self) -> dict[str, Any]:
        """Return what the function may ask for."""
        return {"fused": self._fused}

    def _callable(self) -> Forward:
        return self._user_function.bound()

    def _upload(self) -> list[Tensor]:
        device = self._device.torch_device
        # On the CPU nothing else is copied: runs must not change the case's inputs.
        return [
            self._there[i] if i in self._there else x.to(device, copy=array.in_place)
            for i, (x, array) in enumerate(zip(self._sources, self._inputs.specs, strict=True))
        ]

    def _download(self, y: Any) -> list[Tensor]:
        return [part.detach().cpu() for part in listed(y)]

    def _outputs(self) -> list[Tensor]:
        return self._without_inputs(super()._outputs())

    def _without_inputs(self, outputs: list[Tensor]) -> list[Tensor]:
        """Leave out what is an input, or a part of one, which must keep its values."""
        kept = {x.untyped_storage().data_ptr() for x in self._kept()}
        return [y for y in outputs if y.untyped_storage().data_ptr() not in kept]

    def _kept(self) -> list[Tensor]:
        return [*self._sources, *self._there.values()]


class Built(Eager):
    """As users write it who build their model in each run: `model` of the reference's file."""

    builds_in_sample = True
    _is_dense = True
    """Whether what the model returns is in row-major order."""

    def load(self, inputs: OperatorInputs) -> None:
        super().load(inputs)
        self._forward = self._rebuild()

    def _load(self, device: torch.device) -> Function:
        self._sources = self._inputs.tensors()
        self._find_model()
        stays = [array.stays for array in self._inputs.specs]
        self._others = [part for part in self._inputs.operator.parts if not np.all(stays[part])]
        return super()._load(device)

    def _find_model(self) -> None:
        operator = self._inputs.operator
        self._weights = [i for i, a in enumerate(operator.inputs) if is_weight(a, operator)]
        model_of = getattr(load(operator, REFERENCE), MODEL, None)
        self._model_call = Call(operator, REFERENCE, model_of, MODEL, self._inputs.params)
        self._model_of = self._model_call.bound()

    def _new_model(self, weights: list[Tensor]) -> Any:
        model = self._model_of(weights)
        if not isinstance(model, torch.nn.Module):
            kind = type(model).__name__
            raise CaseError(
                f"{self._model_call.place} returned a {kind}, expected a torch.nn.Module"
            )
        return model.to(self._device.torch_device)

    def _callable(self) -> Forward:
        return self._rebuild()

    def _prepare_forward(self, _model: Forward) -> Forward:
        """Return the function after a first run, whose results are looked at."""
        with self.grad_mode():
            outputs = listed(self._rebuild()(self._upload()))
        self._expect(outputs)
        self._is_dense = all(y.is_contiguous() for y in outputs)
        return self._rebuild()

    def _expect(self, outputs: list[Any]) -> None:
        _expect_outputs(self._model_call, outputs)

    def _rebuild(self) -> Forward:
        return self._built() if self._is_dense else _made_dense(self._built())

    def _built(self) -> Forward:
        model = self._new_model([self._sources[i] for i in self._weights])
        return lambda x: self._model_call.listed(model(*x))

    def _upload(self) -> list[Any]:
        device, sources = self._device.torch_device, self._sources
        return [
            [x.to(device) for x in sources[part]]
            if isinstance(part, slice)
            else sources[part].to(device)
            for part in self._others
        ]


class BuiltTraining(Built):
    """A training as users write it: `train` changes the parameters of the model, step by step.

    These are the arrays in place, in their order.
    """

    _loop = "train"
    """The function of the reference's file that is called with the model."""

    def _load(self, device: torch.device) -> Function:
        operator = self._inputs.operator
        self._sources = self._inputs.tensors()
        loop = getattr(load(operator, REFERENCE), self._loop, None)
        self._train = Call(operator, REFERENCE, loop, self._loop, self._inputs.params)
        self._find_model()
        self._others = [i for i, array in enumerate(operator.inputs) if not array.in_place]
        return super(Built, self)._load(device)

    def _callable(self) -> Forward:
        found = [tuple(p.shape) for p in self._model_of_copies().parameters()]
        arrays = [self._inputs.specs[i] for i in self._weights]
        if found != [array.shape for array in arrays]:
            expected = ", ".join(f"{array.name} {array.shape}" for array in arrays)
            raise CaseError(
                f"{self._model_call.place}: its parameters have shapes {found}, expected {expected}"
            )
        return super()._callable()

    def _model_of_copies(self) -> Any:
        device = self._device.torch_device
        return self._new_model([self._sources[i].to(device, copy=True) for i in self._weights])

    def _expect(self, outputs: list[Any]) -> None:
        _expect_outputs(self._train, outputs[len(self._weights) :])

    def _built(self) -> Forward:
        model = self._model_of_copies()
        parameters = [p.data for p in model.parameters()]
        train = self._trained(model)
        return lambda others: [*parameters, *train(others)]

    def _for_run(self) -> Forward:
        return self._rebuild()  # of the one before, a run has changed the parameters

    def _trained(self, model: Any) -> Forward:
        """Return all steps as a function of the inputs that are not parameters."""
        train, call = self._train.bound(), self._train

        def step(inputs: list[Any], number: int) -> list[Tensor]:
            values = call.listed(train(inputs, number))
            if number == 0:
                expect_tensors(call, values)
            return values

        return trained_model(step, model, self._inputs.operator)

    def _upload(self) -> list[Tensor]:
        return [
            self._there[i] if i in self._there else self._sources[i].to(self._device.torch_device)
            for i in self._others
        ]


class Loaded(BuiltTraining):
    """The same with data that stay in host memory: `dataloader` does all steps.

    It copies each batch to the device, and returns the values of each curve.
    """

    _loop = "dataloader"

    def _staying(self) -> dict[int, Tensor]:
        return {}

    def _trained(self, model: Any) -> Forward:
        train = self._train.bound()
        return lambda others: self._train.listed(train([model, *others]))

    def _upload(self) -> list[Tensor]:
        return [self._sources[i] for i in self._others]


def opened_eagerly(inputs: OperatorInputs, device: Device, mark: Mark) -> Eager:
    """Build a case of the mode `eager`."""
    has_model = hasattr(load(inputs.operator, REFERENCE), "model")
    built = BuiltTraining if inputs.operator.steps > 0 else Built
    return (built if has_model else Eager)(inputs, device, mark)


class Inference(Eager):
    """Without autograd; inputs, and on a GPU outputs in pinned memory, are allocated once."""

    grad_mode = torch.inference_mode

    def load(self, inputs: OperatorInputs) -> None:
        super().load(inputs)
        # What each run copies: on the CPU only what it changes.
        triples = list(zip(self._x, self._sources, inputs.operator.inputs, strict=True))
        copies = [array.in_place or (self._on_gpu and not array.stays) for *_, array in triples]
        self._copied = [
            (x, source) for (x, source, _), is_one in zip(triples, copies, strict=True) if is_one
        ]
        for (x, source, array), had in zip(triples, self._had, strict=True):
            if array.stays and not had:
                x.copy_(source)

    def _copied_from(self, inputs: OperatorInputs) -> list[Tensor]:
        to, specs = self._x_host if self._on_gpu else self._x, inputs.operator.inputs
        self._had = [self._has(array) for array in specs]
        for own, x, had in zip(to, inputs.sources(), self._had, strict=True):
            if not had:
                own.copy_(x, non_blocking=x.is_cuda)
        self._device.synchronize()
        return self._x_host if self._on_gpu else inputs.tensors()

    def _staying(self) -> dict[int, Tensor]:
        return {}

    def _prepare_buffers(self) -> None:
        sources, device = self._inputs.tensors(), self._device.torch_device
        self._x = [torch.empty_like(x, device=device) for x in sources]
        if self._on_gpu:
            self._x_host = [torch.empty(x.shape, dtype=x.dtype, pin_memory=True) for x in sources]
            self._y_host = [
                torch.empty(array.shape, dtype=DTYPES[array.dtype], pin_memory=True)
                for array in self._inputs.operator.outputs
            ]

    def _upload(self) -> list[Tensor]:
        for x, source in self._copied:
            x.copy_(source, non_blocking=True)
        return self._x

    def _download(self, y: Any) -> list[Tensor]:
        if not self._on_gpu:
            return listed(y)
        for host, part in zip(self._y_host, listed(y), strict=True):
            host.copy_(part, non_blocking=True)
        return self._y_host

    def _kept(self) -> list[Tensor]:
        return [*self._sources, *self._x]


class Compiled(CompiledForward, Inference):
    """Compiled with `max-autotune`; of a training each step."""

    _fused = True

    def _prepare_forward(self, model: Any) -> Forward:
        if self._inputs.operator.steps == 0:
            return super()._prepare_forward(model)
        for x in self._x:  # what the compiler's CUDA graphs may then change in place
            torch._dynamo.mark_static_address(x)
        training = self._user_function.compiled_training("max-autotune")
        with self.grad_mode():
            self._once("compile", training, self._upload())
        return training


class Graph(GraphForward, Inference):
    """Captured in CUDA graphs with static tensors."""

    def _outputs(self) -> list[Tensor]:
        return self._without_inputs(super()._outputs())


class CompiledGraph(CompiledGraphForward, Graph):
    """The graphs of the compiled function."""

    _fused = True
    _options: Mapping[str, bool] = {}
    """The compiler's, for the step of a training."""

    def _function(self, model: Any) -> Forward:
        if self._inputs.operator.steps == 0:
            return super()._function(model)
        training = self._user_function.compiled_training(_WITHOUT_GRAPHS, **self._options)
        self._once("compile", training, self._upload())
        return training


class ComboGraph(CompiledGraph):
    """Of a training: kernels that do not need each other share a launch."""

    _options = {"combo_kernels": True}


class ManualGraph(Graph):
    """Of a training: all steps with gradients by hand, of which the file has parts compiled."""

    _fused = True
    _step = "manual_training"

    def _build(self) -> Forward:
        return self._once("compile", super()._build)

    def _offers(self) -> dict[str, Any]:
        return {**super()._offers(), "compiled": cache(partial(compiled, mode=_WITHOUT_GRAPHS))}


class Overlap(OverlapForward, Graph):
    """Chunks of the arrays that "splits" cuts; the others are copied before the first."""

    def _chunk(self, rows: slice) -> Chunk:
        arrays = self._inputs.specs
        x = [own[rows] if array.cut else own for own, array in zip(self._x, arrays, strict=True)]
        triples = zip(x, self._x_host, arrays, strict=True)
        copies = [(own, host[rows]) for own, host, array in triples if array.cut]
        return Chunk(copies, x, [y[rows] for y in self._y_host])

    def _copy_uncut(self) -> None:
        for x, host, array in zip(self._x, self._x_host, self._inputs.specs, strict=True):
            if not (array.cut or array.stays):
                x.copy_(host, non_blocking=True)


class CompiledOverlap(CompiledOverlapForward, Overlap, CompiledGraph):
    """Overlapping chunks of the compiled function."""


class Mapped(MappedForward, CompiledGraph):
    """The compiled function on host memory, but for inputs that stay on the device."""

    def _mapped(self) -> tuple[list[Tensor], list[Tensor]]:
        for array in self._inputs.operator.outputs:
            if array.in_place:
                raise Skip(f"mapped memory: a run would change the input {array.name} itself")
            if array.dtype not in _POLLED:
                raise Skip(
                    f"polling: found the output {array.name} of {array.dtype}, expected f32 or f16"
                )
        triples = zip(self._x, self._x_host, self._inputs.specs, strict=True)
        x = [own if array.stays else device_view(host) for own, host, array in triples]
        return x, [device_view(host) for host in self._y_host]


def _expect_outputs(call: Call, outputs: list[Any]) -> None:
    expect_tensors(call, outputs)
    for array, y in zip(call.outputs, outputs, strict=True):
        expect_dense(f"{call.place}: {array.name}", array, y)


def _made_dense(forward: Forward) -> Forward:
    """Return the function with outputs in row-major order: their copy is part of the work."""

    def dense(x: Any) -> list[Tensor]:
        return [y.contiguous() for y in listed(forward(x))]

    return dense
