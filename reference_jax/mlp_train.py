"""`mlp_train`: epochs of training a multilayer perceptron on MNIST, each with a validation.

784-width-…-10, ReLU after the hidden layers, cross-entropy, SGD without momentum. A sample is the
first epoch from the start weights and its validation with all test images at once. In dtype f32
everything is float32; in tf32 matrix products use TF32. `mlp_trainers.py` has the modes; in `scan`
a call is a whole epoch.

Phases: `train` (order to the device, all steps), `validate` (until loss and accuracy are on the
host), each waited for, `total`, `residual`; `step`, `train` divided by its steps. Copying the start
weights is not timed.

Opening a case in the first pass also runs all epochs once (`once_ns.training`), for its results.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from case import nothing_to_wait_for
from device import JaxDevice
from host_memory import expect_room
from losses import expect_finite, loss_curve
from mnist_data import MNIST
from mnist_params import MlpTrainParams as Params
from protocol import CaseSpec
from timing import Mark, PhaseClock, Sample, now_ns
from training import MODES, Inputs, Training, validation_of
from workload import CaseError, ClockDomain, expect_dtype

DTYPES = ("f32", "tf32")
# Per activation in host memory, on the CPU: before and after a ReLU.
_ACTIVATION_BYTES = 2 * 4


class MlpTraining(Training[Params]):
    """An open case."""

    @property
    def phases(self) -> dict[str, ClockDomain]:
        return dict.fromkeys(("train", "validate", "total", "residual", "step"), "host")

    def _first_order(self) -> np.ndarray:
        return self._inputs.order[0]

    @property
    def _checked_steps(self) -> int:
        return self._params.checked_steps(self._inputs.n_images)

    def _checked_losses(self) -> np.ndarray:
        checked = self._checked_steps
        self._sample()
        losses = self.read()["losses"]
        # If a sample has too few steps for the check, continue the training from it.
        for order in self._inputs.order[1:]:
            if len(losses) >= checked:
                break
            self._run_epoch(order)
            losses = np.concatenate((losses, self.read()["losses"]))
        return losses[:checked]

    def _train(self) -> None:
        self._run_epoch(self._start_order)

    def _run_epoch(self, order: np.ndarray) -> None:
        self._trainer.place(order)
        self._trainer.train(self._params.rate)
        self._trainer.wait()

    def _validate(self) -> list[float]:
        """Return the mean loss and accuracy of the validation."""
        return validation_of(self._trainer.weights, self._images, self._inputs.dtype)

    def _sample(self) -> Sample:
        self._trainer.start(self._inputs.weights)
        self._trainer.place(self._start_order)
        self._trainer.wait()
        clock = PhaseClock(nothing_to_wait_for, self._mark)
        clock.time("train", self._train)
        clock.time("validate", self._validate)
        ns: dict[str, float] = {**clock.finish()}
        ns["step"] = ns["train"] / self._params.epoch_steps(self._inputs.n_images)
        return Sample(ns)

    def _train_whole(self) -> dict[str, Any]:
        losses: list[float] = []
        epochs: list[dict[str, Any]] = []
        self.once_ns["training"] = 0
        self._trainer.start(self._inputs.weights)
        with self._mark("training"):
            for epoch, order in enumerate(self._inputs.order, 1):
                start_ns = now_ns()
                self._run_epoch(order)
                validation_loss, accuracy = self._validate()
                self.once_ns["training"] += now_ns() - start_ns
                epoch_losses = self._download()[0].tolist()
                expect_finite(epoch_losses, len(losses))
                if not math.isfinite(validation_loss):
                    raise CaseError(f"validation loss is not finite after epoch {epoch}")
                losses += epoch_losses
                about = {"validation_loss": validation_loss, "accuracy": accuracy}
                epochs.append({"epoch": epoch, **about})
        return {
            "loss": loss_curve(losses),
            "epochs": epochs,
            "accuracy": epochs[-1]["accuracy"],
            "dataset": self._inputs.dataset.name,
        }


class MlpTrain:
    """The workload; implements `workload.Workload`."""

    modes = MODES

    def make_inputs(self, spec: CaseSpec, seed: int) -> Inputs[Params]:
        """Return the data of a case; uses the seed in its parameters."""
        expect_dtype(spec, DTYPES, on_cpu=("f32",))
        params = Params.of(spec)
        expect_room(params.data_bytes + _train_bytes(spec, params))
        return Inputs(params, spec.dtype)

    def open(
        self, spec: CaseSpec, inputs: Inputs[Params], device: JaxDevice, mark: Mark
    ) -> MlpTraining:
        """Build a case."""
        return MlpTraining(spec.variant, inputs, device, mark)


def _train_bytes(spec: CaseSpec, params: Params) -> int:
    """Return the host memory of a training on the CPU."""
    if spec.device != "cpu":
        return 0
    activations = max(params.batch * params.depth, MNIST.n_test) * params.width
    return params.train_bytes + _ACTIVATION_BYTES * activations
