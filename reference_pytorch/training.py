"""A training of a multilayer perceptron on MNIST as a case: the part without its sample.

Each workload defines its sample, its phases and the results of the complete training.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, NamedTuple

import numpy as np
import torch
from torch import Tensor

from capturing import compiled
from case import Case, fill_randomly
from device import Device
from mlp_captured import CapturedTrainer
from mlp_compiled import CompiledTrainer
from mlp_manual import ManualTrainer
from mlp_trainers import FusedTrainer, StaticTrainer, Task, Trainer
from mlp_weights import by_layer
from mnist_mlp import Inputs, Params
from timing import Mark, Probe, Sample

AnyTrainer = Trainer | StaticTrainer | CapturedTrainer


class Mode(NamedTuple):
    """A way to run the steps."""

    make: Callable[[Task], Trainer | StaticTrainer]
    captured: bool = False
    """Are the steps captured in CUDA graphs?"""


_NO_GRAPHS = "max-autotune-no-cudagraphs"
STATIC_MODES = {
    "compile": Mode(lambda task: CompiledTrainer(task, "max-autotune")),
    "graph": Mode(FusedTrainer, captured=True),
    # Our captured graphs replace the compiler's own.
    "compile_graph": Mode(lambda task: CompiledTrainer(task, _NO_GRAPHS), captured=True),
    "manual_graph": Mode(
        lambda task: ManualTrainer(task, lambda function: compiled(function, _NO_GRAPHS)),
        captured=True,
    ),
}


class Trained(NamedTuple):
    """What a sample leaves."""

    losses: Tensor
    """The mean loss of each step."""
    weights: Sequence[Tensor]
    validation: Tensor | None = None
    """Mean loss and accuracy, if the sample has a validation."""


class Training(Case, ABC, Generic[Params]):
    """An open case."""

    runs_to_compile = 1
    """How many runs complete the compilation of a step."""

    def __init__(self, mode: Mode, inputs: Inputs[Params], device: Device, mark: Mark) -> None:
        super().__init__(device, mark)
        self._mode = mode
        self._inputs = inputs
        self._params = inputs.params
        self._task = self._once("data", self._prepare)
        self._start_weights: list[Tensor] = []
        self._load_weights()
        self.once_ns["data"] += inputs.made_ns
        with self._products():
            self._trainer = self._build()
        self._results: dict[str, Any] = {}
        self.probes: list[Probe] = self._keeping([self._sample])

    def load(self, inputs: Inputs[Params]) -> None:
        """Have further runs start from these weights and take the images in this order."""
        self._inputs = inputs
        self._load_weights()
        self._load_order()

    def leave_random(self) -> None:
        self._left = None
        fill_randomly([*self._trainer.weights, self._task.losses])
        self._device.synchronize()

    def read(self) -> dict[str, np.ndarray]:
        """Return the losses of the last sample, at most as many as are checked, and the weights."""
        losses = self._left.losses[: self._checked_steps].detach().cpu().double()
        weights = [weight.detach().cpu().float().reshape(-1) for weight in self._left.weights]
        return {"losses": losses.numpy().copy(), "weights": torch.cat(weights).numpy()}

    @contextmanager
    def timed(self) -> Iterator[Callable[[], None]]:
        with self._products():
            trainer = self._started()
            self._device.synchronize()

            def run() -> None:
                self._train(trainer)
                self._device.synchronize()

            yield run

    def output(self) -> dict[str, np.ndarray]:
        """Return the first step's gradients, and the losses of the first steps of a training."""
        self.leave_random()
        with self._products():
            losses = self._checked_losses()
            self._trainer.start(self._start_weights)
            gradients = self._trainer.gradients()
        arrays = [gradient.detach().float().cpu().numpy() for gradient in gradients]
        return {**by_layer("gradient", arrays), "losses": losses.numpy()}

    def find_results(self) -> None:
        """Run the complete training once."""
        with self._products():
            self._results = self._train_whole()

    def results(self) -> dict[str, Any]:
        return self._results

    @abstractmethod
    def _prepare(self) -> Task:
        """Prepare the training data and the source and target buffers of copies."""

    @abstractmethod
    def _load_order(self) -> None:
        """Have samples, which begin with a copy of the order, take that of the inputs."""

    @abstractmethod
    def _started(self) -> AnyTrainer:
        """Return a trainer that has the start weights."""

    @abstractmethod
    def _train(self, trainer: AnyTrainer) -> None:
        """Do what the phase `train` times, without waiting for the device."""

    @property
    @abstractmethod
    def _checked_steps(self) -> int:
        """The number of steps whose losses are compared with the reference."""

    @abstractmethod
    def _sample(self) -> Sample:
        """Train for one sample; its output is a `Trained`."""

    @abstractmethod
    def _checked_losses(self) -> Tensor:
        """Return the losses to compare with the reference; leaves the order as for a sample."""

    @abstractmethod
    def _train_whole(self) -> dict[str, Any]:
        """Run all steps from the start weights and return the results of the case."""

    @property
    @abstractmethod
    def _sample_steps(self) -> int:
        """The number of steps with full batches in a sample."""

    @property
    def _pins(self) -> bool:
        """Whether samples copy from and to pinned host memory."""
        return self._on_gpu

    def _load_weights(self) -> None:
        """Have further runs start from the weights of the inputs."""
        if not self._pins:
            self._start_weights = self._inputs.weights
        elif not self._start_weights:
            self._start_weights = [weight.pin_memory() for weight in self._inputs.weights]
        else:
            for own, given in zip(self._start_weights, self._inputs.weights, strict=True):
                own.copy_(given)

    def _products(self) -> AbstractContextManager[None]:
        """Return the context in which all matrix products run."""
        return nullcontext()

    def _build(self) -> AnyTrainer:
        trainer = self._mode.make(self._task)
        if isinstance(trainer, StaticTrainer):
            trainer.start(self._start_weights)
            self._once("compile", trainer.compile, self.runs_to_compile)
        if self._mode.captured:
            trainer.start(self._start_weights)
            return self._once("capture", CapturedTrainer, trainer, self._task, self._sample_steps)
        return trainer
