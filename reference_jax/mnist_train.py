"""`mnist_train`: training of 784-H-H-H-10 on MNIST; a sample is the first steps from fresh weights.

ReLU after the hidden layers, cross-entropy, SGD without momentum. Images, labels and order are on
the device. In dtype f16 the weights are float16, too, in dtype mixed float32; the softmax and the
update are computed in float32. `mlp_trainers.py` has the modes.

Phases on a GPU: `h2d` (start weights and order), `train`, `d2h` (losses and weights), each waited
for, `total`, `residual`; `step`, which is `train` divided by the steps of a sample. On the CPU
there are no copies: `train`, `step`, `total`, `residual`.

Opening a case in the first pass also runs the complete training once (`once_ns.training`), in
stretches of as many steps as a sample has.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from case import nothing_to_wait_for
from device import JaxDevice
from host_memory import expect_room
from losses import expect_finite, loss_curve
from mlp_model import DTYPES
from mnist_params import DESCENTS, MIXED_DESCENTS
from mnist_params import MnistTrainParams as Params
from protocol import CaseSpec
from timing import Mark, PhaseClock, Sample, now_ns
from training import MODES, Inputs, Training, validation_of
from workload import ClockDomain, expect_dtype


class MnistTraining(Training[Params]):
    """An open case."""

    @property
    def phases(self) -> dict[str, ClockDomain]:
        work = ["h2d", "train", "d2h"] if self._on_gpu else ["train"]
        return dict.fromkeys([*work, "total", "residual", "step"], "host")

    def output(self) -> dict[str, np.ndarray]:
        """Return gradients, losses and how much the loss falls in descents."""
        descents = MIXED_DESCENTS if self._inputs.dtype == "mixed" else DESCENTS
        falls = {name: self._descent(rate) for name, rate in descents.items()}
        return {**super().output(), **falls}

    def _first_order(self) -> np.ndarray:
        return self._inputs.order[: self._params.sample_steps]

    @property
    def _checked_steps(self) -> int:
        return self._params.checked_steps

    def _checked_losses(self) -> np.ndarray:
        self._sample()
        return self.read()["losses"]

    def _descent(self, rate: float) -> np.ndarray:
        """Return how much the loss falls in each of the first steps of a descent.

        It runs as many steps as a sample, with the same compiled code.
        """
        steps = self._params.descent_steps
        order = self._first_order().copy()
        order[:steps] = order[0]
        self._trainer.start(self._inputs.weights)
        self._trainer.place(order)
        self._trainer.train(rate)
        losses = self.read()["losses"][:steps]
        return losses[0] - losses

    def _upload(self) -> None:
        self._trainer.start(self._inputs.weights)
        self._trainer.place(self._start_order)
        self._trainer.wait()

    def _train(self) -> None:
        self._trainer.train(self._params.rate)
        self._trainer.wait()

    def _sample(self) -> Sample:
        if self._on_gpu:
            clock = PhaseClock(nothing_to_wait_for, self._mark)
            clock.time("h2d", self._upload)
            clock.time("train", self._train)
            clock.time("d2h", self._download)
        else:
            self._upload()
            clock = PhaseClock(nothing_to_wait_for, self._mark)
            clock.time("train", self._train)
        ns: dict[str, float] = {**clock.finish()}
        ns["step"] = ns["train"] / self._params.sample_steps
        return Sample(ns)

    def _train_whole(self) -> dict[str, Any]:
        trainer, order = self._trainer, self._inputs.order
        parts = []
        start_ns = now_ns()
        trainer.start(self._inputs.weights)
        with self._mark("training"):
            for first in range(0, self._params.steps, self._params.sample_steps):
                trainer.place(order[first : first + self._params.sample_steps])
                trainer.train(self._params.rate)
                parts.append(trainer.losses)
            losses = np.concatenate(parts).astype(np.float64).tolist()
        self.once_ns["training"] = now_ns() - start_ns
        expect_finite(losses)
        _, accuracy = validation_of(trainer.weights, self._images, self._inputs.dtype)
        return {
            "loss": loss_curve(losses),
            "accuracy": accuracy,
            "dataset": self._inputs.dataset.name,
            "accumulate": "f32",
            "weights": "f16" if self._inputs.dtype == "f16" else "f32",
        }


class MnistTrain:
    """The workload; implements `workload.Workload`."""

    modes = MODES

    def make_inputs(self, spec: CaseSpec, seed: int) -> Inputs[Params]:
        """Return the data of a case; uses the seed in its parameters."""
        expect_dtype(spec, ("f16", "mixed", "f32"), on_cpu=("f32",))
        params = Params.of(spec)
        train_bytes = params.train_bytes if spec.device == "cpu" else 0
        expect_room(params.data_bytes(np.dtype(DTYPES[spec.dtype])) + train_bytes)
        return Inputs(params, spec.dtype)

    def open(
        self, spec: CaseSpec, inputs: Inputs[Params], device: JaxDevice, mark: Mark
    ) -> MnistTraining:
        """Build a case."""
        return MnistTraining(spec.variant, inputs, device, mark)
