"""Modes in which PyTorch runs a workload: those of `mlp_infer`, with several inputs and outputs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from forward import (
    CompiledForward,
    CompiledGraphForward,
    Forward,
    ForwardCase,
    GraphForward,
    listed,
)
from operator_files import REFERENCE, results_of
from operator_function import Function, state_of
from operator_tensors import DTYPES, OperatorInputs, written


class Eager(ForwardCase):
    """As users write it: pageable tensors, autograd on, memory allocated by each run."""

    _inputs: OperatorInputs
    _user_function: Function
    _stem = REFERENCE
    """The file whose function is run."""

    def load(self, inputs: OperatorInputs) -> None:
        self._inputs = inputs
        self._inputs.filler = self._device.filler
        self._sources = inputs.tensors()
        self._there = self._staying()

    def _staying(self) -> dict[int, Tensor]:
        """Return the inputs that no run copies, on the device, by their numbers."""
        device, specs = self._device.torch_device, self._inputs.operator.inputs
        pairs = enumerate(zip(self._sources, specs, strict=True))
        return {i: x.to(device) for i, (x, array) in pairs if array.stays}

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
        return Function(self._inputs, REFERENCE, REFERENCE, state)

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


class Inference(Eager):
    """Without autograd; inputs, and on a GPU outputs in pinned memory, are allocated once."""

    grad_mode = torch.inference_mode

    def load(self, inputs: OperatorInputs) -> None:
        super().load(inputs)
        for own, x in zip(self._x_host if self._on_gpu else self._x, self._sources, strict=True):
            own.copy_(x)
        if self._on_gpu:
            self._sources = self._x_host
        # What each run copies: on the CPU only what it changes.
        triples = list(zip(self._x, self._sources, inputs.operator.inputs, strict=True))
        copies = [array.in_place or (self._on_gpu and not array.stays) for *_, array in triples]
        self._copied = [
            (x, source) for (x, source, _), is_one in zip(triples, copies, strict=True) if is_one
        ]
        for x, source, array in triples:
            if array.stays:
                x.copy_(source)

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
    """Compiled with `max-autotune`."""


class Graph(GraphForward, Inference):
    """Captured in CUDA graphs with static tensors."""

    def _outputs(self) -> list[Tensor]:
        return self._without_inputs(super()._outputs())


class CompiledGraph(CompiledGraphForward, Graph):
    """The graphs of the compiled function."""


def _made_dense(forward: Forward) -> Forward:
    """Return the function with outputs in row-major order: their copy is part of the work."""

    def dense(x: Any) -> list[Tensor]:
        return [y.contiguous() for y in listed(forward(x))]

    return dense
