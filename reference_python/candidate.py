"""Implementations of a workload in Python: `run` of a file beside reference.py.

Inputs are tensors on the device that are allocated once and copied from pinned memory, as in the
mode `inference` of PyTorch; `run` is called in the same way in all phases, without autograd. Which
other ways there are to run it, `ways.py` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import increment_version

import extensions
import interpreted
import needs
import user_file
from capturing import Captured, leave_capture
from case import fill_randomly
from changing import Changing, fits
from device import Device, out_of_memory_reason
from forward import CompiledForward, CompiledGraphForward, Forward, listed
from input_files import InputFiles
from kept import Kept
from operator_files import REFERENCE, load
from operator_function import Function, state_of
from operator_modes import Graph, Inference
from operator_request import Operator
from operator_tensors import OperatorInputs, written
from outputs import difference
from protocol import CaseSpec
from timing import Mark, Probe, Sample
from ways import GRAPH, Ways
from workload import CaseError, Skip

_RUN, _REPEATED = "run", "forward_graph"
_LEFT_OUT = f"check: {_REPEATED} was not compared on changing inputs (no memory for a copy of them)"
_NO_GRAPH = "it cannot be captured in a CUDA graph"
# What errors of CUDA mean for the author of a function.
_CAPTURE_ERRORS = {
    "not permitted when stream is capturing": "it waits for the GPU, or allocates past PyTorch",
    "previous error during capture": "it waits for the GPU, or allocates past PyTorch",
    "another stream": "it works on another stream than torch.cuda.current_stream()",
    "unjoined work": "it leaves work on another stream",
    "legacy stream": "it works on the default stream, not on torch.cuda.current_stream()",
}
T = TypeVar("T")


class Candidate(Inference):
    """A case of one file."""

    # Not inference_mode: its tensors may not be used outside, which a file's own caches do.
    grad_mode = torch.no_grad
    _copies_once = False  # a file may change what it is given

    _returned: list[Tensor]
    """What the function returned in the last run."""

    def __init__(self, stem: str, inputs: OperatorInputs, device: Device, mark: Mark) -> None:
        self._stem = stem
        super().__init__(inputs, device, mark)

    def results(self) -> dict[str, Any]:
        results = super().results()
        notes = [] if self._on_gpu else interpreted.notes(Path(self._inputs.operator.folder))
        if notes:
            results["notes"] = [*results.get("notes", []), *notes]
        return results

    def keep(self) -> Kept:
        self._user_function.expect_no_mode()
        self._user_function.expect_unchanged(self._inputs, self._x, self._sources)
        return super().keep()

    def _load(self, device: torch.device) -> Function:
        operator = self._inputs.operator
        with _missing_module_skips(operator):
            state = state_of(self._inputs, self._stem, device, wide=False)
            return Function(self._inputs, self._stem, _RUN, state, {"fused": self._fused})

    def _callable(self) -> Forward:
        return self._watched(self._user_function.bound())

    def _watched(self, run: Forward) -> Forward:
        """Return the function, which is looked at after each run."""
        outputs_of = self._user_function.outputs_of

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
    _captured_function: Forward

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

    def _function(self, model: Any) -> Forward:
        self._captured_function = super()._function(model)
        return self._captured_function

    def _captured(self, work: Callable[[], T]) -> Captured[T]:
        def on_one_stream() -> T:
            with torch.cuda.stream(torch.cuda.current_stream()):  # a function may leave another one
                return work()

        with self._capture_failure_skips():
            return super()._captured(on_one_stream)

    @contextmanager
    def _capture_failure_skips(self) -> Iterator[None]:
        stream = torch.cuda.current_stream()
        try:
            yield
        except (CaseError, Skip):
            raise
        except Exception as error:
            leave_capture(stream)
            if out_of_memory_reason(error):
                raise
            raise Skip(f"{_NO_GRAPH}: {_why_not_captured(error)}") from error

    def _prepare_forward(self, model: Forward) -> Forward:
        replay = super()._prepare_forward(model)
        outputs = listed(self._repeated.result) if self._may_repeat() else []
        if self._may_repeat() and fits(self._x, outputs):
            # What a function made may depend on where it is.
            kinds = [spec.fill.kind if spec.fill else None for spec in self._inputs.specs]
            with self.grad_mode(), self._capture_failure_skips():
                self._changing = Changing(
                    self._captured_function,
                    self._x,
                    outputs,
                    may_rotate=[kind not in ("function", "data") for kind in kinds],
                    opened=self._inputs.tensors(),
                    repeats=self._n_repeats,
                )
        return replay


class TriedCandidate(CapturedCandidate):
    """A case of one file whose runs are captured without its author having said that they can be."""

    def _prepare_forward(self, model: Forward) -> Forward:
        with self._capture_failure_skips():
            replay = super()._prepare_forward(model)
        self._expect_all_in_graph(replay)
        return replay

    def _expect_all_in_graph(self, replay: Forward) -> None:
        """Skip the case if a replay computes something else than a call, on inputs that are new."""
        opened = self._inputs
        self.load(opened.others())
        with self.grad_mode():
            called = [y.clone() for y in listed(self._captured_function(self._upload()))]
            fill_randomly(listed(replay(self._x)))
            replayed = listed(replay(self._upload()))
            self._device.synchronize()
        self.load(opened)
        for array, y, expected in zip(opened.operator.outputs, replayed, called, strict=True):
            if torch.equal(y, expected):
                continue
            tolerance = self._tolerance(array.name)
            if difference(written(y), written(expected), tolerance) is not None:
                raise Skip(
                    f"{_NO_GRAPH}: a replay gives another {array.name} than a call: part of the work "
                    "is on the host, or on another stream than torch.cuda.current_stream()"
                )


class _Compiled(Candidate):
    """What is compiled is the function alone; what looks at its outputs is around that."""

    _fused = True

    def _callable(self) -> Forward:
        return self._user_function.bound()

    def _watched_after_check(self, compiled: Forward) -> Forward:
        """Return the compiled function after a run, whose results are the first of the case."""
        given = [x.to(self._device.torch_device, copy=True) for x in self._inputs.tensors()]
        with self.grad_mode():
            self._user_function.checked(self._inputs, given, compiled=compiled)
        return self._watched(compiled)


class CompiledCandidate(CompiledForward, _Compiled):
    """A case of one file that is compiled: on the CPU."""

    def _prepare_forward(self, model: Forward) -> Forward:
        return self._watched_after_check(super()._prepare_forward(model))


class CompiledGraphCandidate(CompiledGraphForward, TriedCandidate, _Compiled):
    """A case of one file that is compiled and captured."""

    def _prepare_forward(self, model: Forward) -> Forward:
        with self.grad_mode():
            compiled = CompiledGraphForward._function(self, model)
        return super()._prepare_forward(self._watched_after_check(compiled))

    def _function(self, model: Any) -> Forward:
        self._captured_function = model  # compiled by now
        return model


def kind_of(way: str, file: ModuleType, *, on_gpu: bool) -> type[Candidate]:
    """Return the class of a file's cases; raises `Skip` where the file does not want this way."""
    graph, may_compile = getattr(file, "GRAPH", None), getattr(file, "COMPILE", None)
    if way == "":
        return CapturedCandidate if graph and on_gpu else Candidate
    if graph is not None and not graph and on_gpu:
        raise Skip("the file has GRAPH = False: it is never captured")
    if way == GRAPH:
        if graph:
            raise Skip("the file has GRAPH = True: its runs are captured without +graph, too")
        if not on_gpu:
            raise Skip("CUDA graphs need a GPU")
        return TriedCandidate
    if may_compile is not None and not may_compile:
        raise Skip("the file has COMPILE = False: it is never compiled")
    return CompiledGraphCandidate if on_gpu else CompiledCandidate


