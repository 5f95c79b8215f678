"""Implementations of an operator in Python: `run` of a file beside reference.py.

Inputs are tensors on the device that are allocated once and copied from pinned memory, as in the
mode `inference` of PyTorch; `run` is called in the same way in all phases, without autograd. With
`GRAPH = True` in the file, runs on a GPU are captured in CUDA graphs, as in the mode `graph`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import increment_version

import user_file
from changing import Changing, fits
from device import Device
from forward import Forward, listed
from operator_files import REFERENCE, load
from operator_function import Function, state_of
from operator_modes import Graph, Inference
from operator_request import Operator
from operator_tensors import OperatorInputs, written
from protocol import CaseSpec
from timing import Mark, Probe, Sample
from workload import CaseError, Skip

_RUN, _REPEATED = "run", "forward_graph"
_LEFT_OUT = f"check: {_REPEATED} was not compared on changing inputs (no memory for a copy of them)"


class Candidate(Inference):
    """A case of one file."""

    # Not inference_mode: its tensors may not be used outside, which a file's own caches do.
    grad_mode = torch.no_grad

    _returned: list[Tensor]
    """What the function returned in the last run."""

    def __init__(self, stem: str, inputs: OperatorInputs, device: Device, mark: Mark) -> None:
        self._stem = stem
        super().__init__(inputs, device, mark)

    def read(self) -> dict[str, np.ndarray]:
        self._user_function.expect_no_mode()
        self._user_function.expect_unchanged(self._inputs, self._x)
        return super().read()

    def _load(self, device: torch.device) -> Function:
        operator = self._inputs.operator
        with _missing_module_skips(operator):
            state = state_of(self._inputs, self._stem, device, wide=False)
            return Function(operator, self._stem, _RUN, state)

    def _callable(self) -> Forward:
        function = self._user_function
        run, outputs_of = function.bound(), function.outputs_of

        def forward(inputs: list[Tensor]) -> list[Tensor]:
            self._returned = []  # dropped before the run, which can then reuse its memory
            self._returned = outputs_of(run(inputs), inputs)
            return self._returned

        return forward

    def _keeping(self, probes: Sequence[Probe]) -> list[Probe]:
        return [self._complete(probe) for probe in super()._keeping(probes)]

    def _complete(self, probe: Probe) -> Probe:
        """Return the probe with a look at what the function returned, as soon as its time is taken.

        Before it inputs get another version, as if they were written: PyTorch's count of that does
        not tell which of them are new.
        """

        @wraps(probe)
        def run() -> Sample:
            for x in self._x:
                increment_version(x)
            sample = probe()
            self._user_function.expect_complete(self._returned, self._x)
            return sample

        return run


class CapturedCandidate(Graph, Candidate):
    """A case of one file whose runs are captured."""

    _changing: Changing | None = None

    def middle(self) -> dict[str, np.ndarray] | None:
        """Return what a run in the middle of a graph left, on the inputs as opened; None: unknown."""
        arrays = self._inputs.operator.outputs
        if self._changing is None or len(self._changing.middle) < len(arrays):
            return None
        return {a.name: written(y) for a, y in zip(arrays, self._changing.middle, strict=True)}

    def results(self) -> dict[str, Any]:
        results = super().results()
        if self._changing is None and self._may_repeat():
            results["notes"] = [*results.get("notes", []), _LEFT_OUT]
        return results

    def changing(self, ns: Mapping[str, float]) -> dict[str, float]:
        """Return a run's time if its inputs change before it, of a fresh sample that took `ns`."""
        if self._changing is None or _REPEATED not in ns:
            return {}
        with self.grad_mode():
            self._upload()
            return {_REPEATED: ns[_REPEATED] + self._changing.more_ns(self._events)}

    def _prepare_forward(self, model: Forward) -> Forward:
        replay = super()._prepare_forward(model)
        outputs = listed(self._repeated.result) if self._may_repeat() else []
        if self._may_repeat() and fits(self._x, outputs):
            # What a function made may depend on where it is.
            kinds = [spec.fill.kind if spec.fill else None for spec in self._inputs.specs]
            with self.grad_mode():
                self._changing = Changing(
                    model,
                    self._x,
                    outputs,
                    may_rotate=[kind != "function" for kind in kinds],
                    opened=self._inputs.tensors(),
                    repeats=self._n_repeats,
                )
        return replay


class CandidateWorkload:
    """The files of an operator's folder; implements `workload.Workload`."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        folder = Path(operator.folder)
        if not folder.is_dir():
            raise CaseError(f"operator.folder: {folder} is not a folder")
        stems = sorted(path.stem for path in folder.glob("*.py"))
        # What others import begins with an underscore.
        self.modes = [s for s in stems if s != REFERENCE and not s.startswith("_")]

    def make_inputs(self, spec: CaseSpec, seed: int) -> OperatorInputs:
        """Return the data of a case."""
        return OperatorInputs(self._operator, spec, seed)

    def open(self, spec: CaseSpec, inputs: OperatorInputs, device: Device, mark: Mark) -> Candidate:
        """Build a case."""
        with _missing_module_skips(self._operator):
            captured = getattr(load(self._operator, spec.variant), "GRAPH", False)
        kind = CapturedCandidate if captured and device.kind == "cuda" else Candidate
        return kind(spec.variant, inputs, device, mark)


@contextmanager
def _missing_module_skips(operator: Operator) -> Iterator[None]:
    """Skip the case if one of its files imports a module that is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        where = user_file.located(error)
        if where is None or (Path(operator.folder) / f"{error.name}.py").exists():
            raise
        place = where.partition(": ")[0]
        raise Skip(f"{place}: {error.name} is not installed for this Python") from error
