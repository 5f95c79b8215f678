"""Cases that run one function from host memory to host memory: their phases and probes.

jit      The function as users write it, under `jax.jit`. On a GPU it is called with NumPy arrays, and
         `np.asarray` fetches the outputs.
aot      One program, compiled ahead of time (`lower().compile()`). On a GPU inputs and outputs are in
         pinned host memory, and the program includes both copies; the caller owns the pinned inputs,
         and filling them is not part of the sample.
overlap  `aot`, whose inputs are in chunks of rows, each copied in, computed and copied out by calls
         that do not wait, so that copies and computations can overlap. Skipped on the CPU.

Phases on a GPU: `h2d`, `forward`, `d2h`, each waited for, `total`, `residual`; `host_to_host`, with
only the last wait. On the CPU there are no copies: `forward`, `total`, `residual`, `host_to_host`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.sharding import SingleDeviceSharding

from case import Case, leave_random, nothing_to_wait_for
from chunks import equal_chunks
from device import JaxDevice
from outputs import difference
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, Skip, TimedPhase

# Enough work in a chunk to hide the calls that start it; more chunks than that hide little more.
_CHUNK_BYTES = 1 << 24
_MOST_CHUNKS = 8


class Jit(Case, ABC):
    """The plain mode, and the base of the others.

    `x` is what a run copies, an array or a tree of arrays, and `y` what it computes.
    """

    _x: Any
    """What `run` starts from, in host memory."""
    _steps = 0
    """Of a training of which a step is compared: then that is all that is timed."""
    _n_resident = 0
    """How many of `_arguments` are on the device before a run."""
    _donated: int
    """Which of them a run changes."""
    _options: dict[str, Any] | None = None
    """The compiler's."""

    def __init__(self, inputs: Any, device: JaxDevice, mark: Mark) -> None:
        super().__init__(device, mark)
        self._memory = SingleDeviceSharding(self._device)
        # On the CPU the device's memory is the host's.
        self._host_memory = SingleDeviceSharding(
            self._device, memory_kind="pinned_host" if self._on_gpu else None
        )
        self._inputs = inputs
        self.audited = "train" if self._steps > 0 else "host_to_host"
        self.load(inputs)
        self._plain = self._function(inputs)
        self._forward = self._jitted(self._plain, donate_argnums=self._donated)
        self._once("compile", self._compile)
        given = _shapes(self._arguments(self._x))  # of x in pinned memory JAX would compute there
        y = jax.eval_shape(self._forward, *given)
        self._outputs = [_shapes(y, memory) for memory in {self._memory, self._host_memory}]
        whole = [] if self._steps > 0 else [self._host_to_host]
        self.probes: list[Probe] = [self._phased, *whole]

    @property
    def phases(self) -> dict[str, ClockDomain]:
        work, whole = ("train", "step") if self._steps > 0 else ("forward", "host_to_host")
        around = ["h2d", work, "d2h"] if self._on_gpu else [work]
        return dict.fromkeys([*around, "total", "residual", whole], "host")

    @abstractmethod
    def load(self, inputs: Any) -> None:
        """Have further runs use these inputs, of the same shapes."""

    @abstractmethod
    def _function(self, inputs: Any) -> Callable[..., Any]:
        """Return the function of `_arguments`."""

    @abstractmethod
    def _arrays(self, y: Any) -> dict[str, np.ndarray]:
        """Return outputs as arrays by their names."""

    @abstractmethod
    def _tolerance(self, name: str) -> float:
        """Return by how much runs of an output may differ, absolute and relative."""

    def _jitted(self, function: Callable[..., Any], **keywords: Any) -> Any:
        return jax.jit(function, compiler_options=self._options, **keywords)

    def _arguments(self, x: Any) -> tuple[Any, ...]:
        """Return what the function is called with."""
        return (x,)

    def _fresh(self, x: Any) -> Any:
        """Return `x` with copies of what a run changes."""
        return x

    def run(self) -> None:
        """Compute from host memory to host memory."""
        y = self._forward(*self._arguments(self._fresh(self._x)))
        self._y = self._download(y)

    @contextmanager
    def timed(self) -> Iterator[Callable[[], None]]:
        if self._steps > 0:
            with self._repeated_forward() as run:
                yield run
        else:
            yield self.run

    def timed_phase(self, phase: str) -> TimedPhase | None:
        """Return what `forward` times; None for other phases."""
        if phase != "forward":
            return None
        return TimedPhase(self._repeated_forward())

    @contextmanager
    def _repeated_forward(self) -> Iterator[Callable[[], None]]:
        x = jax.block_until_ready(self._upload())

        def run() -> None:
            nonlocal x
            y = ready(self._forward(*self._arguments(x)))
            x = self._after(x, y)

        yield run

    def _after(self, x: Any, _y: Any) -> Any:
        """Return what another run can start from where one has left `y`."""
        return x

    def leave_random(self) -> None:
        self._y = None
        leave_random(self._outputs)

    def read(self) -> dict[str, np.ndarray]:
        """Return the outputs of the last run."""
        return self._arrays(self._y)

    def output(self, *, compares: bool = True) -> dict[str, np.ndarray]:
        """Return what `host_to_host` leaves after checking that the phased run computes the same."""
        if not compares:
            self.probes[-1]()
            return self.read()
        found = []
        for probe in self.probes:
            self.leave_random()
            probe()
            found.append(self.read())
        *others, whole = found
        for phased in others:  # none of a training
            for name, y in whole.items():
                off = difference(phased[name], y, self._tolerance(name))
                if off is not None:
                    raise CaseError(
                        f"output: phased and host_to_host runs differ by up to {off:.3g} in {name}"
                    )
        return whole

    def _compile(self) -> Any:
        """Run what `_phased` and `run` call; an input on the device has another program."""
        return [self._forward(*self._arguments(x)) for x in (self._fresh(self._x), self._upload())]

    def _upload(self) -> Any:
        return jax.device_put(self._fresh(self._x), self._memory)

    def _download(self, y: Any) -> Any:
        """Return the outputs in host memory, when they are there."""
        return [np.asarray(part) for part in y] if isinstance(y, list) else np.asarray(y)

    def _phased(self) -> Sample:
        x = None if self._on_gpu else jax.block_until_ready(self._fresh(self._x))
        clock = PhaseClock(nothing_to_wait_for, self._mark)

        def forward(x: Any) -> Any:
            return ready(self._forward(*self._arguments(x)))

        if self._on_gpu:
            x = clock.time("h2d", lambda: jax.block_until_ready(self._upload()))
        work = "train" if self._steps > 0 else "forward"
        y = clock.time(work, forward, x)
        self._y = clock.time("d2h", self._download, y) if self._on_gpu else y
        ns: dict[str, float] = {**clock.finish()}
        if self._steps > 0:
            ns["step"] = ns["train"] / self._steps
        return Sample(ns)

    def _host_to_host(self) -> Sample:
        with self.timed() as run, self._mark("host_to_host"):
            start_ns = now_ns()
            run()
            return Sample({"host_to_host": now_ns() - start_ns})


