"""What the sessions of all engines that run on PyTorch share: precision, compiler, profiler, errors."""

from __future__ import annotations

import json
import sys
import traceback
from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch

import compile_choices
import needs
import precision
import protocol
import torch_needs
import tracing
import turns
import user_file
from capturing import tunes_in_turns, use_compile_cache
from device import DEVICES, out_of_memory_reason
from engine_session import EngineSession
from operator_fill import Filler
from protocol import Answer, CaseRequest
from timing import Mark
from workload import CaseError, OpenCase, Skip


class TorchSession(EngineSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing.

    Some variants use `torch.compile` or capture CUDA graphs.
    """

    open_keys = ("inputs", "compile_cache", "refill")

    def __init__(self, device_kind: str) -> None:
        precision.switch_all()
        super().__init__(DEVICES[device_kind]())
        self._tf32: dict[str, bool] = {}
        """By case: whether its dtype allows TF32."""
        # What torch.compile lacks here; "": nothing, None: not checked yet.
        self._compile_lacks: str | None = None

    def versions(self) -> dict[str, str]:
        found = {"torch": torch.__version__, "switches": precision.text()}
        with suppress(PackageNotFoundError):
            found["triton"] = version("triton")
        return found

    def _carry_out(self, request: CaseRequest) -> dict[str, Any]:
        with precision.products(tf32=self._allows_tf32(request)):
            done = super()._carry_out(request)
            if changed := precision.restore():
                self._cases.pop(request.id, None)
                raise CaseError(
                    f"a run sets {', '.join(changed)}: switches are the same for all contenders"
                )
            return done

    def _allows_tf32(self, request: CaseRequest) -> bool:
        if isinstance(request, protocol.OpenRequest):
            operator = request.operator
            self._tf32[request.id] = (
                request.case.dtype == "tf32" if operator is None else operator.tf32
            )
        return self._tf32.get(request.id, False)

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

    @abstractmethod
    def uses_compiler(self, variant: str) -> bool:
        """Return whether a variant uses `torch.compile` on this device."""

    def prepare(self, request: protocol.OpenRequest) -> None:
        if request.refill and self._device.filler is None:
            self._device.filler = Filler(request.refill)
        if self.uses_compiler(request.case.variant):
            self._expect_compiler()
            if request.compile_cache:
                compile_choices.restore(request.compile_cache)
                is_compiled = compile_choices.are_made(request.compile_cache, request.case.id)
                # On the CPU no shape is dynamic, and a folder's headers are compiled for seconds.
                on_gpu = self._device.kind == "cuda"
                size = json.dumps(request.case.params, sort_keys=True) if on_gpu else ""
                use_compile_cache(request.compile_cache, is_compiled=is_compiled, size=size)

    def turn(self, request: protocol.OpenRequest) -> AbstractContextManager[None]:
        # Only what compiles waits for the compiler's import, of seconds.
        if turns.are_taken() and self.uses_compiler(request.case.variant) and tunes_in_turns():
            return nullcontext()
        return super().turn(request)

    def built(self, request: protocol.OpenRequest) -> None:
        if request.compile_cache and self.uses_compiler(request.case.variant):
            compile_choices.keep(request.compile_cache, request.case.id)

    def lacks(self, request: CaseRequest, error: BaseException) -> str | None:
        """Return what the compiler lacks here if a compilation failed for it."""
        opens = isinstance(request, protocol.OpenRequest)
        if not opens or not self.uses_compiler(request.case.variant):
            return None
        if reason := _not_one_graph(error):
            return reason
        lacks = torch_needs.compile_cause(error, self._device.kind)
        if not lacks:
            return None
        traceback.print_exc(file=sys.stderr)
        self._compile_lacks = lacks
        return lacks

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
    """Return where a user's function has what the compiler cannot trace; None: nowhere."""
    for cause in needs.causes(error):
        where = user_file.located(cause)
        if where and "Unsupported" in (kind.__name__ for kind in type(cause).__mro__):
            return f"torch.compile cannot make one graph of it: {where}"
    return None
