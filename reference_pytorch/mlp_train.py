"""`mlp_train`: epochs of training a multilayer perceptron on MNIST, each with a validation.

784-width-…-10, ReLU behind the hidden layers, cross-entropy, SGD without momentum. A sample is the
first epoch from the start weights and the validation behind it. The losses of all steps are
recorded on the device, and nothing waits for them. The modes:

dataloader     As the study: a `DataLoader` over a `TensorDataset` in the host's memory, each batch
               copied to the device; autograd and `torch.optim.SGD`, operation by operation. Its
               sampler yields our order, so that all contenders train on the same batches, and the
               loader works in this process (`num_workers=0`, its default).
eager          The same steps, images and order on the device.
compile        Batch, model, loss and update as one function, its gradients by
               `torch.func.grad_and_value`, through `torch.compile(mode="max-autotune",
               fullgraph=True)`. On a GPU the compiler's own CUDA graphs, which this mode brings,
               replay it. Where the last batch of an epoch is smaller, it has a function of its own.
graph          SGD with one kernel for all weights. Up to fifty steps are captured in one CUDA
               graph, which knows from a counter on the device where it is; the smaller last batch
               in one of its own.
compile_graph  The compiled functions, captured in such graphs.

In dtype f32 everything is float32; in tf32 products of matrices may use TF32. But for `dataloader`,
whose test images come batch by batch, all validate with the 10,000 images at once.

Phases: `train` (order to the device, all steps), `validate` (until loss and accuracy are on the
host), each ended by a synchronisation, `total`, `residual`; `step`, `train` divided by its steps;
on a GPU also `train_device` and `validate_device`, between two CUDA events. The start weights are
restored outside the clock.

When a case is opened it also runs all epochs once (`once_ns.training`), which is where its results
come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from capturing import poison
from device import Device
from host_memory import expect_room
from mlp_train_inputs import Inputs, Params
from mlp_trainers import (
    AnyTrainer,
    CapturedTrainer,
    CompiledTrainer,
    FusedTrainer,
    LoaderTrainer,
    Task,
    Trainer,
    validation_of,
)
from mnist_data import MNIST
from mnist_mlp import DeviceImages
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, Skip

T = TypeVar("T")

LOSS_EVERY = 10
DTYPES = ("f32", "tf32")

_FLOAT_BYTES = 4
# Of the weights, in the host's memory: as they are made and as they are kept; on the CPU those that
# are trained, their gradients and a copy to look at, too.
_COPIES_TO_START = 2
_COPIES_TO_TRAIN = 3
# Of the test images, in the host's memory of a CPU: in front of a ReLU and behind it.
_ACTIVATIONS = 2


class Eager:
    """Images on the device, operation by operation; and what the modes have in common with it."""

    def __init__(self, inputs: Inputs, dtype: str, device: Device, mark: Mark) -> None:
        self.once_ns: dict[str, int] = {}
        self._inputs = inputs
        self._params = inputs.params
        self._dtype = dtype
        self._device = device
        self._mark = mark
        self._on_gpu = device.kind == "cuda"
        start_ns = now_ns()
        self._task = self._prepare_task()
        self._start_weights, self._orders = inputs.weights, inputs.orders
        if self._on_gpu:
            self._start_weights, self._orders = inputs.pinned()
            self._events = {
                name: [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                for name in ("train", "validate")
            }
        device.synchronize()
        self.once_ns["data"] = inputs.made_ns + now_ns() - start_ns
        with self._products():
            self._trainer = self._build()
            self._results = self._train_whole()
        self.probes: list[Probe] = [self._sample]

    @property
    def phases(self) -> dict[str, ClockDomain]:
        phases: dict[str, ClockDomain] = dict.fromkeys(
            ("train", "validate", "total", "residual", "step"), "host"
        )
        if self._on_gpu:
            phases |= {"train_device": "device", "validate_device": "device"}
        return phases

    def output(self) -> dict[str, np.ndarray]:
        """Return the first step's gradients, and the losses of the first steps of a training."""
        poison([*self._trainer.weights, self._task.losses])
        self._device.synchronize()
        self._sample()
        with self._products():
            losses = self._task.losses.to("cpu", copy=True)
            # Where a sample has fewer steps than are to be checked, the training goes on from it.
            for order in self._orders[1:]:
                if len(losses) >= self._inputs.checked_steps:
                    break
                self._trainer.run(order)
                losses = torch.cat((losses, self._task.losses.cpu()))
            self._trainer.start(self._start_weights)
            gradients = self._trainer.gradients(self._orders[0])
        arrays = {}
        for layer, (w, b) in enumerate(zip(gradients[0::2], gradients[1::2], strict=True)):
            arrays[f"gradient_{layer}"] = torch.cat((w, b[:, None]), dim=1).cpu().numpy()
        arrays["losses"] = losses[: self._inputs.checked_steps].numpy()
        return arrays

    def results(self) -> dict[str, Any]:
        return self._results

    def _prepare_task(self) -> Task:
        inputs, device = self._inputs, self._device.torch_device
        return Task(
            params=self._params,
            images=self._images(),
            order=torch.empty(inputs.n_images, dtype=torch.int32, device=device),
            losses=torch.empty(inputs.epoch_steps, device=device),
        )

    def _images(self) -> DeviceImages:
        return self._inputs.images_on(self._device.torch_device)

    def _build(self) -> AnyTrainer:
        return Trainer(self._task)

    def _validation(self) -> Tensor:
        """Return the validation's mean loss and accuracy, on the device."""
        return validation_of(self._trainer.weights, self._task.images)

    def _train(self) -> None:
        self._between_events("train", lambda: self._trainer.run(self._orders[0]))

    def _validate(self) -> Tensor:
        return self._between_events("validate", self._validation).cpu()

    def _between_events(self, name: str, work: Callable[[], T]) -> T:
        if not self._on_gpu:
            return work()
        start, end = self._events[name]
        start.record()
        result = work()
        end.record()
        return result

    def _sample(self) -> Sample:
        with self._products():
            self._trainer.start(self._start_weights)
            clock = PhaseClock(self._device.synchronize, self._mark)
            clock.time("train", self._train)
            validated = clock.time("validate", self._validate)
        ns: dict[str, float] = {**clock.finish()}
        ns["step"] = ns["train"] / self._inputs.epoch_steps
        if self._on_gpu:
            for name, (start, end) in self._events.items():
                ns[f"{name}_device"] = start.elapsed_time(end) * 1e6
        return Sample(ns, validated)

    @contextmanager
    def _products(self) -> Iterator[None]:
        """Let products of matrices be what the dtype says; cases of both may be open."""
        before = torch.backends.cuda.matmul.allow_tf32
        torch.backends.cuda.matmul.allow_tf32 = self._dtype == "tf32"
        try:
            yield
        finally:
            torch.backends.cuda.matmul.allow_tf32 = before

    def _train_whole(self) -> dict[str, Any]:
        """Run all epochs from the start weights; return what the case leaves behind."""
        losses: list[float] = []
        epochs: list[dict[str, Any]] = []
        self.once_ns["training"] = 0
        self._trainer.start(self._start_weights)
        self._device.synchronize()
        self._device.memory_statistics()
        with self._mark("training"):
            for order in self._orders:
                start_ns = now_ns()
                self._trainer.run(order)
                validation_loss, accuracy = self._validation().tolist()
                self.once_ns["training"] += now_ns() - start_ns
                statistics = self._device.memory_statistics()
                of_epoch = self._task.losses.tolist()
                _expect_finite(of_epoch, len(losses), validation_loss, epoch=len(epochs) + 1)
                losses += of_epoch
                about = {"validation_loss": validation_loss, "accuracy": accuracy, **statistics}
                epochs.append({"epoch": len(epochs) + 1, **about})
        told = sorted({*range(0, len(losses), LOSS_EVERY), len(losses) - 1})
        results = {
            "loss": [[step, losses[step]] for step in told],
            "epochs": epochs,
            "accuracy": epochs[-1]["accuracy"],
            "dataset": self._inputs.dataset.name,
        }
        if self._device.allocator is not None:
            results["allocator"] = self._device.allocator
        return results


