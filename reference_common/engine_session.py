"""Carries out the requests that follow hello and keeps the open cases, for any engine."""

from __future__ import annotations

import json
import platform
import sys
import traceback
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import needs
import protocol
import turns
import user_file
from compute_device import Device
from input_files import InputFiles
from operator_request import Operator
from protocol import Answer, CaseRequest, CaseSpec
from refill import Refill
from timing import (
    Fresh,
    Limits,
    Mark,
    Probe,
    Round,
    no_garbage_collection,
    no_mark,
    now_ns,
    take_round,
)
from workload import COMPARED, INITIAL, SCALE, CaseError, OpenCase, Skip, Workload

Arrays = Callable[[], dict[str, np.ndarray] | None]


@dataclass
class Opened:
    """An open case and what its requests have left."""

    case: OpenCase
    mark: Mark
    refill: Refill
    probes: Mapping[str, Probe]
    """The probe that times each phase."""
    wake: Callable[[], None]
    """Has the device work on something else, as it did before ordinary samples."""
    in_place: tuple[str, ...]
    """Names of arrays in place."""
    left: Mapping[str, np.ndarray] | None = None
    """What the last output was."""
    last: Arrays | None = None
    """Gives what the last fresh sample left; of a round, that of the compared phase."""
    middle: Arrays | None = None
    """Gives what a run in the middle of a graph left beside that, on the inputs as opened, if any."""

    @property
    def compared(self) -> str:
        """The phase by which the case is compared with others."""
        return next(name for name in COMPARED if name in self.case.phases)

    def fresh(self, seed: int) -> Fresh:
        """Return what makes a sample one of the inputs of a seed."""
        return Fresh(lambda: self.prepare(seed), self.keep, self.changing)

    def prepare(self, seed: int) -> None:
        """Give the next run the inputs of a seed, and random values where it writes.

        In this order: `leave_random` may run the case, and no untimed run may see these inputs.
        """
        self.case.leave_random()
        self.refill(seed)
        self.wake()

    def keep(self, ns: Mapping[str, float]) -> None:
        """Keep what a probe left that took these times, if it is the compared one."""
        if self.compared in ns:
            self.last = self.kept()

    def kept(self) -> Arrays:
        """Keep what the last run left until it is asked for, which it rarely is."""
        if (keep := getattr(self.case, "keep", None)) is not None:
            return keep()
        arrays = self.case.read()
        return lambda: arrays

    def probe_of(self, phase: str) -> Probe:
        """Return the probe that times a phase."""
        if phase not in self.probes:
            raise CaseError(f"phase: expected one of {', '.join(self.probes)}, found {phase}")
        return self.probes[phase]

    def sample_fresh(self, phase: str, seed: int) -> Round:
        """Take one sample of a phase's probe on the inputs of a seed, and keep what it left."""
        probe = self.probe_of(phase)
        with no_garbage_collection():
            self.prepare(seed)
            ns = probe().ns
            self.last = self.kept()
            changed = self.changing(ns)
            if changed:
                self.middle = getattr(self.case, "middle", None)
        ns = {**ns, **changed}
        return Round({name: [value] for name, value in ns.items()}, 0, 0)

    def changing(self, ns: Mapping[str, float]) -> Mapping[str, float]:
        """Return the times of a probe's phases that are others where inputs change before each run."""
        found = getattr(self.case, "changing", None)
        return {} if found is None else found(ns)


