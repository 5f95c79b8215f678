"""`linreg_train`: linear regression by full-batch gradient descent; a sample is all epochs.

Forward pass w·x + b, mean squared error, its gradient by `loss.backward()`, and a step of SGD, in
float32 on points on the device. Every tenth epoch's loss before the update is copied into a tensor
on the device without synchronisation. The modes differ in how they run an epoch:

eager          As in the study: autograd and `torch.optim.SGD`, operation by operation.
compile        Forward pass, backward pass and step as one function, with gradients by
               `torch.func.grad_and_value`, which compiles without graph breaks, compiled by
               `torch.compile(mode="max-autotune", fullgraph=True)`: the passes over the points are
               fused. On a GPU this mode replays CUDA graphs of the compiler.
graph          All epochs of `eager` from the start values on (up to 1024), captured by hand in one
               CUDA graph; for `host_to_host` in one that ends with the copy to the host.
compile_graph  The same with the compiled function.
combo_graph    The same; kernels that do not need each other share a launch (the compiler's option
               `combo_kernels`).

Phases on a GPU: `init` (eager only: every sample builds model and optimiser), `train`, `d2h` (w, b
and the recorded losses), each ended by a synchronisation, `total`, `residual`; `host_to_host`,
training and copy without a synchronisation between them and without `init`; `train_device`, the
training between two CUDA events, in the run that gives the phases. On the CPU there is nothing to
copy or to wait for: one run gives (`init`), `train`, `total`, `residual` and `host_to_host`.

With epochs = 1 operations are also timed separately (`linreg_operations.py`): those of eager mode,
and those of `compile`, each compiled separately. `fused` is the epoch as `compile` and the captured
modes run it. Each starts on an idle device and is timed, on a GPU, between two events. So
eager operations include the host's time to launch the first kernel and between kernels, all others
its time to submit a graph.

The points are made on the host when a case is opened (the same bits for all engines) and copied
once. The final training loss and the test loss are computed after the training and not timed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from capturing import Captured, capture
from case import Case, fill_randomly
from device import Device
from host_memory import expect_room
from linreg_operations import NAMES, CompiledOperations, EagerOperations, Operations
from linreg_points import LOSS_EVERY, START, Params, Points
from linreg_trainers import (
    AnyTrainer,
    CapturedTrainer,
    CompiledTrainer,
    FusedTrainer,
    RecordingTrainer,
    Task,
    Trainer,
    loss_rows,
)
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, expect_dtype

T = TypeVar("T")

# Per point in host memory: x and y; a case's x with other signs, and on the CPU also what it trains
# on and an epoch's temporaries.
_DATA_BYTES = 8
_REFILL_BYTES = 4
_CPU_BYTES = 8 + 16
# Relative tolerance between the results of two probes: they may sum float32 differently.
_TOLERANCE = 5e-6


class Mode(NamedTuple):
    """A way to run an epoch."""

    make: Callable[[Task], Trainer | CompiledTrainer]
    captured: bool = False
    """Whether the epochs are captured in a CUDA graph."""
    fuses: bool = True
    """Whether an epoch is one function, built before all samples; else building it is a phase."""
    operations: Callable[[Task], Operations] | None = None
    """The operations of an epoch, if the mode can time them separately."""


MODES = {
    "eager": Mode(Trainer, fuses=False, operations=EagerOperations),
    "compile": Mode(
        lambda task: CompiledTrainer(task, "max-autotune"),
        operations=lambda task: CompiledOperations(task, "max-autotune"),
    ),
    "graph": Mode(FusedTrainer, captured=True),
    # Our captured graph replaces the compiler's own.
    "compile_graph": Mode(
        lambda task: RecordingTrainer(task, "max-autotune-no-cudagraphs"), captured=True
    ),
    "combo_graph": Mode(
        lambda task: RecordingTrainer(task, "max-autotune-no-cudagraphs", combo_kernels=True),
        captured=True,
    ),
}


class LinregTraining(Case):
    """An open case. Opening it trains once, which gives the results."""

    def __init__(
        self, mode: Mode, points: Points, params: Params, device: Device, mark: Mark
    ) -> None:
        super().__init__(device, mark)
        self._mode = mode
        self._epochs = params.epochs
        self._task, self._test = self._once("data", self._prepare, points, params)
        self.once_ns["data"] += points.made_ns
        self._whole: Captured[None] | None = None
        self._trainer = self._build()
        self._operations = self._build_operations() if self._epochs == 1 else None
        self._times_fused = self._epochs == 1 and mode.fuses
        probes = [self._phased, *([self._host_to_host] if self._on_gpu else [])]
        if self._operations is not None:
            probes.append(self._by_operation)
        if self._times_fused:
            probes.append(self._fused)
        self.probes: list[Probe] = self._keeping(probes)
        self._compared = self.probes[1 if self._on_gpu else 0]
        self._fit = self._evaluated(self._phased().output)
        self._check_losses()

    @property
    def phases(self) -> dict[str, ClockDomain]:
        init = [] if self._mode.fuses else ["init"]
        work = ["train", "d2h"] if self._on_gpu else ["train"]
        whole = ["total", "residual", "host_to_host"]
        phases: dict[str, ClockDomain] = dict.fromkeys(init + work + whole, "host")
        if self._on_gpu:
            phases["train_device"] = "device"
        clock: ClockDomain = "device" if self._on_gpu else "host"
        if self._operations is not None:
            phases |= dict.fromkeys(NAMES, clock)
        if self._times_fused:
            phases["fused"] = clock
        return phases

    def load(self, inputs: Points, start: Sequence[float] = START) -> None:
        """Have further runs use these points and start values."""
        for own, given in zip((*self._task[:2], *self._test), _host_tensors(inputs), strict=True):
            own.copy_(given)
        self._task.start.copy_(torch.tensor(start))

    def leave_random(self) -> None:
        self._left = None
        fill_randomly([*self._trainer.params, self._task.losses])
        if self._operations is not None:
            fill_randomly([*self._operations.params, *self._operations.between])
        if self._whole is not None:
            fill_randomly([self._on_host])
        self._device.synchronize()

    @contextmanager
    def timed(self) -> Iterator[Callable[[], object]]:
        trainer = self._trainer if self._mode.fuses else self._build()
        yield partial(self._run, trainer) if self._on_gpu else trainer.train

    def read(self) -> dict[str, np.ndarray]:
        """Return what the last run left and the final losses, which are computed now."""
        return self._evaluated(self._left)

    def output(self) -> dict[str, np.ndarray]:
        """Return what the probes compute after checking that they agree."""
        fits = []
        for probe in self.probes:
            self.leave_random()
            probe()
            fits.append(self.read())
        for probe, fit in zip(self.probes[1:], fits[1:], strict=True):
            for name, array in fit.items():
                if not np.allclose(array, fits[0][name], rtol=_TOLERANCE, atol=0, equal_nan=True):
                    worst = float(np.abs(array - fits[0][name]).max())
                    raise CaseError(
                        f"output: {self.probes[0].__name__} and {probe.__name__} runs differ in "
                        f"{name} by up to {worst:.3g}"
                    )
        return fits[self.probes.index(self._compared)]

    def results(self) -> dict[str, Any]:
        w, b = self._fit["params"].tolist()
        losses = zip(self._loss_epochs(), self._fit["losses"].tolist(), strict=True)
        results = {"w": w, "b": b, "loss": [list(pair) for pair in losses]}
        if "test_loss" in self._fit:
            results["test_loss"] = self._fit["test_loss"].item()
        return results

    def _prepare(self, points: Points, params: Params) -> tuple[Task, list[Tensor]]:
        """Return the task, and the test points, in memory that only this case uses."""
        device = self._device.torch_device
        x, y, *test = (part.to(device, copy=True) for part in _host_tensors(points))
        losses = loss_rows(params.epochs, device)
        start = torch.tensor(START, device=device)
        return Task(x, y, start, losses, params.rate, params.epochs), test

    def _build(self) -> AnyTrainer:
        trainer = self._mode.make(self._task)
        if isinstance(trainer, CompiledTrainer):
            self._once("compile", trainer.compile)
        return self._once("capture", self._capture, trainer) if self._mode.captured else trainer

    def _capture(self, trainer: Trainer | CompiledTrainer) -> CapturedTrainer:
        """Capture the training, and for `host_to_host` also with the copy of its result."""

        def train_and_download() -> None:
            trainer.train()
            self._on_host.copy_(self._computed(trainer), non_blocking=True)

        captured = CapturedTrainer(trainer, self._task)
        self._computed(trainer)  # loads its kernels before they are captured
        if captured.is_one_graph:
            self._on_host = torch.empty(2 + len(self._task.losses), pin_memory=True)
            self._whole = capture(train_and_download)
        return captured

    def _build_operations(self) -> Operations | None:
        if self._mode.operations is None:
            return None
        operations = self._mode.operations(self._task)
        if isinstance(operations, CompiledOperations):
            self._once("compile_operations", operations.compile)
        return operations

    def _computed(self, trainer: AnyTrainer | Operations) -> Tensor:
        """Return w, b and the recorded losses on the device."""
        return torch.cat((torch.stack(trainer.params), self._task.losses[:, 0]))

    def _download(self, trainer: AnyTrainer | Operations) -> Tensor:
        """Return w, b and the recorded losses with one copy."""
        return self._computed(trainer).cpu()

    def _run(self, trainer: AnyTrainer) -> Tensor:
        """Train from the start values and return what `_download` returns."""
        if self._whole is None:
            trainer.train()
            return self._download(trainer)
        self._whole.replay()
        self._device.synchronize()
        return self._on_host

    def _phased(self) -> Sample:
        clock = PhaseClock(self._device.synchronize, self._mark)
        trainer = self._trainer if self._mode.fuses else clock.time("init", self._build)
        clock.time("train", self._events.around, trainer.train)
        if self._on_gpu:
            computed = clock.time("d2h", self._download, trainer)
            ns = clock.finish()
            ns["train_device"] = round(self._events.elapsed_ns())
        else:
            ns = clock.finish()
            ns["host_to_host"] = ns["train"]
            computed = self._download(trainer)
        return Sample(ns, computed)

    def _host_to_host(self) -> Sample:
        with self.timed() as run, self._mark("host_to_host"):
            self._device.synchronize()
            start_ns = now_ns()
            computed = run()
            return Sample({"host_to_host": now_ns() - start_ns}, computed)

    def _by_operation(self) -> Sample:
        operations = self._operations
        assert operations is not None
        operations.start()
        ns = {
            name: self._time_separately(name, part)[0]
            for name, part in zip(NAMES, operations.parts(), strict=True)
        }
        self._task.losses[0, 0].copy_(operations.loss)
        return Sample(ns, self._download(operations))

    def _fused(self) -> Sample:
        self._trainer.start()
        ns, loss = self._time_separately("fused", self._trainer.epoch)
        self._task.losses[0, 0].copy_(loss)
        return Sample({"fused": ns}, self._download(self._trainer))

    def _time_separately(self, name: str, work: Callable[[], T]) -> tuple[int, T]:
        """Run work on an idle device; return its time (on a GPU, device time) and its result."""
        with self._mark(name):
            self._device.synchronize()
            if self._on_gpu:
                result = self._events.around(work)
                return round(self._events.elapsed_ns()), result
            start_ns = now_ns()
            result = work()
            return now_ns() - start_ns, result

    def _evaluated(self, computed: Tensor) -> dict[str, np.ndarray]:
        """Return the case's arrays: the results of a run and its final losses."""
        w, b = computed[:2].to(self._device.torch_device)
        losses = [*computed[2:].tolist(), _loss(w, b, self._task.x, self._task.y)]
        fit = {"params": computed[:2].double().numpy(), "losses": np.array(losses)}
        x_test, y_test = self._test
        if x_test.numel() > 0:
            fit["test_loss"] = np.array([_loss(w, b, x_test, y_test)])
        return fit

    def _loss_epochs(self) -> list[int]:
        return [*range(0, self._epochs, LOSS_EVERY), self._epochs]

    def _check_losses(self) -> None:
        for epoch, loss in zip(self._loss_epochs(), self._fit["losses"], strict=True):
            if not math.isfinite(loss):
                raise CaseError(f"loss is not finite from epoch {epoch} on")


class LinregTrain:
    """The workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> Points:
        """Return the data of a case with these parameters."""
        expect_dtype(spec, ("f32",), on_cpu=("f32",))
        points = Params.of(spec).points
        expect_room(points * (_DATA_BYTES + _case_bytes(spec)))
        return Points(points, seed)

    def open(self, spec: CaseSpec, inputs: Points, device: Device, mark: Mark) -> LinregTraining:
        """Build a case."""
        expect_room(Params.of(spec).points * _case_bytes(spec))
        return LinregTraining(MODES[spec.variant], inputs, Params.of(spec), device, mark)


def _host_tensors(points: Points) -> list[Tensor]:
    """Return x and y of the training points and of the test points."""
    arrays = points.x_train, points.y_train, points.x_test, points.y_test
    return [torch.from_numpy(array) for array in arrays]


def _case_bytes(spec: CaseSpec) -> int:
    """Return the host memory of a case, per point."""
    return _REFILL_BYTES + (_CPU_BYTES if spec.device == "cpu" else 0)


def _loss(w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> float:
    return nn.functional.mse_loss(w * x + b, y).item()
