"""The session of Python files: its only workloads are operators."""

from __future__ import annotations

from candidate import CandidateWorkload
from operator_request import Operator
from torch_session import TorchSession


class Session(TorchSession):
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    engine = "python"
    workloads = {}

    def operator(self, operator: Operator) -> CandidateWorkload:
        return CandidateWorkload(operator)
