"""The session of PyTorch: its workloads, and which of their modes compile and capture."""

from __future__ import annotations

import protocol
from allocate import Allocate
from operator_request import Operator
from operator_tensors import write_made
from operator_workload import OperatorWorkload
from torch_session import TorchSession
from workload import Skip

WORKLOADS = {"allocate": Allocate()}

# Modes that use `torch.compile`, by kind of device. On the CPU those that also capture are skipped
# for lack of CUDA graphs.
_COMPILING_GRAPHS = ("compile_graph", "combo_graph", "compile_overlap", "mapped", "manual_graph")
COMPILING = {"cpu": ("compile",), "cuda": ("compile", *_COMPILING_GRAPHS)}
# Modes that capture CUDA graphs by hand.
CAPTURING = ("graph", "overlap", *_COMPILING_GRAPHS)


class Session(TorchSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    engine = "pytorch"
    workloads = WORKLOADS

    def operator(self, operator: Operator) -> OperatorWorkload:
        return OperatorWorkload(operator)

    def write_inputs(self, request: protocol.InputsRequest) -> None:
        write_made(request.operator, request.case, (request.seed, request.refill), request.path)

    def compiles(self) -> dict[str, list[str]]:
        """Return the modes that use `torch.compile` on a GPU; on the CPU it times nothing."""
        if self._device.kind == "cpu":
            return {}
        compiling = COMPILING["cuda"]
        # All described workloads go by one name: theirs are not known before `open`.
        modes = {
            **{name: workload.modes for name, workload in WORKLOADS.items()},
            "operator": OperatorWorkload.modes,
        }
        return {name: [mode for mode in of if mode in compiling] for name, of in modes.items()}

    def prepare(self, request: protocol.OpenRequest) -> None:
        super().prepare(request)
        if request.case.variant in CAPTURING and self._device.kind != "cuda":
            raise Skip("CUDA graphs need a GPU")

    def uses_compiler(self, variant: str) -> bool:
        return variant in COMPILING[self._device.kind]
