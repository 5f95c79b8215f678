"""`mlp_train`: epochs of training a multilayer perceptron on MNIST, each with a validation.

784-width-…-10, ReLU after the hidden layers, cross-entropy, SGD without momentum. A sample is the
first epoch from the start weights and its validation. The losses of all steps are recorded on the
device without synchronisation. The modes:

dataloader     As in the study: a `DataLoader` over a `TensorDataset` in host memory, each batch
               copied to the device; autograd and `torch.optim.SGD`, operation by operation. Its
               sampler yields our order, so that all contenders train on the same batches; the
               loader runs in this process (`num_workers=0`, the default).
eager          The same steps, with images and order on the device.
compile        Batch, model, loss and update as one function, with gradients by
               `torch.func.grad_and_value`, compiled by `torch.compile(mode="max-autotune",
               fullgraph=True)`. On a GPU this mode replays CUDA graphs of the compiler. A smaller
               last batch of an epoch has a separate function, not tuned after 100 full ones.
graph          SGD with one kernel for all weights. The steps of an epoch are captured in few CUDA
               graphs, which read their position from a counter on the device; a smaller last batch
               has a separate graph.
compile_graph  The compiled functions, captured in such graphs.
manual_graph   The backward pass written by hand: a product updates the weights with the gradient
               that it computes, and the compiler fuses all that is not a product; captured in such
               graphs.

In dtype f32 everything is float32; in tf32 matrix products may use TF32. `dataloader` validates
batch by batch, the others with all 10,000 images at once.

Phases: `train` (order to the device, all steps), `validate` (until loss and accuracy are on the
host), each ended by a synchronisation, `total`, `residual`; `step`, `train` divided by its steps;
on a GPU also `train_device` and `validate_device`, between two CUDA events. Restoring the start
weights is not timed.

Opening a case in the first pass also runs all epochs once (`once_ns.training`), for its results.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, Sampler, TensorDataset

from case import Events
from device import Device
from host_memory import expect_room
from losses import expect_finite, loss_curve
from mlp_model import logits_of
from mlp_trainers import Task, Trainer
from mnist_data import MNIST
from mnist_mlp import DeviceImages, Inputs
from mnist_params import MlpTrainParams as Params
from protocol import CaseSpec
from timing import Mark, PhaseClock, Sample, now_ns
from training import STATIC_MODES, AnyTrainer, Mode, Trained, Training
from workload import CaseError, ClockDomain, expect_dtype

DTYPES = ("f32", "tf32")
# Per activation in host memory, on the CPU: before and after a ReLU.
_ACTIVATION_BYTES = 2 * 4


class FixedOrder(Sampler[int]):
    """Gives a loader the images in a fixed order instead of a random one."""

    def __init__(self, order: Tensor) -> None:
        self._order = order

    def __iter__(self) -> Iterator[int]:
        return iter(self._order.tolist())

    def __len__(self) -> int:
        return len(self._order)


class LoaderTrainer(Trainer):
    """The study's way: a `DataLoader` collects each batch in host memory."""

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        images, batch = task.images, task.params.batch
        train = TensorDataset(images.train_x, images.train_y)
        self._train = DataLoader(train, batch_size=batch, sampler=FixedOrder(task.order))
        test = TensorDataset(images.test_x, images.test_y)
        self._test = DataLoader(test, batch_size=batch)

    def _batches(self, steps: int) -> Iterator[tuple[Tensor, Tensor]]:
        return islice(self._on_device(self._train), steps)

    @torch.no_grad()
    def validation(self) -> Tensor:
        """Return the same as `validation_of`, computed batch by batch."""
        sums = torch.zeros(2, device=self._task.device)
        for x, y in self._on_device(self._test):
            logits = self._model(x)
            loss = functional.cross_entropy(logits, y, reduction="sum")
            sums += torch.stack((loss, (logits.argmax(dim=1) == y).float().sum()))
        return sums / len(self._task.images.test_y)

    def _on_device(self, loader: DataLoader[Any]) -> Iterator[tuple[Tensor, Tensor]]:
        for x, y in loader:
            yield x.to(self._task.device), y.to(self._task.device)


@torch.no_grad()
def validation_of(weights: list[Tensor], images: DeviceImages) -> Tensor:
    """Return the mean loss on the test images and the accuracy."""
    logits = logits_of(images.test_x, weights)
    correct = (logits.argmax(dim=1) == images.test_y).float()
    return torch.stack((functional.cross_entropy(logits, images.test_y), correct.mean()))


MODES = {"dataloader": Mode(LoaderTrainer), "eager": Mode(Trainer), **STATIC_MODES}


