"""Operators in JAX: `jax_reference` of an operator's reference.py, in the modes of `forward.py`.

A training has `jax_step`, and all steps are one `lax.scan` in the same program.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import forward
import user_file
from device import JaxDevice
from input_files import InputFiles
from operator_call import Call
from operator_data import OperatorInputs, written
from operator_request import Array, Operator
from protocol import CaseSpec
from timing import Mark, Probe, Sample
from workload import CaseError, Skip

REFERENCE = "reference"
DTYPES = {
    "f32": jnp.float32,
    "f16": jnp.float16,
    "bf16": jnp.bfloat16,
    "f64": jnp.float64,
    "i32": jnp.int32,
    "i64": jnp.int64,
    "u8": jnp.uint8,
    "bool": jnp.bool_,
    "i8": jnp.int8,
    "e4m3": jnp.float8_e4m3fn,
    "e5m2": jnp.float8_e5m2,
}
# As in the trainings of built-in workloads; a reference may say JAX_UNROLLED.
_UNROLLED, _UNROLLED_BYTES = 10, 1 << 24
# Else XLA keeps what is float16 between the steps in a turn of its loop in float32: another training
# than the one that is written.
_ROUND_AS_WRITTEN = {"xla_allow_excess_precision": False}
# Of 64 bits; JAX has these types only where it is told so, and then prefers them.
_WIDE = ("f64", "i64")
# Older versions have it in jax.experimental.
_enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64


# ---- the user's file -------------------------------------------------------------------------------


class PyTorchIsNotHere(ModuleType):
    """Stands for PyTorch and all in it while a file is imported, for what JAX does not call."""

    __path__: Sequence[str] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return PyTorchIsNotHere(f"{self.__name__}.{name}")

    def __mro_entries__(self, _bases: Any) -> tuple[type, ...]:
        return ()

    def __call__(self, *_arguments: Any, **_keywords: Any) -> Any:
        return self

    def __or__(self, _other: Any) -> Any:
        return self


class _Absence(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, _path: Any = None, _target: Any = None) -> Any:
        known = name.partition(".")[0] == "torch"
        return importlib.machinery.ModuleSpec(name, self) if known else None

    def create_module(self, spec: Any) -> ModuleType:
        return PyTorchIsNotHere(spec.name)

    def exec_module(self, _module: ModuleType) -> None:
        pass


@contextmanager
def _without_torch() -> Iterator[None]:
    """Have imports of PyTorch, which JAX's process need not have, give something that does nothing."""
    finder = _Absence()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name, module in list(sys.modules.items()):
            if isinstance(module, PyTorchIsNotHere):
                del sys.modules[name]


def call_of(operator: Operator, params: Mapping[str, Any], offers: Mapping[str, Any]) -> Call:
    """Return `jax_reference`, or `jax_step`, as it is called for a case."""
    with _without_torch():
        module = user_file.load(Path(operator.folder), REFERENCE, operator.hash)
    name = f"jax_{operator.function}"
    return Call(operator, REFERENCE, getattr(module, name, None), name, params, offers)


def _unrolled(operator: Operator, device: JaxDevice) -> int:
    """Return how many steps are a turn of the loop: XLA's loops cost a few µs a turn on a GPU."""
    with _without_torch():
        module = user_file.load(Path(operator.folder), REFERENCE, operator.hash)
    asked = getattr(module, "JAX_UNROLLED", None)
    if isinstance(asked, int) and asked > 0:
        return asked
    state = sum(math.prod(a.shape) * np.dtype(DTYPES[a.dtype]).itemsize for a in operator.outputs)
    if device.kind == "cpu" or state > _UNROLLED_BYTES:
        return 1
    return _UNROLLED


