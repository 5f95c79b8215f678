"""The session of Python files: its only workloads are operators."""

from __future__ import annotations

from typing import Any

import protocol
from candidate import CandidateWorkload
from operator_request import Operator
from protocol import CaseRequest
from torch_session import TorchSession
from untouched import Untouched
from workload import CaseError

# Looking at all of the harness takes about a millisecond.
_THOROUGHLY = (
    protocol.OpenRequest,
    protocol.LastRequest,
    protocol.AuditRequest,
    protocol.CloseRequest,
)


_A_FILE = "a file of this process (--isolate gives each its own)"


class Session(TorchSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    engine = "python"
    workloads = {}

    def __init__(self, device_kind: str) -> None:
        super().__init__(device_kind)
        self._harness = Untouched()

    def operator(self, operator: Operator) -> CandidateWorkload:
        return CandidateWorkload(operator)

    def sound(self, request: CaseRequest) -> dict[str, Any]:
        replaced = self._harness.replaced() if isinstance(request, _THOROUGHLY) else None
        if replaced is not None:
            raise CaseError(f"{_A_FILE} has replaced {replaced} of the harness")
        if (watches := self._harness.watched()) is not None:
            raise CaseError(f"{_A_FILE} has left on {watches}")
        beside = self._harness.beside()
        return {} if beside is None else {"beside": beside}
