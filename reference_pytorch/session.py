"""The session of PyTorch: its workloads, its compiler, its profiler and its errors."""

from __future__ import annotations

import sys
import traceback

import torch

import protocol
import torch_needs
import tracing
from allocate import Allocate
from capturing import use_compile_cache
from device import DEVICES, out_of_memory_reason
from engine_session import EngineSession
from linreg_train import LinregTrain
from mlp_infer import MlpInfer
from mlp_train import MlpTrain
from mnist_train import MnistTrain
from protocol import Answer, CaseRequest
from timing import Mark
from workload import OpenCase, Skip

WORKLOADS = {
    "mlp_infer": MlpInfer(),
    "linreg_train": LinregTrain(),
    "mnist_train": MnistTrain(),
    "mlp_train": MlpTrain(),
    "allocate": Allocate(),
}

# Modes that use `torch.compile`, by kind of device. On the CPU those that also capture are skipped
# for lack of CUDA graphs.
_COMPILING_GRAPHS = ("compile_graph", "compile_overlap", "mapped", "manual_graph")
COMPILING = {"cpu": ("compile",), "cuda": ("compile", *_COMPILING_GRAPHS)}
# Modes that capture CUDA graphs by hand.
CAPTURING = ("graph", "overlap", *_COMPILING_GRAPHS)


class Session(EngineSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    engine = "pytorch"
    workloads = WORKLOADS

    def __init__(self, device_kind: str) -> None:
        # Same precision as the CUDA side: no TF32 in place of float32.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        super().__init__(DEVICES[device_kind]())
        # What torch.compile lacks here; "": nothing, None: not checked yet.
        self._compile_lacks: str | None = None

    def versions(self) -> dict[str, str]:
        return {"torch": torch.__version__}

    def out_of_memory_reason(self, error: Exception) -> str | None:
        return out_of_memory_reason(error)

    def compiles(self) -> dict[str, list[str]]:
        compiling = COMPILING[self._device.kind]
        return {
            name: [mode for mode in workload.modes if mode in compiling]
            for name, workload in WORKLOADS.items()
        }

    def start_trace(self) -> Answer:
        try:
            return protocol.ok(source=tracing.start(self._device))
        except Exception as error:
            return protocol.failed(f"{type(error).__name__}: {error}")

    def trace(self, request: protocol.TraceRequest, case: OpenCase) -> str:
        return tracing.record(request, case.probes, case.output, self._device)

    def marks(self) -> Mark:
        return tracing.marks(self._device)

    def prepare(self, request: protocol.OpenRequest) -> None:
        if self._uses_compiler(request):
            self._expect_compiler()
            if request.compile_cache:
                use_compile_cache(request.compile_cache)
        if request.case.variant in CAPTURING and self._device.kind != "cuda":
            raise Skip("CUDA graphs need a GPU")

    def lacks(self, request: CaseRequest, error: Exception) -> str | None:
        """Return what the compiler lacks here if a compilation failed for it."""
        lacks = self._uses_compiler(request) and torch_needs.compile_cause(error, self._device.kind)
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
