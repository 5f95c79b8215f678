"""What the sessions of all engines that run on PyTorch share: precision, profiler, errors."""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

import precision
import protocol
import tracing
from device import DEVICES, out_of_memory_reason
from engine_session import EngineSession
from protocol import Answer, CaseRequest
from timing import Mark
from workload import CaseError, OpenCase


class TorchSession(EngineSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    def __init__(self, device_kind: str) -> None:
        precision.switch_all()
        super().__init__(DEVICES[device_kind]())

    def versions(self) -> dict[str, str]:
        found = {"torch": torch.__version__, "switches": precision.text()}
        with suppress(PackageNotFoundError):
            found["triton"] = version("triton")
        return found

    def _carry_out(self, request: CaseRequest) -> dict[str, Any]:
        done = super()._carry_out(request)
        if changed := precision.restore():
            self._cases.pop(request.id, None)
            raise CaseError(
                f"a run sets {', '.join(changed)}: switches are the same for all contenders"
            )
        return done

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