def trained(call: Call, operator: Operator, unroll: int) -> Callable[[Sequence[Any]], list[Any]]:
    """Return all steps of a training as a function of the inputs.

    Steps of which no curve has a value follow one of which a curve has: what the others would record is
    not computed.
    """
    step = call.bound()
    places = [i for i, array in enumerate(operator.inputs) if array.in_place]
    curves = [array for array in operator.outputs if not array.in_place]

    length = math.gcd(*(curve.every for curve in curves)) if curves else 1
    n_groups, rest = divmod(operator.steps, length)

    def train(inputs: Sequence[Any]) -> list[Any]:
        def one(state: list[Any], number: Any) -> tuple[list[Any], list[Any]]:
            given = list(inputs)
            for place, value in zip(places, state, strict=True):
                given[place] = value
            found = call.listed(step(given, number))
            return found[: len(places)], found[len(places) :]

        def group(state: list[Any], first: Any, steps: int = length) -> tuple[Any, list[Any]]:
            state, values = one(state, first)
            for i in range(1, steps):
                state, _ = one(state, first + i)
            return state, values

        state = [jnp.asarray(inputs[place]) for place in places]
        firsts = jnp.arange(n_groups, dtype=jnp.int32) * length
        turn = max(1, min(unroll // length, n_groups))
        state, values = jax.lax.scan(group, state, firsts, unroll=turn)
        if rest > 0:
            state, last = group(state, jnp.int32(n_groups * length), rest)
            pairs = zip(values, last, strict=True)
            values = [jnp.concatenate([some, one[None]]) for some, one in pairs]
        kept = zip(curves, values, strict=True)
        return [*state, *(value[:: curve.every // length] for curve, value in kept)]

    return train


# ---- cases -----------------------------------------------------------------------------------------


class JaxInputs(OperatorInputs):
    """Inputs in host memory, with what else cases that share them are made of."""

    def __init__(self, operator: Operator, spec: CaseSpec, files: InputFiles | None) -> None:
        super().__init__(operator.arrays, files)
        self.operator, self.params = operator, {**spec.params, "dtype": spec.dtype}
        self.wide = any(a.dtype in _WIDE for a in operator.arrays)


def _group_of(spec: Array) -> str:
    return "staying" if spec.stays else "changed" if spec.in_place else "kept"


class Jit(forward.Jit):
    """The function under `jax.jit`; arrays in place are donated to it."""

    _inputs: JaxInputs
    _n_resident = 1  # the list of inputs that stay on the device
    _donated = 1
    _fused = False

    def __init__(self, inputs: JaxInputs, device: JaxDevice, mark: Mark) -> None:
        self._is_wide = inputs.wide
        self._call = call_of(inputs.operator, inputs.params, {"fused": self._fused})
        self._jax_device = device
        self._fixed: dict[str, Any] = {}
        self._steps = inputs.operator.steps if inputs.operator.by_step else 0
        if inputs.operator.steps > 0:
            self._options = _ROUND_AS_WRITTEN
        with self._bits():
            super().__init__(inputs, device, mark)
            self._expect_outputs()
        self.probes = [self._in_its_bits(probe) for probe in self.probes]

    def load(self, inputs: JaxInputs) -> None:
        given: dict[str, list[Any]] = {"staying": [], "changed": [], "kept": []}
        with self._bits():
            for spec, array in zip(inputs.specs, inputs.arrays, strict=True):
                group = _group_of(spec)
                placed = self._fixed.get(spec.name)
                if placed is None:
                    x = array.view(DTYPES[spec.dtype])
                    placed = self._stay(x) if group == "staying" else self._place(x)
                if spec.is_fixed:
                    self._fixed[spec.name] = placed
                given[group].append(placed)
            self._x, self._staying = (given["changed"], given["kept"]), given["staying"]
            jax.block_until_ready(given)

    def _stay(self, x: np.ndarray) -> Any:
        return jax.device_put(x, self._memory, may_alias=False)

    def _place(self, x: np.ndarray) -> Any:
        # On the CPU, where nothing is copied, in JAX's memory, as PyTorch's are in its own.
        return x if self._on_gpu else self._stay(x)

    def _arguments(self, x: Any) -> tuple[Any, ...]:
        return (self._staying, *x)

    def _fresh(self, x: Any) -> Any:
        changed, kept = x
        if self._on_gpu or not changed:
            return x
        return [
            jax.device_put(np.asarray(part), self._memory, may_alias=False) for part in changed
        ], kept

    def _function(self, inputs: JaxInputs) -> Callable[..., Any]:
        specs, call = inputs.specs, self._call
        operator = inputs.operator
        function = call.bound()
        if call.is_step:
            function = trained(call, operator, _unrolled(operator, self._jax_device))
        exact = any(t in ("f32", "f64") for t in operator.types.values())
        precision = "tensorfloat32" if operator.tf32 else "highest" if exact else "default"

        def of_inputs(
            staying: list[jax.Array], changed: list[jax.Array], kept: list[jax.Array]
        ) -> list[Any]:
            groups = {"staying": iter(staying), "changed": iter(changed), "kept": iter(kept)}
            with jax.default_matmul_precision(precision):
                found = function([next(groups[_group_of(spec)]) for spec in specs])
                return found if call.is_step else call.listed(found)

        return of_inputs

    def _expect_outputs(self) -> None:
        for array, y in zip(self._inputs.operator.outputs, self._outputs[0], strict=True):
            expected = f"{list(array.shape)} {np.dtype(DTYPES[array.dtype])}"
            found = f"{list(y.shape)} {y.dtype}" if hasattr(y, "shape") else str(y)
            if found != expected:
                raise CaseError(f"{self._call.place}: {array.name} is {found}, expected {expected}")

    def _after(self, x: Any, y: Any) -> Any:
        changed, kept = x
        return y[: len(changed)], kept  # which were donated

    def _arrays(self, y: Any) -> dict[str, np.ndarray]:
        arrays = self._inputs.operator.outputs
        return {
            a.name: written(np.asarray(part), a.dtype) for a, part in zip(arrays, y, strict=True)
        }

    def _tolerance(self, name: str) -> float:
        operator = self._inputs.operator
        (array,) = (array for array in operator.outputs if array.name == name)
        if not operator.deterministic:
            return math.inf
        dtype = DTYPES[array.dtype]
        return 10 * float(jnp.finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.floating) else 0

    # ---- with JAX's types of 64 bits, where the case has one ----

    def _bits(self) -> AbstractContextManager[Any]:
        return _enable_x64(True) if self._is_wide else nullcontext()

    def _in_its_bits(self, probe: Probe) -> Probe:
        def run() -> Sample:
            with self._bits():
                return probe()

        return run

    @contextmanager
    def timed(self) -> Iterator[Any]:
        with self._bits(), super().timed() as run:
            yield run

    @contextmanager
    def _repeated_forward(self) -> Iterator[Any]:
        with self._bits(), super()._repeated_forward() as run:
            yield run

    def leave_random(self) -> None:
        with self._bits():
            super().leave_random()


class Aot(forward.Aot, Jit):
    """One program with the copies."""

    _fused = True

    def _place(self, x: np.ndarray) -> Any:
        return jax.device_put(x, self._host_memory, may_alias=False)


class Overlap(forward.Overlap, Aot):
    """Chunks of the arrays that "splits" cuts; the others are copied before the first."""

    def load(self, inputs: JaxInputs) -> None:
        super().load(inputs)
        pairs = zip(inputs.specs, inputs.arrays, strict=True)
        given = [(spec, x.view(DTYPES[spec.dtype])) for spec, x in pairs if not spec.stays]
        if not any(spec.cut for spec, _ in given):
            raise Skip("no input is copied in parts: there are no copies to overlap")
        self._order = [(_group_of(spec), spec.cut) for spec, _ in given]
        chunks = forward.split([x for spec, x in given if spec.cut])
        with self._bits():
            self._chunks = [[self._place(part) for part in chunk] for chunk in chunks]
            self._uncut = [self._place(x) for spec, x in given if not spec.cut]
            jax.block_until_ready([self._chunks, self._uncut])

    def _copy_uncut(self) -> None:
        self._uncut_there = jax.device_put(self._uncut, self._memory) if self._uncut else []

    def _of_chunk(self, chunk: list[Any]) -> Any:
        cut, uncut = iter(chunk), iter(self._uncut_there)
        x: dict[str, list[Any]] = {"changed": [], "kept": []}
        for group, is_cut in self._order:
            x[group].append(next(cut if is_cut else uncut))
        return x["changed"], x["kept"]


# `scan` is the name of `aot` in trainings.
MODES: dict[str, type[Jit]] = {"jit": Jit, "aot": Aot, "scan": Aot, "overlap": Overlap}


class JaxOperator:
    """An operator; implements `workload.Workload`."""

    modes = tuple(MODES)

    def __init__(self, operator: Operator) -> None:
        self._operator = operator

    def make_inputs(self, spec: CaseSpec, files: InputFiles | None) -> JaxInputs:
        """Return the data of a case."""
        return JaxInputs(self._operator, spec, files)

    def open(self, spec: CaseSpec, inputs: JaxInputs, device: JaxDevice, mark: Mark) -> Jit:
        """Build a case."""
        return MODES[spec.variant](inputs, device, mark)
