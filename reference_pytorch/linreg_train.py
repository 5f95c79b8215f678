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

The points are made on the host when a case is opened (they are the same bits everywhere) and copied
once. The last training loss and the test loss are computed after the training, outside the clock.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from capturing import poison
from device import Device
from linreg_data import Params, Points
from linreg_trainers import AnyTrainer, CapturedTrainer, CompiledTrainer, FusedTrainer, Trainer
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, Skip

LOSS_EVERY = 10


class Eager:
    """The study's way, and what the other modes have in common with it."""

    builds_in_sample = True
    """Is building the model and its optimiser a phase?"""

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
        self.probes: list[Probe] = [self._phased, *([self._host_to_host] if self._on_gpu else [])]
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
        return phases

    def output(self) -> dict[str, np.ndarray]:
        """Return what each probe computes, having seen that they agree."""
        fits = [self._run_poisoned(probe) for probe in self.probes]
        for fit in fits[1:]:
            for name, array in fit.items():
                if not np.allclose(array, fits[0][name], rtol=1e-6, atol=0, equal_nan=True):
                    worst = float(np.abs(array - fits[0][name]).max())
                    raise CaseError(
                        f"output: phased and host_to_host runs differ in {name} by up to "
                        f"{worst:.3g}"
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

    def _download(self, trainer: AnyTrainer) -> Tensor:
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

    def _run_poisoned(self, probe: Probe) -> dict[str, np.ndarray]:
        poison([*self._trainer.params, self._losses])
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

    def _build(self) -> AnyTrainer:
        return self._compiled("max-autotune")

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

    def _build(self) -> AnyTrainer:
        return self._captured(FusedTrainer(self._x, self._y, self._rate))

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
        return Points(Params.of(spec).points, seed)

    def open(self, spec: CaseSpec, inputs: Points, device: Device, mark: Mark) -> Eager:
        """Make a case ready."""
        if issubclass(MODES[spec.variant], Graph) and device.kind != "cuda":
            raise Skip("CUDA graphs need a GPU")
        return MODES[spec.variant](inputs, Params.of(spec), device, mark)


def _loss(w: Tensor, b: Tensor, x: Tensor, y: Tensor) -> float:
    return nn.functional.mse_loss(w * x + b, y).item()
