"""`mlp_infer`: batched inference of a small MLP, host memory to host memory.

y = W_L·relu(… relu(W_1·x + b_1) …) + b_L, in float32 or entirely in float16 (dtype f16: inputs and
weights are the float32 ones rounded to nearest). The weights are on the device. The modes:

jit      The model as users write it, with matrix products: `forward.Jit`.
aot      `forward.Aot`; small layers are written out as elementwise operations, which XLA fuses into
         one loop over the samples.
overlap  The batch in chunks, each copied in, computed and copied out by calls that do not wait, so
         that the chunks' copies and computations can overlap. Skipped on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import forward
from device import JaxDevice
from mlp_model import DTYPES, is_small, logits_of, precision_of, small_logits_of, weights_in
from mlp_weights import Params, inputs, layers_of
from protocol import CaseSpec
from timing import Mark
from workload import Skip, expect_dtype

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


class _Mlp(forward.Jit):
    """The model, whose weights are on the device."""

    _n_resident = 1

    def load(self, inputs: MlpInputs) -> None:
        self._weights = jax.block_until_ready(jax.device_put(inputs.weights, self._memory))
        self._x = self._place_input(inputs.x)

    def _place_input(self, x: np.ndarray) -> Any:
        return x

    def _arguments(self, x: Any) -> tuple[Any, ...]:
        return self._weights, x

    def _jitted(self, inputs: MlpInputs) -> Any:
        model = self._model(inputs.weights)

        def logits(weights: Any, x: jax.Array) -> jax.Array:
            with precision_of(inputs.dtype):
                return model(x, weights)

        return jax.jit(logits)

    def _model(self, _weights: list[np.ndarray]) -> Callable[..., jax.Array]:
        """Return the model as a function of inputs and weights."""
        return logits_of

    def _arrays(self, y: Any) -> dict[str, np.ndarray]:
        parts = y if isinstance(y, list) else [y]
        return {"y": np.concatenate([np.asarray(part, dtype=np.float32) for part in parts])}

    def _tolerance(self, _name: str) -> float:
        return 10 * np.finfo(DTYPES[self._inputs.dtype]).eps


class Jit(_Mlp):
    """The model as users write it."""


class Aot(forward.Aot, _Mlp):
    """One program with the copies; small layers are written out as elementwise operations."""

    def _model(self, weights: list[np.ndarray]) -> Callable[..., jax.Array]:
        return small_logits_of if is_small(weights) else logits_of

    def _place_input(self, x: np.ndarray) -> jax.Array:
        return jax.device_put(x, self._host_memory).block_until_ready()


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


MODES: dict[str, type[_Mlp]] = {"jit": Jit, "aot": Aot, "overlap": Overlap}


class MlpInfer:
    """The workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> MlpInputs:
        """Return the data of a case with these parameters and dtype."""
        dtypes = ("f32", "f16")
        expect_dtype(spec, dtypes, on_cpu=dtypes)
        return MlpInputs(Params.of(spec), seed, spec.dtype)

    def open(self, spec: CaseSpec, inputs: MlpInputs, device: JaxDevice, mark: Mark) -> _Mlp:
        """Build a case."""
        if spec.variant == "overlap" and device.kind == "cpu":
            raise Skip("there are no copies to overlap on the CPU")
        return MODES[spec.variant](inputs, device, mark)