class Aot(Jit):
    """One program with the copies, compiled ahead of time."""

    def run(self) -> None:
        self._y = ready(self._whole(*self._arguments(self._fresh(self._x))))

    def _compile(self) -> Any:
        n = self._n_resident

        def whole(*arguments: Any) -> Any:
            copied = jax.device_put(arguments[n:], self._memory)
            return jax.device_put(self._plain(*arguments[:n], *copied), self._host_memory)

        arguments = self._arguments(self._x)
        program = self._forward
        if self._on_gpu:
            program = self._jitted(whole, out_shardings=self._host_memory)
        self._whole = program.lower(*arguments).compile()
        return self._forward(*self._arguments(self._upload()))

    def _download(self, y: Any) -> Any:
        return ready(jax.device_put(y, self._host_memory))


class Overlap(Aot):
    """Chunks whose copies and computations overlap."""

    _chunks: list[Any]
    """Rows of `x` in pinned memory: set by `load`."""

    def __init__(self, inputs: Any, device: JaxDevice, mark: Mark) -> None:
        if device.kind == "cpu":
            raise Skip("there are no copies to overlap on the CPU")
        super().__init__(inputs, device, mark)

    def run(self) -> None:
        self._copy_uncut()
        self._y = Parts(jax.block_until_ready([self._start(chunk) for chunk in self._chunks]))

    def read(self) -> dict[str, np.ndarray]:
        if isinstance(self._y, Parts):
            self._y = jax.tree.map(lambda *parts: np.concatenate(parts), *self._y)
        return super().read()

    def _copy_uncut(self) -> None:
        """Start to copy the inputs that every chunk needs; there are none."""

    def _of_chunk(self, chunk: Any) -> Any:
        """Return `x` on the device of a chunk that is there."""
        return chunk

    def _start(self, chunk: Any) -> Any:
        x = self._of_chunk(jax.device_put(chunk, self._memory))
        return jax.device_put(self._forward(*self._arguments(x)), self._host_memory)

    def _compile(self) -> Any:
        self._copy_uncut()
        first = self._forward(*self._arguments(self._upload()))
        return [first, *map(self._start, self._chunks)]


class Parts(list[Any]):
    """What each chunk computed: put together when it is read."""


def split(arrays: list[np.ndarray]) -> list[list[np.ndarray]]:
    """Return the chunks of arrays with the same number of rows."""
    n = min(_MOST_CHUNKS, -(-sum(x.nbytes for x in arrays) // _CHUNK_BYTES))
    ends = np.cumsum(equal_chunks(len(arrays[0]), n))
    return [list(parts) for parts in zip(*(np.split(x, ends[:-1]) for x in arrays), strict=True)]


def _shapes(tree: Any, memory: Any = None) -> Any:
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=memory), tree)


def ready(y: Any) -> Any:
    """Return an array or a list of them when computed: waiting for a tree takes longer."""
    for part in y if isinstance(y, list) else (y,):
        part.block_until_ready()
    return y
