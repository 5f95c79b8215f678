"""Described workloads of the engine `pytorch`."""

from __future__ import annotations

from collections.abc import Callable

from device import Device
from input_files import InputFiles
from operator_modes import (
    ComboGraph,
    Compiled,
    CompiledGraph,
    CompiledOverlap,
    Graph,
    Inference,
    Loaded,
    ManualGraph,
    Mapped,
    Overlap,
    opened_eagerly,
)
from operator_oracle import Oracle
from operator_request import Operator
from operator_tensors import OperatorInputs
from protocol import CaseSpec
from timing import Mark
from workload import OpenCase

MODES: dict[str, Callable[[OperatorInputs, Device, Mark], OpenCase]] = {
    "eager": opened_eagerly,
    "inference": Inference,
    "compile": Compiled,
    "graph": Graph,
    "compile_graph": CompiledGraph,
    "combo_graph": ComboGraph,
    "manual_graph": ManualGraph,
    "dataloader": Loaded,
    "overlap": Overlap,
    "compile_overlap": CompiledOverlap,
    "mapped": Mapped,
    "oracle": Oracle,
}


class OperatorWorkload:
    """The reference of a described workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def make_inputs(self, spec: CaseSpec, files: InputFiles | None) -> OperatorInputs:
        """Return the data of a case."""
        return OperatorInputs(self._operator, spec, files)

    def open(self, spec: CaseSpec, inputs: OperatorInputs, device: Device, mark: Mark) -> OpenCase:
        """Build a case."""
        return MODES[spec.variant](inputs, device, mark)
