"""`linreg_train`: linear regression by full-batch gradient descent, every sample all epochs.

Forward pass w·x + b, mean squared error, its gradient by `loss.backward()`, and a step of SGD, in
float32 on points that lie on the device. The loss before the update of every tenth epoch is copied
into a tensor on the device: nothing waits for it. The modes differ in how an epoch is run:

eager          As the study: autograd and `torch.optim.SGD`, operation by operation.
compile        The same forward and backward pass and step as one function, its gradients by
               `torch.func.grad_and_value`, which is what the compiler takes whole, through
               `torch.compile(mode="max-autotune", fullgraph=True)`: the passes over the points are
               fused. On a GPU the compiler's own CUDA graphs, which this mode brings, replay it.
graph          The epoch of `eager`, captured by hand in a CUDA graph and replayed.
compile_graph  The compiled function, captured by hand in a CUDA graph and replayed.

Phases on a GPU: `init` (eager alone: model and optimiser are built in every sample), `train`, `d2h`
(w, b and the recorded losses), each ended by a synchronisation, `total`, `residual`;
`host_to_host`, training and copy without a synchronisation between them and without `init`;
`train_device`, the training between two CUDA events, in the run that gives the phases. On the CPU
there is nothing to copy and nothing to wait for: one run gives (`init`), `train`, `total`,
`residual` and `host_to_host`.

With epochs = 1 operations are timed alone, too (`linreg_operations.py`): eager mode's, and those of
`compile` with each compiled by itself. `fused` is the epoch as `compile`, `graph` and
`compile_graph` run it. Each starts on an idle device and lasts, on a GPU, from an event in front of
it to one behind it. So eager operations contain what the host takes from the first event to the
first kernel and from kernel to kernel, and all others what it takes to submit a graph.

The points are made on the host when a case is opened (they are the same bits everywhere) and copied
once. The last training loss and the test loss are computed after the training, outside the clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from capturing import poison
from device import Device
from host_memory import expect_room
from linreg_data import Params, Points
from linreg_operations import NAMES, CompiledOperations, EagerOperations, Operations
from linreg_trainers import AnyTrainer, CapturedTrainer, CompiledTrainer, FusedTrainer, Trainer
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, Skip

T = TypeVar("T")

LOSS_EVERY = 10
# A point, in host memory: x and y, and what an epoch on the CPU has beside them at the same time.
_DATA_BYTES = 8
_EPOCH_BYTES = 16
# Of what two probes compute: they may differ in how float32 is summed.
_ALIKE = 5e-6


class Eager:
    """The study's way, and what the other modes have in common with it."""

    builds_in_sample = True
    """Is building the model and its optimiser a phase?"""

    fuses = False
    """Does an epoch run as one?"""

    def __init__(self, points: Points, params: Params, device: Device, mark: Mark) -> None:
        self.once_ns: dict[str, int] = {}
        self._device = device
        self._mark = mark
        self._on_gpu = device.kind == "cuda"
        self._epochs, self._rate = params.epochs, params.rate
        start_ns = now_ns()
        self._x, self._y, *self._test = points.on(device)
        device.synchronize()
        self.once_ns["data"] = points.made_ns + now_ns() - start_ns
        self._losses = torch.empty(-(-self._epochs // LOSS_EVERY), device=device.torch_device)
        if self._on_gpu:
            self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self._trainer = self._build()
        self._operations = self._build_operations() if self._epochs == 1 else None
        self.probes: list[Probe] = [self._phased, *([self._host_to_host] if self._on_gpu else [])]
        if self._operations is not None:
            self.probes.append(self._by_operation)
        if self._epochs == 1 and self.fuses:
            self.probes.append(self._fused)
        self._fit = self._evaluated(self._phased().output)
        self._check_losses()

    @property
    def phases(self) -> dict[str, ClockDomain]:
        init = ["init"] if self.builds_in_sample else []
        work = ["train", "d2h"] if self._on_gpu else ["train"]
        whole = ["total", "residual", "host_to_host"]
        phases: dict[str, ClockDomain] = dict.fromkeys(init + work + whole, "host")
        if self._on_gpu:
            phases["train_device"] = "device"
        if self._operations is not None:
            phases |= dict.fromkeys(NAMES, self._clock)
        if self._epochs == 1 and self.fuses:
            phases["fused"] = self._clock
        return phases

    def output(self) -> dict[str, np.ndarray]:
        """Return what each probe computes, having seen that they agree."""
        fits = [self._run_poisoned(probe) for probe in self.probes]
        for probe, fit in zip(self.probes[1:], fits[1:], strict=True):
            for name, array in fit.items():
                if not np.allclose(array, fits[0][name], rtol=_ALIKE, atol=0, equal_nan=True):
                    worst = float(np.abs(array - fits[0][name]).max())
                    raise CaseError(
                        f"output: {self.probes[0].__name__} and {probe.__name__} runs differ in "
                        f"{name} by up to {worst:.3g}"
                    )
        return fits[-1]

    def results(self) -> dict[str, Any]:
        w, b = self._fit["params"].tolist()
        losses = zip(self._loss_epochs(), self._fit["losses"].tolist(), strict=True)
        results = {"w": w, "b": b, "loss": [list(pair) for pair in losses]}
        if "test_loss" in self._fit:
            results["test_loss"] = self._fit["test_loss"].item()
        return results

    def _build(self) -> AnyTrainer:
        return Trainer(self._x, self._y, self._rate)

    def _build_operations(self) -> Operations | None:
        """Return the operations of an epoch, where the mode lets them be told apart."""
        return EagerOperations(self._x, self._y, self._rate)

    @property
    def _clock(self) -> ClockDomain:
        """Of operations."""
        return "device" if self._on_gpu else "host"

    def _train(self, trainer: AnyTrainer) -> None:
        trainer.start()
        for epoch in range(self._epochs):
            loss = trainer.epoch()
            if epoch % LOSS_EVERY == 0:
                self._losses[epoch // LOSS_EVERY].copy_(loss)

    def _train_between_events(self, trainer: AnyTrainer) -> None:
        start, end = self._events
        start.record()
        self._train(trainer)
        end.record()

    def _download(self, trainer: AnyTrainer | Operations) -> Tensor:
        """Return w, b and the recorded losses, in one copy."""
        return torch.cat((torch.stack(trainer.params).detach(), self._losses)).cpu()

    def _phased(self) -> Sample:
        clock = PhaseClock(self._device.synchronize, self._mark)
        trainer = clock.time("init", self._build) if self.builds_in_sample else self._trainer
        if self._on_gpu:
            clock.time("train", self._train_between_events, trainer)
            computed = clock.time("d2h", self._download, trainer)
            ns = clock.finish()
            start, end = self._events
            ns["train_device"] = round(start.elapsed_time(end) * 1e6)
        else:
            clock.time("train", self._train, trainer)
            ns = clock.finish()
            ns["host_to_host"] = ns["train"]
            computed = self._download(trainer)
        return Sample(ns, computed)

    def _host_to_host(self) -> Sample:
        trainer = self._build() if self.builds_in_sample else self._trainer
        with self._mark("host_to_host"):
            self._device.synchronize()
            start_ns = now_ns()
            self._train(trainer)
            computed = self._download(trainer)
            return Sample({"host_to_host": now_ns() - start_ns}, computed)

    def _by_operation(self) -> Sample:
        operations = self._operations
        assert operations is not None
        operations.start()
        ns = {
            name: self._time_alone(name, part)[0]
            for name, part in zip(NAMES, operations.parts(), strict=True)
        }
        self._losses[0].copy_(operations.loss)
        return Sample(ns, self._download(operations))

    def _fused(self) -> Sample:
        self._trainer.start()
        ns, loss = self._time_alone("fused", self._trainer.epoch)
        self._losses[0].copy_(loss)
        return Sample({"fused": ns}, self._download(self._trainer))

    def _time_alone(self, name: str, work: Callable[[], T]) -> tuple[int, T]:
        with self._mark(name):
            self._device.synchronize()
            if not self._on_gpu:
                start_ns = now_ns()
                result = work()
                return now_ns() - start_ns, result
            start, end = self._events
            start.record()
            result = work()
            end.record()
            end.synchronize()
            return round(start.elapsed_time(end) * 1e6), result

    def _run_poisoned(self, probe: Probe) -> dict[str, np.ndarray]:
        poison([*self._trainer.params, self._losses])
        if self._operations is not None:
            poison([*self._operations.params, *self._operations.between])
        self._device.synchronize()
        return self._evaluated(probe().output)

    def _evaluated(self, computed: Tensor) -> dict[str, np.ndarray]:
        """Return the case's arrays: what a run computed, and how good the fit is."""
        w, b = computed[:2].to(self._device.torch_device)
        losses = [*computed[2:].tolist(), _loss(w, b, self._x, self._y)]
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


class BuiltOnce(Eager):
    """What the modes share in which building belongs to no sample."""

    builds_in_sample = False


class Compiled(BuiltOnce):
    """The epoch goes through `torch.compile` at its most thorough."""

    fuses = True

    def _build(self) -> AnyTrainer:
        return self._compiled("max-autotune")

    def _build_operations(self) -> Operations | None:
        operations = CompiledOperations(self._x, self._y, self._rate, "max-autotune")
        start_ns = now_ns()
        operations.start()
        for part in operations.parts():
            part()
        self._device.synchronize()
        self.once_ns["compile_operations"] = now_ns() - start_ns
        return operations

    def _compiled(self, mode: str) -> CompiledTrainer:
        trainer = CompiledTrainer(self._x, self._y, self._rate, mode)
        start_ns = now_ns()
        trainer.start()
        trainer.epoch()
        self._device.synchronize()
        self.once_ns["compile"] = now_ns() - start_ns
        return trainer


class Graph(BuiltOnce):
    """The study's epoch is captured in a CUDA graph."""

    fuses = True

    def _build(self) -> AnyTrainer:
        return self._captured(FusedTrainer(self._x, self._y, self._rate))

    def _build_operations(self) -> Operations | None:
        return None

    def _captured(self, trainer: Trainer | CompiledTrainer) -> CapturedTrainer:
        start_ns = now_ns()
        captured = CapturedTrainer(trainer)
        self._device.synchronize()
        self.once_ns["capture"] = now_ns() - start_ns
        return captured


class CompileGraph(Compiled, Graph):
    """The compiled epoch is captured in a CUDA graph by hand, in place of the compiler's own."""

    def _build(self) -> AnyTrainer:
        return self._captured(self._compiled("max-autotune-no-cudagraphs"))

    def _build_operations(self) -> Operations | None:
        return None


MODES: dict[str, type[Eager]] = {
    "eager": Eager,
    "compile": Compiled,
    "graph": Graph,
    "compile_graph": CompileGraph,
}


class LinregTrain:
    """The workload, as `workload.Workload` describes one."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> Points:
        """Return the data of a case with these parameters."""
        if spec.dtype != "f32":
            raise Skip(f"dtype {spec.dtype}: only f32 is written for PyTorch")
        points = Params.of(spec).points
        expect_room(points * (_DATA_BYTES + _epoch_bytes(spec)))
        return Points(points, seed)

    def open(self, spec: CaseSpec, inputs: Points, device: Device, mark: Mark) -> Eager:
        """Make a case ready."""
        if issubclass(MODES[spec.variant], Graph) and device.kind != "cuda":
            raise Skip("CUDA graphs need a GPU")
        expect_room(Params.of(spec).points * _epoch_bytes(spec))
        return MODES[spec.variant](inputs, Params.of(spec), device, mark)


def _epoch_bytes(spec: CaseSpec) -> int:
    """Return what an epoch takes of the host's memory, a point."""
    return _EPOCH_BYTES if spec.device == "cpu" else 0


def _loss(w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> float:
    return nn.functional.mse_loss(w * x + b, y).item()
