"""What a workload must offer to be run by the worker.

To add one: write a file with a class of this shape, and put it into `WORKLOADS` in `session.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

import numpy as np

from device import Device
from protocol import CaseSpec
from timing import Mark, Probe

# The modes of all workloads that go through `torch.compile`, by kind of device. On the CPU there
# are no graphs to capture: `compile_graph` never gets that far.
COMPILING = {"cpu": ("compile",), "cuda": ("compile", "compile_graph")}
# Those that capture CUDA graphs by hand.
CAPTURING = ("graph", "compile_graph")

ClockDomain = Literal["host", "device"]
Inputs = TypeVar("Inputs")


class Skip(Exception):
    """The case cannot apply here: no fault of anybody."""


class CaseError(Exception):
    """The case is ill-formed: its message is the whole reason."""


class OpenCase(Protocol):
    """A case that is ready to run. Dropping the last reference frees what it holds."""

    @property
    def phases(self) -> Mapping[str, ClockDomain]:
        """Every phase that the probes return."""
        ...

    @property
    def probes(self) -> Sequence[Probe]:
        """What times the phases, all of them between them; each runs the case once."""
        ...

    @property
    def once_ns(self) -> Mapping[str, int]:
        """One-time costs of making the case ready, first run excepted."""
        ...

    def output(self) -> dict[str, np.ndarray]:
        """Poison every output buffer, run what the probes run, and return arrays of its own."""
        ...

    def results(self) -> dict[str, Any]:
        """Return what the case leaves behind when it is closed; {} for inference."""
        ...


class Workload(Protocol, Generic[Inputs]):
    """A kind of case."""

    @property
    def modes(self) -> Sequence[str]:
        """The ways to run it with PyTorch: the `variant` of a case."""
        ...

    def make_inputs(self, spec: CaseSpec, seed: int) -> Inputs:
        """Check params and dtype and make the data; cases with equal ones share the result."""
        ...

    def open(self, spec: CaseSpec, inputs: Inputs, device: Device, mark: Mark) -> OpenCase:
        """Build a case; raises `Skip` where it cannot apply."""
        ...


def expect_dtype(spec: CaseSpec, written: Collection[str], on_cpu: Collection[str]) -> None:
    """Skip a case whose dtype the workload has not, at all or on the CPU."""
    for where, known in (("", written), (" on the CPU", on_cpu)):
        if spec.dtype not in known and (not where or spec.device == "cpu"):
            names = ", ".join(known)
            verb = "are" if "," in names else "is"
            raise Skip(f"dtype {spec.dtype}: only {names} {verb} written for PyTorch{where}")
