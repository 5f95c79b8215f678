"""`mnist_train`: training of 784-H-H-H-10 on MNIST; a sample is the first steps from fresh weights.

ReLU after the hidden layers, cross-entropy, SGD without momentum. Images, labels and order are on
the device; the losses of all steps are recorded there without synchronisation. The modes, in
dtypes f16 and mixed, which is float16 products and float32 weights:

eager          As in the study, in both dtypes: weights in float32, autocast, autograd and
               `torch.optim.SGD`, operation by operation.
compile        The same arithmetic: batch, model, loss and update as one function, with gradients by
               `torch.func.grad_and_value`, compiled by `torch.compile(mode="max-autotune",
               fullgraph=True)`. On a GPU this mode replays CUDA graphs of the compiler.
graph          Weights in float16, too (mixed: in float32, with autocast), and SGD with one kernel
               for all of them. The steps of a sample are captured in one CUDA graph, which reads its
               position from a counter on the device.
compile_graph  The compiled function with such weights, captured in such a graph.
manual_graph   The backward pass written by hand: a product updates the weights with the gradient
               that it computes, and the compiler fuses all that is not a product; captured in such a
               graph. In dtype mixed weights are rounded at the beginning of a step.

In dtype f32 everything is float32. Products are accumulated in float32 (cuBLAS may reduce partial
sums in float16, which PyTorch allows by default).

Phases on a GPU: `init` (eager only: every sample builds model and optimiser), `h2d` (start weights
and order), `train`, `d2h` (losses and weights), each ended by a synchronisation, `total`,
`residual`; `train_device`, the training between two CUDA events; `step` and `step_device`, both
divided by the steps of a sample. On the CPU there are no copies, and work before the training is
not timed: `train`, `step`, `total`, `residual`.

Opening a case in the first pass also runs the complete training once (`once_ns.training`), which
gives its losses and its accuracy on the test images.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from case import fill_randomly
from device import Device
from host_memory import expect_room
from losses import expect_finite, loss_curve
from mlp_model import logits_of
from mlp_trainers import Task, Trainer
from mnist_data import MNIST
from mnist_mlp import Inputs
from mnist_params import DESCENTS, MIXED_DESCENTS
from mnist_params import MnistTrainParams as Params
from protocol import CaseSpec
from timing import Mark, PhaseClock, Sample
from training import STATIC_MODES, AnyTrainer, Mode, Trained, Training
from workload import ClockDomain, expect_dtype


class Precision(NamedTuple):
    """What the numbers of a case are kept in."""

    products: torch.dtype
    weights: torch.dtype


DTYPES = {
    "f16": Precision(torch.float16, torch.float16),
    "mixed": Precision(torch.float16, torch.float32),
    "f32": Precision(torch.float32, torch.float32),
}
_DTYPE_NAMES = {torch.float16: "f16", torch.float32: "f32"}
_TEST_IMAGES_AT_ONCE = 2000


MODES = {"eager": Mode(Trainer, builds_in_sample=True), **STATIC_MODES}


class MnistTraining(Training[Params]):
    """An open case.

    All modes minimise the sum of the batch's losses with a rate divided by the batch, which is
    equivalent to the mean and the rate. In float16 this is a constant loss scale: it keeps gradients
    away from the lower end of the range, where those of the mean would lose precision.
    """

    @property
    def phases(self) -> dict[str, ClockDomain]:
        init = ["init"] if self._mode.builds_in_sample else []
        around = [*init, "h2d", "train", "d2h"] if self._on_gpu else ["train"]
        phases: dict[str, ClockDomain] = dict.fromkeys([*around, "total", "residual"], "host")
        phases["step"] = "host"
        if self._on_gpu:
            phases |= {"train_device": "device", "step_device": "device"}
        return phases

    def output(self) -> dict[str, np.ndarray]:
        """Return gradients, losses and how much the loss falls in descents."""
        mixed = self._task.dtype != self._task.weights_dtype
        descents = MIXED_DESCENTS if mixed else DESCENTS
        falls = {name: self._descent(rate) for name, rate in descents.items()}
        return {**super().output(), **falls}

    @property
    def _checked_steps(self) -> int:
        return self._params.checked_steps

    @property
    def _pins(self) -> bool:
        # A mode that builds the model in the sample also allocates in it.
        return self._on_gpu and not self._mode.builds_in_sample

    def leave_random(self) -> None:
        super().leave_random()
        if self._pins:
            fill_randomly([self._losses_host, *self._weights_host])

    def _checked_losses(self) -> Tensor:
        return self._sample().output.losses[: self._checked_steps]

    def _descent(self, rate: float) -> np.ndarray:
        """Return how much the loss falls in each of the first steps of a descent.

        On a GPU it runs as many steps as a sample, so that the same graphs are replayed.
        """
        params, task = self._params, self._task
        steps = params.descent_steps
        fill_randomly([task.losses])
        task.order[:steps] = self._inputs.order[0].to(task.device)
        self._trainer.start(self._start_weights)
        self._trainer.set_rate(rate)
        self._trainer.run(params.sample_steps if self._on_gpu else steps)
        self._trainer.set_rate(params.rate)
        losses = task.losses[:steps].cpu().double().numpy() / params.batch
        task.order[:steps] = self._inputs.order[:steps].to(task.device)
        return losses[0] - losses

    def _prepare(self) -> Task:
        inputs, params, device = self._inputs, self._params, self._device.torch_device
        self._start_order = self._order_to_start()
        if self._pins:
            self._losses_host = torch.empty(params.sample_steps, pin_memory=True)
            self._weights_host: list[Tensor] = []
        return Task(
            params,
            inputs.dtype,
            inputs.weights_dtype,
            inputs.images_on(device),
            order=inputs.order.to(device, copy=True),
            losses=torch.empty(params.steps, device=device),
            reduction="sum",
        )

    @property
    def _sample_steps(self) -> int:
        return self._params.sample_steps

    def _order_to_start(self) -> Tensor:
        order = self._inputs.order[: self._params.sample_steps]
        return order.pin_memory() if self._pins else order

    def _load_order(self) -> None:
        self._start_order = self._order_to_start()

    def _started(self) -> AnyTrainer:
        trainer = self._build() if self._mode.builds_in_sample else self._trainer
        self._upload(trainer)
        return trainer

    def _upload(self, trainer: AnyTrainer) -> None:
        trainer.start(self._start_weights)
        self._task.order[: self._params.sample_steps].copy_(self._start_order, non_blocking=True)

    def _train(self, trainer: AnyTrainer) -> None:
        self._events.around(trainer.run, self._params.sample_steps)

    def _download(self, trainer: AnyTrainer) -> Trained:
        """Copy the losses, as they are recorded, and the weights to the host."""
        weights, losses = trainer.weights, self._task.losses[: self._params.sample_steps]
        if not self._pins:
            weights_host = [weight.detach().cpu() for weight in weights]
            return Trained(losses.cpu(), weights_host)
        if not self._weights_host:
            self._weights_host = [
                torch.empty(weight.shape, dtype=weight.dtype, pin_memory=True) for weight in weights
            ]
        for weight, host in zip(weights, self._weights_host, strict=True):
            host.copy_(weight.detach(), non_blocking=True)
        return Trained(self._losses_host.copy_(losses, non_blocking=True), self._weights_host)

    def _sample(self) -> Sample:
        if self._on_gpu:
            builds = self._mode.builds_in_sample
            clock = PhaseClock(self._device.synchronize, self._mark)
            trainer = clock.time("init", self._build) if builds else self._trainer
            clock.time("h2d", self._upload, trainer)
            clock.time("train", self._train, trainer)
            trained = clock.time("d2h", self._download, trainer)
            ns: dict[str, float] = {**clock.finish()}
            ns["train_device"] = self._events.elapsed_ns()
            ns["step_device"] = ns["train_device"] / self._params.sample_steps
        else:
            trainer = self._started()
            clock = PhaseClock(self._device.synchronize, self._mark)
            clock.time("train", self._train, trainer)
            ns = {**clock.finish()}
            trained = self._download(trainer)
        ns["step"] = ns["train"] / self._params.sample_steps
        self._release(trainer)
        losses = trained.losses.double() / self._params.batch
        return Sample(ns, trained._replace(losses=losses))

    def _train_whole(self) -> dict[str, Any]:
        self._trainer.start(self._start_weights)
        with self._mark("training"):
            self._once("training", self._trainer.run, self._params.steps)
        losses = (self._task.losses.cpu().double() / self._params.batch).tolist()
        expect_finite(losses)
        return {
            "loss": loss_curve(losses),
            "accuracy": self._accuracy(),
            "dataset": self._inputs.dataset.name,
            "accumulate": "f32",
            "weights": _DTYPE_NAMES[self._trainer.weights[0].dtype],
        }

    @torch.no_grad()
    def _accuracy(self) -> float:
        """Return the accuracy of the trainer's weights on the test images."""
        images = self._task.images
        n_correct = 0
        for x, y in zip(
            images.test_x.split(_TEST_IMAGES_AT_ONCE),
            images.test_y.split(_TEST_IMAGES_AT_ONCE),
            strict=True,
        ):
            labels = logits_of(x, self._trainer.weights).argmax(dim=1)
            n_correct += int((labels == y).sum().item())
        return n_correct / MNIST.n_test


class MnistTrain:
    """The workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> Inputs[Params]:
        """Return the data of a case; uses the seed in its parameters."""
        expect_dtype(spec, DTYPES, on_cpu=("f32",))
        params, dtype = Params.of(spec), DTYPES[spec.dtype]
        train_bytes = params.train_bytes if spec.device == "cpu" else 0
        expect_room(params.data_bytes(dtype.products) + train_bytes)
        return Inputs(params, dtype.products, dtype.weights)

    def open(
        self, spec: CaseSpec, inputs: Inputs[Params], device: Device, mark: Mark
    ) -> MnistTraining:
        """Build a case."""
        if device.kind == "cpu":
            expect_room(inputs.params.train_bytes)
        return MnistTraining(MODES[spec.variant], inputs, device, mark)
