"""What the sessions of all engines that run on PyTorch share: precision, profiler, errors."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

import torch

import protocol
import tracing
from device import DEVICES, out_of_memory_reason
from engine_session import EngineSession
from protocol import Answer
from timing import Mark
from workload import OpenCase


class TorchSession(EngineSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    def __init__(self, device_kind: str) -> None:
        # Same precision as the CUDA side: no TF32 in place of float32.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        super().__init__(DEVICES[device_kind]())

    def versions(self) -> dict[str, str]:
        found = {"torch": torch.__version__}
        with suppress(PackageNotFoundError):
            found["triton"] = version("triton")
        return found

    def out_of_memory_reason(self, error: BaseException) -> str | None:
        return out_of_memory_reason(error)

    def start_trace(self) -> Answer:
        try:
            return protocol.ok(source=tracing.start(self._device))
        except Exception as error:
            return protocol.failed(f"{type(error).__name__}: {error}")

    def trace(self, request: protocol.TraceRequest, case: OpenCase) -> str:
        return tracing.record(request, case.probes, case.output, self._device)

    def marks(self) -> Mark:
        return tracing.marks(self._device)
