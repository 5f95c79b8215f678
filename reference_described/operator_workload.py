"""Described workloads of the engine `pytorch`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from device import Device
from operator_modes import Compiled, CompiledGraph, Eager, Graph, Inference
from operator_oracle import Oracle
from operator_request import Operator
from operator_tensors import OperatorInputs
from protocol import CaseSpec
from timing import Mark
from workload import OpenCase

MODES: dict[str, Callable[[OperatorInputs, Device, Mark], OpenCase]] = {
    "eager": Eager,
    "inference": Inference,
    "compile": Compiled,
    "graph": Graph,
    "compile_graph": CompiledGraph,
    "oracle": Oracle,
}


class OperatorWorkload:
    """The reference of a described workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def make_inputs(self, spec: CaseSpec, seed: int, made: Path | None = None) -> OperatorInputs:
        """Return the data of a case."""
        return OperatorInputs(self._operator, spec, seed, made)

    def open(self, spec: CaseSpec, inputs: OperatorInputs, device: Device, mark: Mark) -> OpenCase:
        """Build a case."""
        return MODES[spec.variant](inputs, device, mark)
