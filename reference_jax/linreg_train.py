"""`linreg_train`: linear regression by full-batch gradient descent; a sample is all epochs.

Forward pass w·x + b, mean squared error, its gradient by `jax.grad`, and the step, in float32 on
points on the device. The modes:

jit   One epoch is one call of a compiled function, which also records the loss on the device.
scan  All epochs are one call: a `lax.scan` over groups of ten epochs, whose first one returns the
      loss. Groups and loop are unrolled, so that XLA sees fifty epochs at once.

Phases on a GPU: `train`, `d2h` (w, b and the recorded losses), each waited for, `total`,
`residual`; `host_to_host`, training and copy without a wait between them. On the CPU one run gives
`train`, `total`, `residual` and `host_to_host`. With epochs = 1 on the CPU also `fused`, the whole
epoch. JAX has no clock on the device, so there are no times of operations on a GPU.

The points are made on the host when a case is opened (the same bits for all engines) and copied
once. The final training loss and the test loss are computed after the training and not timed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from case import Case, leave_random, nothing_to_wait_for
from device import JaxDevice
from host_memory import expect_room
from linreg_points import LOSS_EVERY, START, Params, Points
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, expect_dtype

# Per point in host memory: x and y, and x with other signs; on the CPU also the temporaries of an
# epoch.
_DATA_BYTES = 8 + 4
_EPOCH_BYTES = 16

# Groups of epochs in one iteration of XLA's loop; on a GPU the host starts every iteration.
_UNROLLED = 5

# w, b and x, y.
Line = tuple[jax.Array, jax.Array]


@jax.jit
def loss_of(line: Line, x: jax.Array, y: jax.Array) -> jax.Array:
    """Return the mean squared error of the points."""
    w, b = line
    return jnp.mean(jnp.square(w * x + b - y))


def _step(line: Line, slope: Line, rate: float) -> Line:
    return jax.tree.map(lambda value, change: value - rate * change, line, slope)


@partial(jax.jit, static_argnames="rate")
def one_epoch(state: tuple[Line, jax.Array, jax.Array], data: Line, rate: float) -> Any:
    """Return line, losses and number of the next epoch."""
    line, losses, epoch = state
    loss, slope = jax.value_and_grad(loss_of)(line, *data)
    at = epoch // LOSS_EVERY
    losses = losses.at[at].set(jnp.where(epoch % LOSS_EVERY == 0, loss, losses[at]))
    return _step(line, slope, rate), losses, epoch + 1


@partial(jax.jit, static_argnames=("epochs", "rate"))
def all_epochs(line: Line, data: Line, epochs: int, rate: float) -> jax.Array:
    """Return w, b and the recorded losses as one array."""

    def group(line: Line, length: int) -> tuple[Line, jax.Array]:
        loss, slope = jax.value_and_grad(loss_of)(line, *data)
        line = _step(line, slope, rate)
        for _ in range(length - 1):
            line = _step(line, jax.grad(loss_of)(line, *data), rate)
        return line, loss

    n_groups, rest = divmod(epochs, LOSS_EVERY)
    line, losses = lax.scan(
        lambda line, _: group(line, LOSS_EVERY),
        line,
        length=n_groups,
        unroll=max(1, min(_UNROLLED, n_groups)),
    )
    if rest > 0:
        line, loss = group(line, rest)
        losses = jnp.append(losses, loss)
    return _packed(line, losses)


@jax.jit
def _packed(line: Line, losses: jax.Array) -> jax.Array:
    return jnp.concatenate([jnp.stack(line), losses])


class LinregTraining(Case):
    """An open case. Opening it trains once, which gives the results."""

    def __init__(
        self, variant: str, points: Points, params: Params, device: JaxDevice, mark: Mark
    ) -> None:
        super().__init__(device, mark)
        self._params = params
        self._n_losses = -(-params.epochs // LOSS_EVERY)
        self._train: Callable[[], jax.Array] = {"jit": self._by_epoch, "scan": self._at_once}[
            variant
        ]
        self._once("data", self.load, points)
        self.once_ns["data"] += points.made_ns
        self._once("compile", self._train)
        self.probes: list[Probe] = [self._phased, *([self._host_to_host] if self._on_gpu else [])]
        self._times_fused = params.epochs == 1 and not self._on_gpu
        self.probes[0]()
        self._fit = self.read()
        self._check_losses()

    @property
    def phases(self) -> dict[str, ClockDomain]:
        work = ["train", "d2h"] if self._on_gpu else ["train"]
        fused = ["fused"] if self._times_fused else []
        return dict.fromkeys([*work, "total", "residual", "host_to_host", *fused], "host")

    def load(self, inputs: Points, start: Sequence[float] = START) -> None:
        """Have further runs use these points and start values."""
        train, test, line = jax.device_put(
            (
                (inputs.x_train, inputs.y_train),
                (inputs.x_test, inputs.y_test),
                tuple(map(np.float32, start)),
            ),
            self._device,
        )
        self._data, self._test, self._start = jax.block_until_ready((train, test, line))

    def run(self) -> None:
        """Train and copy the result to the host."""
        self._computed = np.asarray(self._train())

    @contextmanager
    def timed(self) -> Iterator[Callable[[], object]]:
        yield self.run if self._on_gpu else self._train_and_wait

    def leave_random(self) -> None:
        self._computed = np.empty(0)
        shape = (2 + self._n_losses,)
        leave_random(jax.ShapeDtypeStruct(shape, np.float32, sharding=self._sharding()))

    def read(self) -> dict[str, np.ndarray]:
        """Return the arrays of the last run, with its final losses."""
        line = tuple(jax.device_put(self._computed[:2], self._device))
        losses = [*self._computed[2:].tolist(), float(loss_of(line, *self._data))]
        fit = {"params": self._computed[:2].astype(np.float64), "losses": np.array(losses)}
        if self._test[0].size > 0:
            fit["test_loss"] = np.array([float(loss_of(line, *self._test))])
        return fit

    def output(self) -> dict[str, np.ndarray]:
        """Return what the last probe computes."""
        self.leave_random()
        self.probes[-1]()
        return self.read()

    def results(self) -> dict[str, Any]:
        w, b = self._fit["params"].tolist()
        losses = zip(self._loss_epochs(), self._fit["losses"].tolist(), strict=True)
        results = {"w": w, "b": b, "loss": [list(pair) for pair in losses]}
        if "test_loss" in self._fit:
            results["test_loss"] = self._fit["test_loss"].item()
        return results

    def _by_epoch(self) -> jax.Array:
        state = self._start, jnp.zeros(self._n_losses, device=self._device), np.int32(0)
        for _ in range(self._params.epochs):
            state = one_epoch(state, self._data, self._params.rate)
        return _packed(*state[:2])

    def _at_once(self) -> jax.Array:
        return all_epochs(self._start, self._data, self._params.epochs, self._params.rate)

    def _train_and_wait(self) -> jax.Array:
        return self._train().block_until_ready()

    def _sharding(self) -> jax.sharding.Sharding:
        return jax.sharding.SingleDeviceSharding(self._device)

    def _phased(self) -> Sample:
        clock = PhaseClock(nothing_to_wait_for, self._mark)
        trained = clock.time("train", self._train_and_wait)
        if self._on_gpu:
            self._computed = clock.time("d2h", np.asarray, trained)
            return Sample(clock.finish())
        ns = clock.finish()
        ns["host_to_host"] = ns["train"]
        if self._times_fused:
            ns["fused"] = ns["train"]
        self._computed = np.asarray(trained)
        return Sample(ns)

    def _host_to_host(self) -> Sample:
        with self.timed() as run, self._mark("host_to_host"):
            start_ns = now_ns()
            run()
            return Sample({"host_to_host": now_ns() - start_ns})

    def _loss_epochs(self) -> list[int]:
        return [*range(0, self._params.epochs, LOSS_EVERY), self._params.epochs]

    def _check_losses(self) -> None:
        for epoch, loss in zip(self._loss_epochs(), self._fit["losses"], strict=True):
            if not math.isfinite(loss):
                raise CaseError(f"loss is not finite from epoch {epoch} on")


class LinregTrain:
    """The workload; implements `workload.Workload`."""

    modes = ("jit", "scan")

    def make_inputs(self, spec: CaseSpec, seed: int) -> Points:
        """Return the data of a case with these parameters."""
        expect_dtype(spec, ("f32",), on_cpu=("f32",))
        points = Params.of(spec).points
        expect_room(points * (_DATA_BYTES + (_EPOCH_BYTES if spec.device == "cpu" else 0)))
        return Points(points, seed)

    def open(self, spec: CaseSpec, inputs: Points, device: JaxDevice, mark: Mark) -> LinregTraining:
        """Build a case."""
        return LinregTraining(spec.variant, inputs, Params.of(spec), device, mark)
