"""The session of PyTorch: its workloads, its compiler, its profiler and its errors."""

from __future__ import annotations

import sys
import traceback

import compile_choices
import needs
import protocol
import torch_needs
import user_file
from allocate import Allocate
from capturing import use_compile_cache
from linreg_train import LinregTrain
from mlp_infer import MlpInfer
from mlp_train import MlpTrain
from mnist_train import MnistTrain
from operator_request import Operator
from operator_workload import OperatorWorkload
from protocol import CaseRequest
from torch_session import TorchSession
from workload import Skip

WORKLOADS = {
    "mlp_infer": MlpInfer(),
    "linreg_train": LinregTrain(),
    "mnist_train": MnistTrain(),
    "mlp_train": MlpTrain(),
    "allocate": Allocate(),
}

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
    open_keys = ("results", "compile_cache")

    def __init__(self, device_kind: str) -> None:
        super().__init__(device_kind)
        # What torch.compile lacks here; "": nothing, None: not checked yet.
        self._compile_lacks: str | None = None

    def operator(self, operator: Operator) -> OperatorWorkload:
        return OperatorWorkload(operator)

    def compiles(self) -> dict[str, list[str]]:
        """Return the modes that use `torch.compile` on a GPU; on the CPU it times nothing."""
        if self._device.kind == "cpu":
            return {}
        compiling = COMPILING["cuda"]
        # All operators go by one name: theirs are not known before `open`.
        modes = {
            **{name: workload.modes for name, workload in WORKLOADS.items()},
            "operator": OperatorWorkload.modes,
        }
        return {name: [mode for mode in of if mode in compiling] for name, of in modes.items()}

    def prepare(self, request: protocol.OpenRequest) -> None:
        if self._uses_compiler(request):
            self._expect_compiler()
            if request.compile_cache:
                compile_choices.restore(request.compile_cache)
                use_compile_cache(request.compile_cache)
        if request.case.variant in CAPTURING and self._device.kind != "cuda":
            raise Skip("CUDA graphs need a GPU")

    def built(self, request: protocol.OpenRequest) -> None:
        if request.compile_cache and self._uses_compiler(request):
            compile_choices.keep(request.compile_cache)

    def lacks(self, request: CaseRequest, error: BaseException) -> str | None:
        """Return what the compiler lacks here if a compilation failed for it."""
        if not self._uses_compiler(request):
            return None
        if reason := _not_one_graph(error):
            return reason
        lacks = torch_needs.compile_cause(error, self._device.kind)
        if not lacks:
            return None
        traceback.print_exc(file=sys.stderr)
        self._compile_lacks = lacks
        return lacks

    def _uses_compiler(self, request: CaseRequest) -> bool:
        compiling = COMPILING[self._device.kind]
        return isinstance(request, protocol.OpenRequest) and request.case.variant in compiling

    def _expect_compiler(self) -> None:
        """Skip a case that cannot be compiled here before spending time on it."""
        if self._compile_lacks is None:
            kind = self._device.kind
            # What Triton itself lacks depends on what it has already built: only a failure tells.
            lacks = (
                torch_needs.triton_lacks() if kind == "cuda" else torch_needs.compile_lacks(kind)
            )
            self._compile_lacks = lacks or ""
        if self._compile_lacks:
            raise Skip(self._compile_lacks)


def _not_one_graph(error: BaseException) -> str | None:
    """Return where an operator's reference has what the compiler cannot trace; None: nowhere."""
    for cause in needs.causes(error):
        where = user_file.located(cause)
        if where and type(cause).__name__ == "Unsupported":
            return f"torch.compile cannot make one graph of it: {where}"
    return None