class MlpTraining(Training[Params]):
    """An open case."""

    # For the compiler's CUDA graphs: one run to compile, one to warm up, one to record.
    runs_to_compile = 3

    @property
    def phases(self) -> dict[str, ClockDomain]:
        phases: dict[str, ClockDomain] = dict.fromkeys(
            ("train", "validate", "total", "residual", "step"), "host"
        )
        if self._on_gpu:
            phases |= {"train_device": "device", "validate_device": "device"}
        return phases

    @property
    def _checked_steps(self) -> int:
        return self._params.checked_steps(self._inputs.n_images)

    def _checked_losses(self) -> Tensor:
        checked = self._checked_steps
        self._sample()
        losses = self._task.losses.to("cpu", copy=True)
        # If a sample has too few steps for the check, continue the training from it.
        for order in self._orders[1:]:
            if len(losses) >= checked:
                break
            self._run_epoch(order)
            losses = torch.cat((losses, self._task.losses.cpu()))
        self._task.order.copy_(self._orders[0])
        return losses[:checked]

    def _prepare(self) -> Task:
        inputs, device = self._inputs, self._device.torch_device
        self._load_order()
        self._pairs = {name: Events(self._device) for name in ("train", "validate")}
        data_device = torch.device("cpu") if self._mode.make is LoaderTrainer else device
        return Task(
            self._params,
            inputs.images_on(data_device),
            order=inputs.order[0].to(data_device, copy=True),
            losses=torch.empty(self._params.epoch_steps(inputs.n_images), device=device),
        )

    @property
    def _sample_steps(self) -> int:
        return self._task.full_steps

    def _load_order(self) -> None:
        self._orders = self._inputs.pinned_order if self._on_gpu else self._inputs.order

    def _run_epoch(self, order: Tensor) -> None:
        self._task.order.copy_(order, non_blocking=True)
        self._trainer.run(len(self._task.losses))

    def _validation(self) -> Tensor:
        """Return the mean loss and accuracy of the validation, on the device."""
        if isinstance(self._trainer, LoaderTrainer):
            return self._trainer.validation()
        return validation_of(self._trainer.weights, self._task.images)

    def _started(self) -> AnyTrainer:
        self._trainer.start(self._start_weights)
        return self._trainer

    def _train(self, _trainer: AnyTrainer) -> None:
        self._pairs["train"].around(self._run_epoch, self._orders[0])

    def _validate(self) -> Tensor:
        return self._pairs["validate"].around(self._validation).cpu()

    def _sample(self) -> Sample:
        trainer = self._started()
        clock = PhaseClock(self._device.synchronize, self._mark)
        clock.time("train", self._train, trainer)
        validated = clock.time("validate", self._validate)
        ns: dict[str, float] = {**clock.finish()}
        ns["step"] = ns["train"] / len(self._task.losses)
        if self._on_gpu:
            ns |= {f"{name}_device": pair.elapsed_ns() for name, pair in self._pairs.items()}
        return Sample(ns, Trained(self._task.losses, self._trainer.weights, validated))

    def _train_whole(self) -> dict[str, Any]:
        losses: list[float] = []
        epochs: list[dict[str, Any]] = []
        self.once_ns["training"] = 0
        self._trainer.start(self._start_weights)
        self._device.synchronize()
        self._device.memory_statistics()
        with self._mark("training"):
            for epoch, order in enumerate(self._orders, 1):
                start_ns = now_ns()
                self._run_epoch(order)
                validation_loss, accuracy = self._validation().tolist()
                self.once_ns["training"] += now_ns() - start_ns
                statistics = self._device.memory_statistics()
                epoch_losses = self._task.losses.tolist()
                expect_finite(epoch_losses, len(losses))
                if not math.isfinite(validation_loss):
                    raise CaseError(f"validation loss is not finite after epoch {epoch}")
                losses += epoch_losses
                about = {"validation_loss": validation_loss, "accuracy": accuracy, **statistics}
                epochs.append({"epoch": epoch, **about})
        self._task.order.copy_(self._orders[0])
        results = {
            "loss": loss_curve(losses),
            "epochs": epochs,
            "accuracy": epochs[-1]["accuracy"],
            "dataset": self._inputs.dataset.name,
        }
        if self._device.allocator is not None:
            results["allocator"] = self._device.allocator
        return results


class MlpTrain:
    """The workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> Inputs[Params]:
        """Return the data of a case; uses the seed in its parameters."""
        expect_dtype(spec, DTYPES, on_cpu=("f32",))
        params = Params.of(spec)
        expect_room(params.data_bytes)
        return Inputs(params)

    def open(
        self, spec: CaseSpec, inputs: Inputs[Params], device: Device, mark: Mark
    ) -> MlpTraining:
        """Build a case."""
        if device.kind == "cpu":
            params = inputs.params
            activations = max(params.batch * params.depth, MNIST.n_test) * params.width
            expect_room(params.train_bytes + _ACTIVATION_BYTES * activations)
        return MlpTraining(MODES[spec.variant], inputs, device, mark)
