"""A training of a multilayer perceptron on MNIST as a case: the common part of both workloads.

Each workload defines its sample, its phases and the results of the complete training.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, NamedTuple

import numpy as np
import torch
from torch import Tensor

from capturing import poison
from case import Case
from device import Device
from mlp_trainers import AnyTrainer, CapturedTrainer, CompiledTrainer, FusedTrainer, Task, Trainer
from mnist_mlp import Inputs, Params
from timing import Mark, Probe, Sample


class Mode(NamedTuple):
    """A way to run the steps."""

    make: Callable[[Task], Trainer | CompiledTrainer]
    captured: bool = False
    """Are the steps captured in CUDA graphs?"""
    builds_in_sample: bool = False
    """Is building the model and its optimiser a phase?"""


# Modes that build the model outside samples, with weights in float32 or in the case's dtype.
STATIC_MODES = {
    "compile": Mode(lambda task: CompiledTrainer(task, torch.float32, "max-autotune")),
    "graph": Mode(FusedTrainer, captured=True),
    # Our captured graphs replace the compiler's own.
    "compile_graph": Mode(
        lambda task: CompiledTrainer(task, task.dtype, "max-autotune-no-cudagraphs"), captured=True
    ),
}


class Training(Case, ABC, Generic[Params]):
    """An open case. Opening it runs the complete training once, which gives the results."""

    runs_to_compile = 1
    """How many runs complete the compilation of a step."""

    def __init__(self, mode: Mode, inputs: Inputs[Params], device: Device, mark: Mark) -> None:
        super().__init__(device, mark)
        self._mode = mode
        self._inputs = inputs
        self._params = inputs.params
        self._start_weights = inputs.weights
        self._task = self._once("data", self._prepare)
        self.once_ns["data"] += inputs.made_ns
        with self._products():
            self._trainer = self._build()
            self._results = self._train_whole()
        self.probes: list[Probe] = [self._sample]

    def output(self) -> dict[str, np.ndarray]:
        """Return the first step's gradients, and the losses of the first steps of a training."""
        poison([*self._trainer.weights, self._task.losses])
        self._device.synchronize()
        with self._products():
            losses = self._checked_losses()
            self._trainer.start(self._start_weights)
            gradients = self._trainer.gradients()
        arrays = {
            f"gradient_{layer}": torch.cat((w, b[:, None]), dim=1).cpu().numpy()
            for layer, (w, b) in enumerate(zip(gradients[0::2], gradients[1::2], strict=True))
        }
        return {**arrays, "losses": losses.numpy()}

    def results(self) -> dict[str, Any]:
        return self._results

    @abstractmethod
    def _prepare(self) -> Task:
        """Prepare the training data and the source and target buffers of copies."""

    @abstractmethod
    def _sample(self) -> Sample:
        """Train for one sample."""

    @abstractmethod
    def _checked_losses(self) -> Tensor:
        """Return the losses to compare with the reference; leaves the order as for a sample."""

    @abstractmethod
    def _train_whole(self) -> dict[str, Any]:
        """Run all steps from the start weights and return the results of the case."""

    def _products(self) -> AbstractContextManager[None]:
        """Return the context in which all matrix products run."""
        return nullcontext()

    def _build(self) -> AnyTrainer:
        trainer = self._mode.make(self._task)
        if isinstance(trainer, CompiledTrainer):
            trainer.start(self._start_weights)
            self._once("compile", trainer.compile, self.runs_to_compile)
        if self._mode.captured:
            trainer.start(self._start_weights)
            return self._once("capture", CapturedTrainer, trainer, self._task)
        return trainer
