"""The interface between a worker and its workloads.

To add a workload, write a class of this shape and add it to `WORKLOADS` in the engine's
`session.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np

from protocol import CaseSpec
from timing import Mark, Probe

ClockDomain = Literal["host", "device"]
# A case is compared with others by the first of these that it has.
COMPARED = ("host_to_host", "train", "total")
# Ends the name of a number beside an output: the size of the terms that it was summed from.
SCALE = ".scale"
# Ends the name of an array beside an output in place: what it held before the run.
INITIAL = ".initial"
Inputs = TypeVar("Inputs")


class Skip(Exception):
    """The case does not apply here; not an error."""


class CaseError(Exception):
    """The case is invalid or failed; the message is the complete reason."""


class TimedPhase(NamedTuple):
    """What one phase times, to be run without clocks."""

    runs: AbstractContextManager[Callable[[], Any]]
    """Prepares it; each call of what it gives is one complete run."""
    calls: int = 1
    """How many times of the phase a run takes: that of a batch of launches is of one of them."""


class OpenCase(Protocol):
    """A case that is ready to run. Dropping the last reference frees what it holds."""

    @property
    def phases(self) -> Mapping[str, ClockDomain]:
        """Every phase that the probes return."""
        ...

    @property
    def probes(self) -> Sequence[Probe]:
        """The functions that time the phases; each runs the case once.

        All run when the case is opened, unless it has `runs_when_opened` false, and one probe.
        """
        ...

    @property
    def once_ns(self) -> Mapping[str, int]:
        """One-time costs of preparing the case, without its first run."""
        ...

    def load(self, inputs: Any) -> None:
        """Have further runs use these inputs, of the same shapes: refills what runs read.

        Nothing is compiled or captured anew.
        """
        ...

    def leave_random(self) -> None:
        """Fill every buffer that runs write, on host and device, with random values."""
        ...

    def read(self) -> dict[str, np.ndarray]:
        """Return, as new arrays, those of `output` that the last run of a probe left.

        Runs nothing. A case that need not read them from the device at once has the optional method
        `keep`, which returns a function of no arguments: it gives these arrays, whatever runs later.
        """
        ...

    def output(self, *, compares: bool = True) -> dict[str, np.ndarray]:
        """Do `leave_random`, run what the probes run, and return new arrays.

        `compares`: false only of a call in the middle of a whole training: what it returns is compared
        with nothing, so that one run of one probe is enough.
        """
        ...

    def timed(self) -> AbstractContextManager[Callable[[], Any]]:
        """Prepare what the compared phase times; each call of it is one complete run.

        A case whose compared phase is no whole run has the optional attribute `audited`, the name of
        the phase that a call of it takes. The optional method `timed_phase` returns the `TimedPhase`
        of another phase, or None if that cannot be run without the rest of a sample.
        """
        ...

    def results(self) -> dict[str, Any]:
        """Return the results reported when the case is closed; {}: none."""
        ...


class Workload(Protocol, Generic[Inputs]):
    """A kind of case."""

    @property
    def modes(self) -> Sequence[str]:
        """The ways to run it: the `variant` of a case."""
        ...

    def make_inputs(self, spec: CaseSpec, seed: int) -> Inputs:
        """Check params and dtype and make the data, which cases with equal ones share."""
        ...

    def open(self, spec: CaseSpec, inputs: Inputs, device: Any, mark: Mark) -> OpenCase:
        """Build a case; raises `Skip` if it does not apply here."""
        ...
