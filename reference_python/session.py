"""The session of Python files: its only workloads are described ones."""

from __future__ import annotations

import sys
import traceback
from typing import Any

import needs
import protocol
import user_file
from candidate import CandidateWorkload
from operator_request import Operator
from protocol import CaseRequest
from torch_session import TorchSession
from untouched import Untouched
from ways import COMPILE
from workload import CaseError

# Looking at all of the harness takes milliseconds, which must not be in a request that is timed.
_THOROUGHLY = (protocol.OpenRequest, protocol.LastRequest, protocol.CloseRequest)

_COMPILERS = ("torch._dynamo.", "torch._inductor.")
_A_FILE = "a file that this process has loaded"


class Session(TorchSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    engine = "python"
    workloads = {}

    def __init__(self, device_kind: str) -> None:
        super().__init__(device_kind)
        self._harness = Untouched()

    def operator(self, operator: Operator) -> CandidateWorkload:
        return CandidateWorkload(operator)

    def compiles(self) -> dict[str, list[str]]:
        """Return what uses `torch.compile` on a GPU; on the CPU it times nothing."""
        return {"operator": [f"*{COMPILE}"]} if self._device.kind == "cuda" else {}

    def uses_compiler(self, variant: str) -> bool:
        return variant.endswith(COMPILE)

    def lacks(self, request: CaseRequest, error: BaseException) -> str | None:
        """Return what else keeps a file from being compiled: without the compiler it has run."""
        if (found := super().lacks(request, error)) is not None:
            return found
        if not isinstance(request, protocol.OpenRequest) or not self.uses_compiler(
            request.case.variant
        ):
            return None
        for cause in needs.causes(error):
            if type(cause).__module__.startswith(_COMPILERS):
                traceback.print_exc(file=sys.stderr)
                where = user_file.located(error) or needs.first_line(cause)
                return f"torch.compile does not compile it: {where}"
        return None

    def sound(self, request: CaseRequest) -> dict[str, Any]:
        replaced = self._harness.replaced() if isinstance(request, _THOROUGHLY) else None
        if replaced is not None:
            raise CaseError(f"{_A_FILE} has replaced {replaced} of the harness")
        if (watches := self._harness.watched()) is not None:
            raise CaseError(f"{_A_FILE} has left on {watches}")
        beside = self._harness.beside()
        return {} if beside is None else {"beside": beside}