class EngineSession(ABC):
    """The state from hello to bye. An engine adds its workloads and explains its errors."""

    engine: str
    workloads: Mapping[str, Workload[Any]]
    open_keys: tuple[str, ...] = ("inputs",)
    """What `open` may have in every case."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._cases: dict[str, Opened] = {}
        # Cases with equal inputs share them; they are freed with the last such case.
        self._inputs: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()

    @abstractmethod
    def versions(self) -> dict[str, str]:
        """Return the versions of what the engine runs on."""

    def operator(self, operator: Operator) -> Workload[Any]:
        """Return the workload that a folder describes."""
        raise CaseError(f"operator: {self.engine} runs none")

    @abstractmethod
    def out_of_memory_reason(self, error: BaseException) -> str | None:
        """Return a reason with numbers if memory ran out, else None."""

    def compiles(self) -> dict[str, list[str]]:
        """Return the modes of each workload whose compiler chooses by timing."""
        return {}

    def start_trace(self) -> Answer:
        """Prepare the profiler; only cases opened after this can be traced."""
        return protocol.failed(f"{self.engine} has no tracer")

    def trace(self, request: protocol.TraceRequest, case: OpenCase) -> str:
        """Trace a case and return the source of device events."""
        raise CaseError(f"{self.engine} has no tracer")

    def marks(self) -> Mark:
        """Return the mark of a profiled case."""
        return no_mark

    def prepare(self, request: protocol.OpenRequest) -> None:  # noqa: B027 -- optional
        """Set what a case needs before it is built; raises `Skip` if it cannot be had here."""

    def write_inputs(self, request: protocol.InputsRequest) -> None:
        """Write what the function `inputs` of an operator's reference makes."""
        raise CaseError(f"inputs: {self.engine} makes none")

    def turn(self, _request: protocol.OpenRequest) -> AbstractContextManager[None]:
        """Return what surrounds the opening of a case: the time in which it may choose by timing.

        Only an engine that takes turns in something shorter need not wait for all of it.
        """
        return turns.alone()

    def built(self, request: protocol.OpenRequest) -> None:  # noqa: B027 -- optional
        """Keep what building a case has left."""

    def sound(self, request: CaseRequest) -> dict[str, Any]:
        """Return `beside`, what may have worked while no clock ran, if anything: part of an answer.

        Raises `CaseError` if users' code has changed what measures it.
        """
        return {}

    def lacks(self, request: CaseRequest, error: BaseException) -> str | None:
        """Return what the machine lacks if this made `error`: the case is then skipped."""
        return None

    def describe(self) -> dict[str, Any]:
        """Return engine, device, versions and capabilities for the answer to hello."""
        return {
            "engine": self.engine,
            "device": self._device.describe(),
            "versions": {
                **self.versions(),
                "python": platform.python_version(),
                "numpy": np.__version__,
                **self._device.versions(),
            },
            "capabilities": {
                name: list(workload.modes) for name, workload in self.workloads.items()
            },
            "compiles": self.compiles(),
            "open_keys": list(self.open_keys),
            "request_keys": list(protocol.REQUEST_KEYS),
            "once_ns": dict(self._device.once_ns),
        }

    def handle(self, request: CaseRequest) -> Answer:
        """Carry out one request; an error becomes its answer."""
        answer = self._attempt(request)
        if answer["status"] != "ok":
            # The exception is gone by now, and with it the tensors that its frames held.
            self._device.release_unused()
        return answer

    def _attempt(self, request: CaseRequest) -> Answer:
        try:
            answer = self._carry_out(request)
            return protocol.ok(request.id, **answer, **self.sound(request))
        except Skip as skip:
            return protocol.skipped(str(skip), request.id)
        except CaseError as error:
            return protocol.failed(str(error), request.id)
        # What users call may end the process: that, too, is an error of its case.
        except (Exception, SystemExit) as error:
            no_memory = self.out_of_memory_reason(error)
            if no_memory and isinstance(request, protocol.OpenRequest):
                return protocol.skipped(no_memory, request.id)
            if lacks := self.lacks(request, error):
                return protocol.skipped(lacks, request.id)
            traceback.print_exc(file=sys.stderr)
            self._device.expect_alive(error)
            reason = user_file.located(error)
            reason = reason or f"{type(error).__name__}: {needs.first_line(error)}"
            return protocol.failed(reason, request.id)

    def _carry_out(self, request: CaseRequest) -> dict[str, Any]:
        match request:
            case protocol.OpenRequest():
                return self._open(request)
            case protocol.InputsRequest():
                self.write_inputs(request)
                return {}
            case protocol.OutputRequest():
                return self._output(request)
            case protocol.RefillRequest():
                return self._refill(request)
            case protocol.SampleRequest():
                return self._sample(request)
            case protocol.LastRequest():
                return self._last(request)
            case protocol.VerifyRequest():
                return self._verify(request)
            case protocol.EvaluateRequest():
                return self._evaluate(request)
            case protocol.AuditRequest():
                return self._audit(request)
            case protocol.TraceRequest():
                return self._trace(request)
            case protocol.CloseRequest():
                return self._close(request)

    def _open(self, request: protocol.OpenRequest) -> dict[str, Any]:
        spec = request.case
        workload = self._workload_for(request)
        mark = self.marks() if request.profile else no_mark
        self._device.watch_memory()
        with mark(f"{spec.id} open"), self.turn(request):
            inputs = self._inputs_for(workload, request)
            self.prepare(request)
            case = workload.open(spec, inputs, self._device, mark)
            start_ns = now_ns()
            probes = _first_runs(case)
            self._device.synchronize()
            first_run_ns = now_ns() - start_ns
        peak_bytes = self._device.peak_bytes()
        arrays = request.operator.inputs if request.operator else ()
        in_place = tuple(array.name for array in arrays if array.in_place)
        self._cases[spec.id] = Opened(
            case, mark, Refill(case, inputs), probes, self._device.wake, in_place
        )
        self.built(request)
        return {
            "phases": dict(case.phases),
            "once_ns": {**case.once_ns, "first_run": first_run_ns},
            "resources": {} if peak_bytes is None else {"peak_device_bytes": peak_bytes},
        }

    def _workload_for(self, request: protocol.OpenRequest) -> Workload[Any]:
        spec = request.case
        if spec.id in self._cases:
            raise CaseError(f"the case {spec.id} is already open")
        self._expect("engine", spec.engine, [self.engine])
        self._expect("device", spec.device, [self._device.kind])
        if request.operator is None and not self.workloads:
            raise CaseError(f"operator: missing: {self.engine} runs nothing else")
        if request.operator is None:
            self._expect("workload", spec.workload, self.workloads)
            workload = self.workloads[spec.workload]
        else:
            self._expect("workload", spec.workload, [request.operator.name])
            workload = self.operator(request.operator)
        self._expect("variant", spec.variant, workload.modes)
        if spec.techniques:
            names = ", ".join(spec.techniques)
            raise CaseError(f"techniques: expected none for {self.engine}, found {names}")
        if request.program is not None:
            raise CaseError(f"program: expected null: {self.engine} loads no programs")
        return workload

    @staticmethod
    def _expect(key: str, found: str, known: Any) -> None:
        if found not in known:
            raise CaseError(f"{key}: expected {' or '.join(known)}, found {found}")

    def _inputs_for(self, workload: Workload[Any], request: protocol.OpenRequest) -> Any:
        spec: CaseSpec = request.case
        key = json.dumps([spec.workload, spec.params, spec.dtype, request.seed], sort_keys=True)
        key += repr((request.operator, request.inputs))
        inputs = self._inputs.get(key)
        if inputs is None:
            files = InputFiles(Path(request.inputs), request.seed) if request.inputs else None
            inputs = workload.make_inputs(spec, files if request.operator else request.seed)
            self._inputs[key] = inputs
        return inputs

    def _opened(self, case_id: str) -> Opened:
        if case_id not in self._cases:
            raise CaseError(f"the case {case_id} is not open")
        return self._cases[case_id]

    def _output(self, request: protocol.OutputRequest) -> dict[str, Any]:
        opened = self._opened(request.id)
        folder = _folder(request.path)
        opened.left = None
        with opened.mark(f"{request.id} output"):
            opened.left = opened.case.output(compares=not request.continues)
        in_place = opened.in_place if request.continues else ()
        return _save({k: v for k, v in opened.left.items() if k not in in_place}, folder)

    def _refill(self, request: protocol.RefillRequest) -> dict[str, Any]:
        opened = self._opened(request.id)
        left, opened.left = opened.left if request.continues else None, None
        if request.continues and left is None:
            raise CaseError("continues: there was no output before")
        opened.refill(request.seed, left)
        self._device.synchronize()  # what follows is timed from outside, too
        return {}

    def _sample(self, request: protocol.SampleRequest) -> dict[str, Any]:
        opened, seed = self._opened(request.id), request.fresh
        for other in self._cases.values():  # what they keep is on the device
            other.last = other.middle = None
        limits = Limits(
            request.budget_ns, request.max_samples, request.warmup_samples, request.warmup_ns
        )
        with opened.mark(f"{request.id} round {request.round}"):
            if request.phase is not None and seed is not None:
                taken = opened.sample_fresh(request.phase, seed)
            else:
                of_one = request.phase is not None
                probes = [opened.probe_of(request.phase)] if of_one else opened.case.probes
                taken = take_round(probes, limits, None if seed is None else opened.fresh(seed))
        return {
            "phases": taken.phases,
            "warmup": {"samples": taken.warmup_samples, "ns": taken.warmup_ns},
        }

    def _last(self, request: protocol.LastRequest) -> dict[str, Any]:
        opened = self._opened(request.id)
        if opened.last is None:
            raise CaseError('last before sample with "fresh"')
        folder = _folder(request.path)
        answer = _save(opened.last(), folder)
        middle = None if opened.middle is None else opened.middle()
        if middle is not None:
            (folder / "middle").mkdir()
            _save(middle, folder / "middle")
            answer["middle"] = True
        return answer

    def _verify(self, request: protocol.VerifyRequest) -> dict[str, Any]:
        case = self._opened(request.id).case
        verify = getattr(case, "verify", None)
        if verify is None:
            raise CaseError(f"verify: expected an operator's oracle, found {request.id}")
        return verify(_folder(request.path))

    def _evaluate(self, request: protocol.EvaluateRequest) -> dict[str, Any]:
        case = self._opened(request.id).case
        evaluate = getattr(case, "evaluate", None)
        if evaluate is None:
            raise CaseError(f"evaluate: expected an operator's oracle, found {request.id}")
        return {"results": evaluate(_folder(request.path))}

    def _audit(self, request: protocol.AuditRequest) -> dict[str, Any]:
        case = self._opened(request.id).case
        phase = getattr(case, "audited", self._opened(request.id).compared)
        if request.phase is None or request.phase == phase:
            return self._audit_runs(case.timed(), request.runs, phase, calls=1)
        timed_phase = getattr(case, "timed_phase", None)
        found = None if timed_phase is None else timed_phase(request.phase)
        if found is None:
            raise CaseError(f"{request.phase} cannot be run without the rest of a sample")
        return self._audit_runs(found.runs, request.runs, request.phase, found.calls)

    @staticmethod
    def _audit_runs(
        timed: AbstractContextManager[Callable[[], Any]], runs: int, phase: str, calls: int
    ) -> dict[str, Any]:
        with timed as run, no_garbage_collection():
            for _ in range(runs):
                run()
        return {"phase": phase} if calls == 1 else {"phase": phase, "calls": calls}

    def _trace(self, request: protocol.TraceRequest) -> dict[str, Any]:
        return {"source": self.trace(request, self._opened(request.id).case)}

    def _close(self, request: protocol.CloseRequest) -> dict[str, Any]:
        results = self._opened(request.id).case.results()
        del self._cases[request.id]
        if not self._cases:  # else of no use to others; it takes 50 ms once a compiler is loaded
            self._device.release_unused()
        return {"results": results}


def _first_runs(case: OpenCase) -> dict[str, Probe]:
    """Run each probe once, except of a case that waits to be asked; return that of each phase."""
    if not getattr(case, "runs_when_opened", True):
        return dict.fromkeys(case.phases, case.probes[0])
    return {phase: probe for probe in case.probes for phase in probe().ns}


def _folder(path: str) -> Path:
    if not Path(path).is_dir():
        raise CaseError(f"path: {path} is not a folder")
    return Path(path)


def _save(arrays: Mapping[str, np.ndarray], folder: Path) -> dict[str, Any]:
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    # What stands beside an output is none: `bench/measure/verify.h`.
    return {"arrays": [name for name in arrays if not name.endswith((SCALE, INITIAL))]}