class Loader(Eager):
    """The study's way: every batch comes from a loader in the host's memory."""

    _trainer: LoaderTrainer

    def _images(self) -> DeviceImages:
        return self._inputs.images_on(torch.device("cpu"))

    def _build(self) -> LoaderTrainer:
        return LoaderTrainer(self._task)

    def _validation(self) -> Tensor:
        return self._trainer.validation()


class Compiled(Eager):
    """The whole step goes through `torch.compile` at its most thorough."""

    def _build(self) -> AnyTrainer:
        return self._compiled("max-autotune")

    def _compiled(self, mode: str) -> CompiledTrainer:
        trainer = CompiledTrainer(self._task, mode)
        trainer.start(self._start_weights)
        self._device.synchronize()
        start_ns = now_ns()
        trainer.compile(self._orders[0])
        self._device.synchronize()
        self.once_ns["compile"] = now_ns() - start_ns
        return trainer


class Graph(Eager):
    """Steps are captured in CUDA graphs."""

    def _build(self) -> AnyTrainer:
        return self._captured(FusedTrainer(self._task))

    def _captured(self, trainer: FusedTrainer | CompiledTrainer) -> CapturedTrainer:
        trainer.start(self._start_weights)
        self._device.synchronize()
        start_ns = now_ns()
        captured = CapturedTrainer(trainer, self._task, self._orders[0])
        self._device.synchronize()
        self.once_ns["capture"] = now_ns() - start_ns
        return captured


