"""Carries out the requests that follow hello and keeps the open cases."""

from __future__ import annotations

import json
import platform
import sys
import traceback
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import torch

import needs
import protocol
import tracing
from allocate import Allocate
from capturing import use_compile_cache
from device import DEVICES, out_of_memory_reason
from linreg_train import LinregTrain
from mlp_infer import MlpInfer
from mlp_train import MlpTrain
from mnist_train import MnistTrain
from protocol import Answer, CaseRequest, CaseSpec
from timing import Mark, no_mark, now_ns, take_round
from workload import CAPTURING, COMPILING, CaseError, OpenCase, Skip, Workload

ENGINE = "pytorch"

WORKLOADS: dict[str, Workload[Any]] = {
    "mlp_infer": MlpInfer(),
    "linreg_train": LinregTrain(),
    "mnist_train": MnistTrain(),
    "mlp_train": MlpTrain(),
    "allocate": Allocate(),
}


class Session:
    """The state from hello to bye. Raises `needs.Unavailable` if the device is missing."""

    def __init__(self, device_kind: str) -> None:
        # Same precision as the CUDA side: no TF32 in place of float32.
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")
        self._device = DEVICES[device_kind]()
        # What torch.compile lacks here; "": nothing, None: not checked yet.
        self._compile_lacks: str | None = None
        self._cases: dict[str, tuple[OpenCase, Mark]] = {}
        # Cases with equal inputs share them; they are freed with the last such case.
        self._inputs: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()

    def describe(self) -> dict[str, Any]:
        """Return engine, device, versions and capabilities for the answer to hello."""
        return {
            "engine": ENGINE,
            "device": self._device.describe(),
            "versions": {
                "torch": torch.__version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                **self._device.versions(),
            },
            "capabilities": {name: list(workload.modes) for name, workload in WORKLOADS.items()},
            "compiles": {
                name: [mode for mode in workload.modes if mode in COMPILING[self._device.kind]]
                for name, workload in WORKLOADS.items()
            },
            "once_ns": dict(self._device.once_ns),
        }

    def handle(self, request: CaseRequest) -> Answer:
        """Carry out one request; an error becomes its answer."""
        answer = self._attempt(request)
        if answer["status"] != "ok":
            # The exception is gone by now, and with it the tensors that its frames held.
            self._device.release_unused()
        return answer

    def start_trace(self) -> Answer:
        """Prepare the profiler; only cases opened after this can be traced."""
        try:
            return protocol.ok(source=tracing.start(self._device))
        except Exception as error:
            return protocol.failed(f"{type(error).__name__}: {error}")

    def _attempt(self, request: CaseRequest) -> Answer:
        try:
            return protocol.ok(request.id, **self._carry_out(request))
        except Skip as skip:
            return protocol.skipped(str(skip), request.id)
        except CaseError as error:
            return protocol.failed(str(error), request.id)
        except Exception as error:
            no_memory = out_of_memory_reason(error)
            if no_memory and isinstance(request, protocol.OpenRequest):
                return protocol.skipped(no_memory, request.id)
            if self._compiles(request) and self._note_compile_failure(error):
                return protocol.skipped(self._compile_lacks or "", request.id)
            traceback.print_exc(file=sys.stderr)
            self._device.expect_alive(error)
            reason = f"{type(error).__name__}: {needs.first_line(error)}"
            return protocol.failed(reason, request.id)

    def _carry_out(self, request: CaseRequest) -> dict[str, Any]:
        match request:
            case protocol.OpenRequest():
                return self._open(request)
            case protocol.OutputRequest():
                return self._output(request)
            case protocol.SampleRequest():
                return self._sample(request)
            case protocol.TraceRequest():
                return self._trace(request)
            case protocol.CloseRequest():
                return self._close(request)

    def _compiles(self, request: CaseRequest) -> bool:
        kind = self._device.kind
        return isinstance(request, protocol.OpenRequest) and request.case.variant in COMPILING[kind]

    def _expect_compiler(self) -> None:
        """Skip a case that cannot be compiled here before spending time on it."""
        if self._compile_lacks is None:
            kind = self._device.kind
            # What Triton itself lacks depends on what it has already built: only a failure tells.
            lacks = needs.triton_lacks() if kind == "cuda" else needs.compile_lacks(kind)
            self._compile_lacks = lacks or ""
        if self._compile_lacks:
            raise Skip(self._compile_lacks)

    def _note_compile_failure(self, error: Exception) -> bool:
        """Return whether the compilation failed because something is missing here."""
        lacks = needs.compile_cause(error, self._device.kind)
        if lacks:
            traceback.print_exc(file=sys.stderr)
            self._compile_lacks = lacks
        return lacks is not None

    def _open(self, request: protocol.OpenRequest) -> dict[str, Any]:
        spec = request.case
        workload = self._workload_for(request)
        mark = tracing.marks(self._device) if request.profile else no_mark
        self._device.watch_memory()
        with mark(f"{spec.id} open"):
            inputs = self._inputs_for(workload, request)
            if self._compiles(request):
                self._expect_compiler()
                if request.compile_cache:
                    use_compile_cache(request.compile_cache)
            if spec.variant in CAPTURING and self._device.kind != "cuda":
                raise Skip("CUDA graphs need a GPU")
            case = workload.open(spec, inputs, self._device, mark)
            start_ns = now_ns()
            for probe in case.probes:
                probe()
            self._device.synchronize()
            first_run_ns = now_ns() - start_ns
        peak_bytes = self._device.peak_bytes()
        self._cases[spec.id] = case, mark
        return {
            "phases": dict(case.phases),
            "once_ns": {**case.once_ns, "first_run": first_run_ns},
            "resources": {} if peak_bytes is None else {"peak_device_bytes": peak_bytes},
        }

    def _workload_for(self, request: protocol.OpenRequest) -> Workload[Any]:
        spec = request.case
        if spec.id in self._cases:
            raise CaseError(f"the case {spec.id} is already open")
        self._expect("engine", spec.engine, [ENGINE])
        self._expect("device", spec.device, [self._device.kind])
        self._expect("workload", spec.workload, WORKLOADS)
        workload = WORKLOADS[spec.workload]
        self._expect("variant", spec.variant, workload.modes)
        if spec.techniques:
            names = ", ".join(spec.techniques)
            raise CaseError(f"techniques: expected none for {ENGINE}, found {names}")
        if request.program is not None:
            raise CaseError(f"program: expected null: {ENGINE} loads no programs")
        return workload

    @staticmethod
    def _expect(key: str, found: str, known: Any) -> None:
        if found not in known:
            raise CaseError(f"{key}: expected {' or '.join(known)}, found {found}")

    def _inputs_for(self, workload: Workload[Any], request: protocol.OpenRequest) -> Any:
        spec: CaseSpec = request.case
        key = json.dumps([spec.workload, spec.params, spec.dtype, request.seed], sort_keys=True)
        inputs = self._inputs.get(key)
        if inputs is None:
            inputs = workload.make_inputs(spec, request.seed)
            self._inputs[key] = inputs
        return inputs

    def _case(self, case_id: str) -> tuple[OpenCase, Mark]:
        if case_id not in self._cases:
            raise CaseError(f"the case {case_id} is not open")
        return self._cases[case_id]

    def _output(self, request: protocol.OutputRequest) -> dict[str, Any]:
        case, mark = self._case(request.id)
        folder = Path(request.path)
        if not folder.is_dir():
            raise CaseError(f"path: {request.path} is not a folder")
        with mark(f"{request.id} output"):
            arrays = case.output()
        for name, array in arrays.items():
            np.save(folder / f"{name}.npy", array)
        return {"arrays": list(arrays)}

    def _sample(self, request: protocol.SampleRequest) -> dict[str, Any]:
        case, mark = self._case(request.id)
        with mark(f"{request.id} round {request.round}"):
            taken = take_round(
                case.probes,
                budget_ns=request.budget_ns,
                max_samples=request.max_samples,
                warmup_samples=request.warmup_samples,
                warmup_ns=request.warmup_ns,
            )
        return {
            "phases": taken.phases,
            "warmup": {"samples": taken.warmup_samples, "ns": taken.warmup_ns},
        }

    def _trace(self, request: protocol.TraceRequest) -> dict[str, Any]:
        case, _ = self._case(request.id)
        return {"source": tracing.record(request, case.probes, case.output, self._device)}

    def _close(self, request: protocol.CloseRequest) -> dict[str, Any]:
        case, _ = self._case(request.id)
        results = case.results()
        del self._cases[request.id], case
        self._device.release_unused()
        return {"results": results}
