"""`mnist_train`: training of 784-H-H-H-10 on MNIST, every sample the first steps from fresh weights.

ReLU behind the hidden layers, cross-entropy, SGD without momentum. Images, labels and the order of
the images lie on the device; the losses of all steps are recorded there, and nothing waits for
them. The modes, in dtype f16:

eager          As the study: weights in float32, autocast, autograd and `torch.optim.SGD`,
               operation by operation.
compile        The same arithmetic, batch, model, loss and update as one function through
               `torch.compile(mode="max-autotune", fullgraph=True)`, its gradients by
               `torch.func.grad_and_value`. On a GPU the compiler's own CUDA graphs, which this mode
               brings, replay it.
graph          Weights in float16 as well, and SGD with one kernel for all of them. Fifty steps are
               captured in one CUDA graph, which knows from a counter on the device where it is.
compile_graph  The compiled function with weights in float16, captured in such a graph.

In dtype f32 everything is float32. Sums of products are kept in float32 (cuBLAS may join parts of
them in float16, as PyTorch lets it by default).

Phases on a GPU: `init` (eager alone: model and optimiser are built in every sample), `h2d` (start
weights and order), `train`, `d2h` (losses and weights), each ended by a synchronisation, `total`,
`residual`; `train_device`, the training between two CUDA events; `step` and `step_device`, both
divided by the steps of a sample. On the CPU there is nothing to copy, and what comes before the
training is not timed: `train`, `step`, `total`, `residual`.

When a case is opened it also runs the whole training once (`once_ns.training`), which is where its
losses and the accuracy on the test images come from.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from capturing import poison
from device import Device
from host_memory import expect_room
from mnist_data import MNIST
from mnist_inputs import DESCENT_RATE, Inputs, Params
from mnist_mlp import logits_of
from mnist_trainers import (
    AnyTrainer,
    CapturedTrainer,
    CompiledTrainer,
    FusedTrainer,
    Task,
    Trainer,
)
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, Skip

LOSS_EVERY = 10
DTYPES = {"f16": torch.float16, "f32": torch.float32}
_DTYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}

_TEST_IMAGES_AT_ONCE = 2000
_FLOAT_BYTES = 4
# Of the weights, in the host's memory: as they are made and as they are kept; on the CPU those that
# are trained, their gradients and a copy to look at, too.
_COPIES_TO_START = 2
_COPIES_TO_TRAIN = 3


class Eager:
    """The study's way, and what the other modes have in common with it."""

    builds_in_sample = True
    """Is building the model and its optimiser a phase?"""

    def __init__(self, inputs: Inputs, device: Device, mark: Mark) -> None:
        self.once_ns: dict[str, int] = {}
        self._inputs = inputs
        self._params = inputs.params
        self._device = device
        self._mark = mark
        self._on_gpu = device.kind == "cuda"
        start_ns = now_ns()
        self._task = self._prepare_task()
        self._prepare_host_memory()
        device.synchronize()
        self.once_ns["data"] = inputs.made_ns + now_ns() - start_ns
        if self._on_gpu:
            self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self._trainer = self._build()
        self.probes: list[Probe] = [self._sample]
        self._results = self._train_whole()

    @property
    def phases(self) -> dict[str, ClockDomain]:
        init = ["init"] if self.builds_in_sample else []
        around = [*init, "h2d", "train", "d2h"] if self._on_gpu else ["train"]
        phases: dict[str, ClockDomain] = dict.fromkeys([*around, "total", "residual"], "host")
        phases["step"] = "host"
        if self._on_gpu:
            phases |= {"train_device": "device", "step_device": "device"}
        return phases

    def output(self) -> dict[str, np.ndarray]:
        """Return what is compared with the oracle's.

        The first step's gradients, the losses of the first steps of a sample, and by how much the
        loss falls in a descent.
        """
        poison([*self._trainer.weights, self._task.losses])
        self._device.synchronize()
        losses = self._sample().output[: self._params.checked_steps]
        self._trainer.start(self._inputs.weights)
        gradients = self._trainer.gradients()
        arrays = {}
        for layer, (w, b) in enumerate(zip(gradients[0::2], gradients[1::2], strict=True)):
            arrays[f"gradient_{layer}"] = torch.cat((w, b[:, None]), dim=1).cpu().numpy()
        arrays["losses"] = losses.numpy()
        arrays["descent"] = self._descent()
        return arrays

    def results(self) -> dict[str, Any]:
        return self._results

    def _descent(self) -> np.ndarray:
        """Return by how much the loss falls in the first steps of a descent.

        On a GPU it is run to the end of a sample, so that the same graphs are replayed.
        """
        params, task = self._params, self._task
        steps = params.descent_steps
        poison([task.losses])
        task.order[:steps] = self._inputs.order[0].to(task.order.device)
        self._trainer.start(self._inputs.weights)
        self._trainer.set_rate(DESCENT_RATE)
        self._trainer.run(params.sample_steps if self._on_gpu else steps)
        self._trainer.set_rate(params.rate)
        losses = task.losses[:steps].cpu().double().numpy() / params.batch
        task.order[:steps] = self._inputs.order[:steps].to(task.order.device)
        return losses[0] - losses

    def _prepare_task(self) -> Task:
        device = self._device.torch_device
        return Task(
            params=self._params,
            dtype=self._inputs.dtype,
            images=self._inputs.on(self._device),
            order=self._inputs.order.to(device, copy=True),
            losses=torch.empty(self._params.steps, device=device),
        )

    def _prepare_host_memory(self) -> None:
        """Get ready the memory that copies start from and end in."""
        self._start_weights = self._inputs.weights
        self._start_order = self._inputs.order[: self._params.sample_steps]

    def _build(self) -> AnyTrainer:
        return Trainer(self._task)

    def _upload(self, trainer: AnyTrainer) -> None:
        trainer.start(self._start_weights)
        self._task.order[: self._params.sample_steps].copy_(self._start_order, non_blocking=True)

    def _train(self, trainer: AnyTrainer) -> None:
        if not self._on_gpu:
            trainer.run(self._params.sample_steps)
            return
        start, end = self._events
        start.record()
        trainer.run(self._params.sample_steps)
        end.record()

    def _download(self, trainer: AnyTrainer) -> Tensor:
        """Copy the weights and losses to the host; return the losses."""
        for weight in trainer.weights:
            weight.detach().cpu()
        return self._task.losses[: self._params.sample_steps].cpu()

    def _sample(self) -> Sample:
        if not self._on_gpu:
            return self._sample_of_cpu()
        clock = PhaseClock(self._device.synchronize, self._mark)
        trainer = clock.time("init", self._build) if self.builds_in_sample else self._trainer
        clock.time("h2d", self._upload, trainer)
        clock.time("train", self._train, trainer)
        losses = clock.time("d2h", self._download, trainer)
        ns: dict[str, float] = {**clock.finish()}
        start, end = self._events
        ns["train_device"] = start.elapsed_time(end) * 1e6
        ns["step_device"] = ns["train_device"] / self._params.sample_steps
        return self._finished(ns, losses, trainer)

    def _sample_of_cpu(self) -> Sample:
        trainer = self._build() if self.builds_in_sample else self._trainer
        self._upload(trainer)
        clock = PhaseClock(self._device.synchronize, self._mark)
        clock.time("train", self._train, trainer)
        return self._finished({**clock.finish()}, self._download(trainer), trainer)

    def _finished(self, ns: dict[str, float], losses: Tensor, trainer: AnyTrainer) -> Sample:
        ns["step"] = ns["train"] / self._params.sample_steps
        if isinstance(trainer, Trainer) and trainer is not self._trainer:
            trainer.release()
        return Sample(ns, losses.double() / self._params.batch)

    def _train_whole(self) -> dict[str, Any]:
        """Run all steps from the start weights; return what the case leaves behind."""
        params = self._params
        self._trainer.start(self._start_weights)
        self._device.synchronize()
        with self._mark("training"):
            start_ns = now_ns()
            self._trainer.run(params.steps)
            self._device.synchronize()
            self.once_ns["training"] = now_ns() - start_ns
        losses = (self._task.losses.cpu().double() / params.batch).tolist()
        for step, loss in enumerate(losses):
            if not math.isfinite(loss):
                raise CaseError(f"loss is not finite from step {step} on")
        told = sorted({*range(0, params.steps, LOSS_EVERY), params.steps - 1})
        return {
            "loss": [[step, losses[step]] for step in told],
            "accuracy": self._accuracy(),
            "dataset": self._inputs.dataset.name,
            "accumulate": "f32",
            "weights": _DTYPE_NAMES[self._trainer.weights[0].dtype],
        }

    @torch.no_grad()
    def _accuracy(self) -> float:
        """Return the fraction of the test images that the trainer's weights recognise."""
        images = self._task.images
        right = 0
        for x, y in zip(
            images.test_x.split(_TEST_IMAGES_AT_ONCE),
            images.test_y.split(_TEST_IMAGES_AT_ONCE),
            strict=True,
        ):
            found = logits_of(x, self._trainer.weights).argmax(dim=1)
            right += int((found == y).sum().item())
        return right / MNIST.n_test