class CompileGraph(Compiled, Graph):
    """The compiled steps are captured, in place of the compiler's own graphs."""

    def _build(self) -> AnyTrainer:
        return self._captured(self._compiled("max-autotune-no-cudagraphs"))


MODES: dict[str, type[Eager]] = {
    "dataloader": Loader,
    "eager": Eager,
    "compile": Compiled,
    "graph": Graph,
    "compile_graph": CompileGraph,
}


class MlpTrain:
    """The workload, as `workload.Workload` describes one."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> Inputs:
        """Return the data of a case with these parameters, whose own seed is what counts."""
        if spec.dtype not in DTYPES:
            raise Skip(f"dtype {spec.dtype}: only {', '.join(DTYPES)} are written for PyTorch")
        if spec.dtype == "tf32" and spec.device == "cpu":
            raise Skip("dtype tf32: only f32 is written for PyTorch on the CPU")
        params = Params.of(spec)
        expect_room(_data_bytes(params) + _FLOAT_BYTES * _COPIES_TO_START * params.n_weights)
        return Inputs(params)

    def open(self, spec: CaseSpec, inputs: Inputs, device: Device, mark: Mark) -> Eager:
        """Make a case ready."""
        if issubclass(MODES[spec.variant], Graph) and device.kind != "cuda":
            raise Skip("CUDA graphs need a GPU")
        if device.kind == "cpu":
            params = inputs.params
            activations = _ACTIVATIONS * max(params.batch * params.depth, MNIST.n_test)
            values = _COPIES_TO_TRAIN * params.n_weights + activations * params.width
            expect_room(_FLOAT_BYTES * values)
        return MODES[spec.variant](inputs, spec.dtype, device, mark)


def _data_bytes(params: Params) -> int:
    """Return what images and orders take in the host's memory, as bytes and as numbers."""
    images = (MNIST.n_train + MNIST.n_test) * MNIST.pixels
    return (1 + _FLOAT_BYTES) * images + 2 * _FLOAT_BYTES * params.epochs * MNIST.n_train


def _expect_finite(
    losses: list[float], first_step: int, validation_loss: float, epoch: int
) -> None:
    """Fail a training that came apart in an epoch."""
    for step, loss in enumerate(losses, first_step):
        if not math.isfinite(loss):
            raise CaseError(f"loss is not finite from step {step} on")
    if not math.isfinite(validation_loss):
        raise CaseError(f"validation loss is not finite after epoch {epoch}")