class CandidateWorkload:
    """The files of a workload's folder; implements `workload.Workload`."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        folder = Path(operator.folder)
        if not folder.is_dir():
            raise CaseError(f"operator.folder: {folder} is not a folder")
        stems = sorted(path.stem for path in folder.glob("*.py"))
        # What others import begins with an underscore.
        self.modes = Ways(s for s in stems if s != REFERENCE and not s.startswith("_"))

    def make_inputs(self, spec: CaseSpec, files: InputFiles | None) -> OperatorInputs:
        """Return the data of a case."""
        return OperatorInputs(self._operator, spec, files)

    def open(self, spec: CaseSpec, inputs: OperatorInputs, device: Device, mark: Mark) -> Candidate:
        """Build a case."""
        stem, way = self.modes.split(spec.variant)
        on_gpu, folder = device.kind == "cuda", Path(self._operator.folder)
        if not on_gpu:
            interpreted.choose(folder)
        with extensions.watched(folder, stem) as build:
            with _missing_module_skips(self._operator):
                file = load(self._operator, stem)
            case = kind_of(way, file, on_gpu=on_gpu)(stem, inputs, device, mark)
        if build.ns > 0:
            case.once_ns["build"] = build.ns
        return case


def _why_not_captured(error: BaseException) -> str:
    """Return the reason of a failed capture with what it means, and its place in a user's file."""
    first = list(needs.causes(error))[-1]
    found = user_file.located(error) or f"{type(first).__name__}: {needs.first_line(first)}"
    for text, meaning in _CAPTURE_ERRORS.items():
        if text in str(first):
            return f"{meaning} ({found})"
    return found


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