class BuiltOnce(Eager):
    """What the modes share in which building belongs to no sample, nor does getting memory."""

    builds_in_sample = False

    def _prepare_host_memory(self) -> None:
        super()._prepare_host_memory()
        if self._on_gpu:
            self._start_weights = self._inputs.pinned()
            self._start_order = self._start_order.pin_memory()
            self._losses_host = torch.empty(self._params.sample_steps, pin_memory=True)
            self._weights_host: list[Tensor] = []

    def _download(self, trainer: AnyTrainer) -> Tensor:
        if not self._on_gpu:
            return super()._download(trainer)
        weights = trainer.weights
        for weight, host in zip(weights, self._host_memory_for(weights), strict=True):
            host.copy_(weight.detach(), non_blocking=True)
        self._losses_host.copy_(self._task.losses[: self._params.sample_steps], non_blocking=True)
        return self._losses_host

    def _host_memory_for(self, weights: list[Tensor]) -> list[Tensor]:
        if not self._weights_host:
            self._weights_host = [
                torch.empty(weight.shape, dtype=weight.dtype, pin_memory=True) for weight in weights
            ]
        return self._weights_host


class Compiled(BuiltOnce):
    """The whole step goes through `torch.compile` at its most thorough."""

    def _build(self) -> AnyTrainer:
        return self._compiled(torch.float32, "max-autotune")

    def _compiled(self, weights_dtype: torch.dtype, mode: str) -> CompiledTrainer:
        trainer = CompiledTrainer(self._task, weights_dtype, mode)
        trainer.start(self._start_weights)
        self._device.synchronize()
        start_ns = now_ns()
        trainer.run(1)
        self._device.synchronize()
        self.once_ns["compile"] = now_ns() - start_ns
        return trainer


