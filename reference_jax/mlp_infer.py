"""`mlp_infer`: batched inference of a small MLP, host memory to host memory.

y = W_L·relu(… relu(W_1·x + b_1) …) + b_L, in float32 or entirely in float16 (dtype f16: inputs and
weights are the float32 ones rounded to nearest). The weights are on the device. The modes:

jit      The model as users write it, with matrix products, under `jax.jit`; it is called with a
         NumPy array, and `np.asarray` fetches the output.
aot      One program, compiled ahead of time (`lower().compile()`): small layers are written out as
         elementwise operations, which XLA fuses into one loop over the samples. On a GPU the input
         and the output are in pinned host memory, and the program includes both copies; the caller
         owns the pinned input, and filling it is not part of the sample.
overlap  The batch in chunks, each copied in, computed and copied out by calls that do not wait, so
         that the chunks' copies and computations can overlap. Skipped on the CPU.

Phases on a GPU: `h2d`, `forward`, `d2h`, each waited for, `total`, `residual`; `host_to_host`, with
only the last wait. On the CPU there are no copies: `forward`, `total`, `residual`, `host_to_host`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from case import Case, leave_random, nothing_to_wait_for
from device import JaxDevice
from mlp_model import DTYPES, is_small, logits_of, precision_of, small_logits_of, weights_in
from mlp_weights import Params, inputs, layers_of
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, Skip, expect_dtype

# Enough work in a chunk to hide the calls that start it; more chunks than that hide little more.
_CHUNK_SAMPLES = 1 << 20
_MOST_CHUNKS = 8


class MlpInputs:
    """Inputs and weights in host memory, made from the seed; shared by cases and read-only."""

    refilled = ("x",)
    """What a refill changes."""

    def __init__(self, params: Params, seed: int, dtype: str = "f32") -> None:
        self.dtype = dtype
        self.x = inputs(params, seed).astype(DTYPES[dtype])
        self.weights = weights_in(dtype, layers_of(params.layers), seed)


class Jit(Case):
    """The plain mode, and the base of the others."""

    def __init__(self, inputs: MlpInputs, device: JaxDevice, mark: Mark) -> None:
        super().__init__(device, mark)
        self._dtype = inputs.dtype
        self._memory = SingleDeviceSharding(self._device)
        # On the CPU the device's memory is the host's.
        self._host_memory = SingleDeviceSharding(
            self._device, memory_kind="pinned_host" if self._on_gpu else None
        )
        self.load(inputs)
        self._forward = jax.jit(self._model(inputs.weights))
        self._once("compile", self._compile)
        y = jax.eval_shape(self._forward, self._weights, self._x_shape())
        self._outputs = [
            jax.ShapeDtypeStruct(y.shape, y.dtype, sharding=memory)
            for memory in {self._memory, self._host_memory}
        ]
        self.probes: list[Probe] = [self._phased, self._host_to_host]

    @property
    def phases(self) -> dict[str, ClockDomain]:
        work = ["h2d", "forward", "d2h"] if self._on_gpu else ["forward"]
        return dict.fromkeys([*work, "total", "residual", "host_to_host"], "host")

    def load(self, inputs: MlpInputs) -> None:
        """Have further runs use these inputs and weights, of the same shapes."""
        self._weights = jax.block_until_ready(jax.device_put(inputs.weights, self._memory))
        self._x = self._place_input(inputs.x)

    def run(self) -> None:
        """Compute from host memory to host memory."""
        self._y = np.asarray(self._forward(self._weights, self._x))

    @contextmanager
    def timed(self) -> Iterator[Callable[[], None]]:
        yield self.run

    def leave_random(self) -> None:
        self._y = None
        leave_random(self._outputs)

    def read(self) -> dict[str, np.ndarray]:
        """Return the y of the last run."""
        parts = self._y if isinstance(self._y, list) else [self._y]
        return {"y": np.concatenate([np.asarray(part, dtype=np.float32) for part in parts])}

    def output(self) -> dict[str, np.ndarray]:
        """Return y of `host_to_host` after checking that the phased run computes the same."""
        found = []
        for probe in self.probes:
            self.leave_random()
            probe()
            found.append(self.read()["y"])
        tolerance = 10 * np.finfo(DTYPES[self._dtype]).eps
        if not np.allclose(*found, rtol=tolerance, atol=tolerance, equal_nan=True):
            worst = float(np.abs(found[0] - found[1]).max())
            raise CaseError(f"output: phased and host_to_host runs differ by up to {worst:.3g}")
        return {"y": found[-1]}

    def _model(self, _weights: list[np.ndarray]) -> Callable[..., jax.Array]:
        """Return the model as a function of weights and inputs."""
        return self._traced(logits_of)

    def _traced(self, model: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
        def forward(weights: Any, x: jax.Array) -> jax.Array:
            with precision_of(self._dtype):
                return model(x, weights)

        return forward

    def _compile(self) -> Any:
        """Run what `_phased` and `run` call; an input on the device has another program."""
        return [self._forward(self._weights, x) for x in (self._x, self._upload())]

    def _x_shape(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self._x.shape, self._x.dtype)

    def _place_input(self, x: np.ndarray) -> Any:
        return x

    def _upload(self) -> Any:
        return jax.device_put(self._x, self._memory)

    def _download(self, y: Any) -> Any:
        """Return the output in host memory, when it is there."""
        return np.asarray(y)

    def _phased(self) -> Sample:
        clock = PhaseClock(nothing_to_wait_for, self._mark)

        def forward(x: jax.Array) -> jax.Array:
            return self._forward(self._weights, x).block_until_ready()

        if self._on_gpu:
            x = clock.time("h2d", lambda: jax.block_until_ready(self._upload()))
            y = clock.time("forward", forward, x)
            self._y = clock.time("d2h", self._download, y)
        else:
            self._y = clock.time("forward", forward, self._x)
        return Sample(clock.finish())

    def _host_to_host(self) -> Sample:
        with self.timed() as run, self._mark("host_to_host"):
            start_ns = now_ns()
            run()
            return Sample({"host_to_host": now_ns() - start_ns})


class Aot(Jit):
    """One program with the copies, compiled ahead of time."""

    def run(self) -> None:
        self._y = self._whole(self._weights, self._x).block_until_ready()

    def _model(self, weights: list[np.ndarray]) -> Callable[..., jax.Array]:
        return self._traced(small_logits_of if is_small(weights) else logits_of)

    def _compile(self) -> Any:
        def whole(weights: Any, x: jax.Array) -> jax.Array:
            y = self._forward(weights, jax.device_put(x, self._memory))
            return jax.device_put(y, self._host_memory)

        program = jax.jit(whole, out_shardings=self._host_memory) if self._on_gpu else self._forward
        self._whole = program.lower(self._weights, self._x).compile()
        return self._forward(self._weights, self._upload())

    def _place_input(self, x: np.ndarray) -> jax.Array:
        return jax.device_put(x, self._host_memory).block_until_ready()

    def _download(self, y: jax.Array) -> jax.Array:
        return jax.device_put(y, self._host_memory).block_until_ready()


class Overlap(Aot):
    """Chunks whose copies and computations overlap."""

    def run(self) -> None:
        parts = [self._start(chunk) for chunk in self._chunks]
        self._y = jax.block_until_ready(parts)

    def _start(self, chunk: jax.Array) -> jax.Array:
        y = self._forward(self._weights, jax.device_put(chunk, self._memory))
        return jax.device_put(y, self._host_memory)

    def _compile(self) -> Any:
        return [self._forward(self._weights, self._upload()), *map(self._start, self._chunks)]

    def _place_input(self, x: np.ndarray) -> jax.Array:
        n_chunks = min(_MOST_CHUNKS, -(-len(x) // _CHUNK_SAMPLES))
        self._chunks = [super(Overlap, self)._place_input(p) for p in np.array_split(x, n_chunks)]
        return super()._place_input(x)


MODES: dict[str, type[Jit]] = {"jit": Jit, "aot": Aot, "overlap": Overlap}


class MlpInfer:
    """The workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> MlpInputs:
        """Return the data of a case with these parameters and dtype."""
        dtypes = ("f32", "f16")
        expect_dtype(spec, dtypes, on_cpu=dtypes)
        return MlpInputs(Params.of(spec), seed, spec.dtype)

    def open(self, spec: CaseSpec, inputs: MlpInputs, device: JaxDevice, mark: Mark) -> Jit:
        """Build a case."""
        if spec.variant == "overlap" and device.kind == "cpu":
            raise Skip("there are no copies to overlap on the CPU")
        return MODES[spec.variant](inputs, device, mark)