class Graph(BuiltOnce):
    """Steps with float16 weights are captured in CUDA graphs."""

    def _build(self) -> AnyTrainer:
        return self._captured(FusedTrainer(self._task))

    def _captured(self, trainer: FusedTrainer | CompiledTrainer) -> CapturedTrainer:
        trainer.start(self._start_weights)
        self._device.synchronize()
        start_ns = now_ns()
        captured = CapturedTrainer(trainer, self._params)
        self._device.synchronize()
        self.once_ns["capture"] = now_ns() - start_ns
        return captured


class CompileGraph(Compiled, Graph):
    """The compiled step with float16 weights is captured, in place of the compiler's own graphs."""

    def _build(self) -> AnyTrainer:
        return self._captured(self._compiled(self._task.dtype, "max-autotune-no-cudagraphs"))


MODES: dict[str, type[Eager]] = {
    "eager": Eager,
    "compile": Compiled,
    "graph": Graph,
    "compile_graph": CompileGraph,
}


class MnistTrain:
    """The workload, as `workload.Workload` describes one."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> Inputs:
        """Return the data of a case with these parameters, whose own seed is what counts."""
        if spec.dtype not in DTYPES:
            raise Skip(f"dtype {spec.dtype}: only {', '.join(DTYPES)} are written for PyTorch")
        if spec.dtype == "f16" and spec.device == "cpu":
            raise Skip("dtype f16: only f32 is written for PyTorch on the CPU")
        params = Params.of(spec)
        order = params.epochs * MNIST.n_train
        expect_room(_images_bytes(spec) + _FLOAT_BYTES * (2 * order + _weights(spec)))
        return Inputs(params, DTYPES[spec.dtype])

    def open(self, spec: CaseSpec, inputs: Inputs, device: Device, mark: Mark) -> Eager:
        """Make a case ready."""
        if issubclass(MODES[spec.variant], Graph) and device.kind != "cuda":
            raise Skip("CUDA graphs need a GPU")
        if device.kind == "cpu":
            expect_room(_FLOAT_BYTES * _COPIES_TO_TRAIN * inputs.params.n_weights)
        return MODES[spec.variant](inputs, device, mark)


def _images_bytes(spec: CaseSpec) -> int:
    """Return what the images take in the host's memory, as bytes and as the model's numbers."""
    numbers_bytes = DTYPES[spec.dtype].itemsize
    return (MNIST.n_train + MNIST.n_test) * MNIST.pixels * (1 + numbers_bytes)


def _weights(spec: CaseSpec) -> int:
    copies = _COPIES_TO_START + (_COPIES_TO_TRAIN if spec.device == "cpu" else 0)
    return copies * Params.of(spec).n_weights
