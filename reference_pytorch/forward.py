"""Cases that run one function from host memory to host memory: their phases, probes and graphs.

What a run takes and returns, one tensor or several, matters only to the methods that a workload
adds: buffers, copies in and out, and reading.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np
from torch import Tensor

from capturing import Captured, capture, compiled, run_on_side_stream
from case import Case, fill_randomly
from device import Device
from kept import Kept
from outputs import difference
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, TimedPhase

T = TypeVar("T")

# How many forward passes one graph gets: as many launches as `kernel_graph` of our own kernels.
_REPEATED_NS, _MOST_REPEATS = 400_000, 256

# Takes what `_upload` returns, and returns what `_download` takes.
Forward = Callable[[Any], Any]


def listed(result: Any) -> list[Any]:
    """Return what a function computed as a list."""
    return list(result) if isinstance(result, (list, tuple)) else [result]


class ForwardCase(Case, ABC):
    """The base of all modes: the function is called once per run."""

    builds_in_sample = False
    """Whether building the model is a phase."""

    grad_mode: Callable[[], AbstractContextManager[Any]] = nullcontext
    """The context of every run, entered outside the timed part."""

    _steps = 0
    """Of a training of which a step is compared: then that is all that is timed."""

    def __init__(self, inputs: Any, device: Device, mark: Mark) -> None:
        super().__init__(device, mark)
        self._inputs = inputs
        self.audited = "train" if self._steps > 0 else "host_to_host"
        self._copies = self._on_gpu
        """Whether a run copies input and output."""
        self._model = self._build()
        self._prepare_buffers()
        self.load(inputs)
        self._forward = self._prepare_forward(self._model)
        probes = [self._phased] if self._steps > 0 else [self._phased, self._host_to_host]
        if self._on_gpu and self._steps == 0:
            probes += [self._between_events, *self._more_probes()]
        self.probes: list[Probe] = self._keeping(probes)
        self._compared_probe = self.probes[-1 if self._steps > 0 else 1]

    @property
    def phases(self) -> dict[str, ClockDomain]:
        init = ["init"] if self.builds_in_sample else []
        trains = self._steps > 0
        work = "train" if trains else "forward"
        around = ["h2d", work, "d2h"] if self._copies else [work]
        whole = ["total", "residual", "step" if trains else "host_to_host"]
        phases: dict[str, ClockDomain] = dict.fromkeys(init + around + whole, "host")
        if self._on_gpu:
            names = ("train_device", "step_device") if trains else ("forward_device",)
            phases |= dict.fromkeys(names, "device")
        return phases

    @abstractmethod
    def load(self, inputs: Any) -> None:
        """Have further runs use these inputs, of the same shapes."""

    @abstractmethod
    def _arrays(self, outputs: list[Tensor]) -> dict[str, np.ndarray]:
        """Return outputs, which nobody changes, as arrays by their names."""

    def keep(self) -> Kept:
        """Return what the last run left, which is complete by then: later runs do not change it."""
        kept = Kept(listed(self._left), self._device.torch_device, self._arrays)
        self._device.synchronize()
        return kept

    def read(self) -> dict[str, np.ndarray]:
        """Return the outputs of the last run as new arrays."""
        return self.keep()()

    def _may_repeat(self) -> bool:
        """Return whether a second forward pass on the same inputs computes the same as the first."""
        return True

    def run(self) -> Any:
        """Run from host memory to host memory and wait for the output."""
        y_host = self._download(self._for_run()(self._upload()))
        self._wait()
        return y_host

    def _for_run(self) -> Any:
        """Return what a run calls."""
        return self._forward

    @contextmanager
    def timed(self) -> Iterator[Callable[[], Any]]:
        if self._steps > 0:
            with self._repeated_forward() as run:
                yield run
        else:
            with self.grad_mode():
                yield self.run

    def timed_phase(self, phase: str) -> TimedPhase | None:
        """Return what `forward` times; None for other phases.

        Where a run changes its inputs, the next one finds them so, which is as much work.
        """
        if phase != "forward" or self.builds_in_sample:
            return None
        return TimedPhase(self._repeated_forward())

    @contextmanager
    def _repeated_forward(self) -> Iterator[Callable[[], None]]:
        forward = self._rebuild() if self.builds_in_sample else self._forward

        def run() -> None:
            forward(x)
            self._device.synchronize()

        with self.grad_mode():
            x = self._upload()
            self._device.synchronize()
            yield run

    def leave_random(self) -> None:
        self._left = None
        with self.grad_mode():
            fill_randomly(self._outputs())
        self._device.synchronize()

    def output(self, *, compares: bool = True) -> dict[str, np.ndarray]:
        """Return what `host_to_host` leaves after checking that the other probes leave the same."""
        if not compares:
            self._compared_probe()
            return self.read()
        expected = self._output_of(self._compared_probe)
        arrays = expected()
        for probe in self.probes:
            if probe is not self._compared_probe:
                self._expect_same(probe.__name__, self._output_of(probe), expected, arrays)
        return arrays

    def _output_of(self, probe: Probe) -> Kept:
        self.leave_random()
        probe()
        return self.keep()

    def _expect_same(
        self, probe_name: str, found: Kept, expected: Kept, arrays: dict[str, np.ndarray]
    ) -> None:
        """Raise `CaseError` if a probe left something else than the compared one.

        They may use different kernels, so they need not agree to the bit. The supervisor checks only
        one of them against the reference output.
        """
        if found.has_bits_of(expected):
            return
        others = found()
        for name, y in arrays.items():
            off = difference(others[name], y, self._tolerance(name))
            if off is not None:
                what = f"{probe_name.removeprefix('_')} and host_to_host runs differ"
                raise CaseError(
                    f"output: {what} by up to {off:.3g} in {name}, on the same inputs: is it all "
                    "written, by the time that a run returns, to memory that no other run has?"
                )

    @abstractmethod
    def _tolerance(self, name: str) -> float:
        """Return by how much runs of an output may differ, absolute and relative."""

    @abstractmethod
    def _build(self) -> Any:
        """Return what the forward pass calls."""

    def _rebuild(self) -> Any:
        """Build it anew, in a sample."""
        return self._build()

    @abstractmethod
    def _upload(self) -> Any:
        """Return the inputs on the device, fresh ones of what a run changes."""

    @abstractmethod
    def _download(self, y: Any) -> Any:
        """Start to copy what the forward pass returned to host memory; return it there."""

    def _prepare_buffers(self) -> None:
        """Allocate buffers that all samples use; none in this mode."""

    def _prepare_forward(self, model: Any) -> Forward:
        """Return the forward pass."""
        return model

    def _more_probes(self) -> list[Probe]:
        """Return the probes on a GPU that other modes do not have."""
        return []

    def _wait(self) -> None:
        """Wait for the output of `run`."""
        self._device.synchronize()

    def _outputs(self) -> list[Tensor]:
        """Return tensors in the memory that the next run writes its output to.

        If PyTorch allocates outputs, it reuses the memory of the previous one.
        """
        y = self._forward(self._upload())
        return [*listed(y), *listed(self._download(y))]

    def _phased(self) -> Sample:
        with self.grad_mode():
            x = None if self._copies else self._upload()
            clock = PhaseClock(self._device.synchronize, self._mark)
            forward = clock.time("init", self._rebuild) if self.builds_in_sample else self._forward
            if self._copies:
                x = clock.time("h2d", self._upload)
            if self._steps > 0:
                y = clock.time("train", self._events.around, forward, x)
            else:
                y = clock.time("forward", forward, x)
            y_host = clock.time("d2h", self._download, y) if self._copies else self._download(y)
            return Sample(self._with_steps(clock.finish()), y_host)

    def _with_steps(self, ns: Mapping[str, float]) -> Mapping[str, float]:
        """Return the times of a sample with those of a step."""
        if self._steps == 0:
            return ns
        of_step = {"step": ns["train"] / self._steps}
        if self._on_gpu:
            whole_ns = self._events.elapsed_ns()
            of_step |= {"train_device": whole_ns, "step_device": whole_ns / self._steps}
        return {**ns, **of_step}

    def _host_to_host(self) -> Sample:
        with self.timed() as run, self._mark("host_to_host"):
            self._device.synchronize()
            start_ns = now_ns()
            y_host = run()
            return Sample({"host_to_host": now_ns() - start_ns}, y_host)

    def _between_events(self) -> Sample:
        with self.grad_mode(), self._mark("forward_device"):
            x, forward = self._upload(), self._for_run()
            self._device.synchronize()
            y = self._events.around(forward, x)
            return Sample({"forward_device": round(self._events.elapsed_ns())}, y)


class CompiledForward(ForwardCase):
    """The function compiled with `max-autotune`."""

    def _prepare_forward(self, model: Any) -> Forward:
        def forward(x: Any) -> Any:
            return model(x)

        compiled_forward = compiled(forward, "max-autotune")
        with self.grad_mode():
            self._once("compile", compiled_forward, self._upload())
        return compiled_forward


class GraphForward(ForwardCase):
    """The forward pass and the run from host to host, captured in CUDA graphs.

    One more graph has many forward passes: what one of them takes without the cost of a launch, as
    `kernel_graph` says of our own kernels.
    """

    _x: Any
    _y_host: Any
    """What `_upload` and `_download` return: allocated once."""
    _is_fresh = True
    """Whether no untimed run may come before the next sample."""

    @property
    def phases(self) -> dict[str, ClockDomain]:
        repeated: dict[str, ClockDomain] = {"forward_graph": "device"}
        return super().phases | (repeated if self._may_repeat() else {})

    def run(self) -> Any:
        self._whole_graph.replay()
        self._wait()
        return self._y_host

    def _wait(self) -> None:
        self._wait_for_stream()

    def _prepare_forward(self, model: Any) -> Forward:
        self._wait_for_stream = self._device.stream_waiter()
        with self.grad_mode():
            forward = self._function(model)
            run_on_side_stream(lambda: self._run_all(forward), steps=self._steps)
            graph = self._once("capture", self._capture, forward)
            self._n_repeats = self._count_repeats(graph) if self._may_repeat() else 0
            if self._n_repeats > 0:
                self._repeated = self._captured(lambda: self._repeat(forward))

        def replay(_x: Any) -> Any:
            graph.replay()
            return graph.result

        return replay

    def timed_phase(self, phase: str) -> TimedPhase | None:
        """Return what `forward_graph` times, too."""
        if phase != "forward_graph" or not self._may_repeat():
            return super().timed_phase(phase)
        return TimedPhase(self._replayed(), self._n_repeats)

    @contextmanager
    def _replayed(self) -> Iterator[Callable[[], None]]:
        """Wait once, after all runs: the device's clock sees neither a launch nor a wait."""
        with self.grad_mode():
            self._upload()
            self._device.synchronize()
            yield self._repeated.replay
            self._wait()

    def _count_repeats(self, graph: Captured[Any]) -> int:
        ns = []
        for _ in range(3):
            self._events.around(graph.replay)
            ns.append(self._events.elapsed_ns())
        fitting = _REPEATED_NS / max(min(ns), 1)
        return int(2 ** math.floor(math.log2(min(max(fitting, 2), _MOST_REPEATS))))

    def _repeat(self, forward: Forward) -> Any:
        for _ in range(self._n_repeats):
            y = forward(self._x)
        return y

    def _more_probes(self) -> list[Probe]:
        return [self._in_a_row] if self._may_repeat() else []

    def leave_random(self) -> None:
        super().leave_random()
        self._is_fresh = True

    def _in_a_row(self) -> Sample:
        """Time a graph directly after another, as in a long row: alone it takes longer."""
        with self.grad_mode(), self._mark("forward_graph"):
            self._upload()
            self._device.synchronize()
            if not self._is_fresh:
                self._repeated.replay()
            self._is_fresh = False
            self._events.around(self._repeated.replay)
            ns = self._events.elapsed_ns() / self._n_repeats
            return Sample({"forward_graph": ns}, self._repeated.result)

    def _function(self, model: Any) -> Forward:
        """Return the forward pass to capture."""
        return model

    def _run_all(self, forward: Forward) -> None:
        """Run what is captured."""
        forward(self._upload())
        if self._steps == 0:
            self._whole(forward)

    def _capture(self, forward: Forward) -> Captured[Any]:
        if self._steps == 0:
            self._whole_graph = self._captured(lambda: self._whole(forward))
        return self._captured(lambda: forward(self._x))

    def _captured(self, work: Callable[[], T]) -> Captured[T]:
        """Return the work in a graph, after it has run."""
        return capture(work)

    def _whole(self, forward: Forward) -> Sequence[Tensor]:
        """Run from host to host; return the outputs on the device."""
        y = forward(self._upload())
        self._download(y)
        return listed(y)

    def _outputs(self) -> list[Tensor]:
        whole = self._whole_graph.result if self._steps == 0 else []
        repeated = listed(self._repeated.result) if self._may_repeat() else []
        return [*super()._outputs(), *whole, *repeated]


class CompiledGraphForward(GraphForward):
    """The graphs of a forward pass that is compiled."""

    def _function(self, model: Any) -> Forward:
        # Our captured graphs replace the compiler's own.
        mode = "max-autotune-no-cudagraphs"
        function = compiled(self._plain(model), mode)
        self._once("compile", self._compile, function)
        return function

    def _plain(self, model: Any) -> Forward:
        """Return the forward pass to compile."""

        def forward(x: Any) -> Any:
            return model(x)

        return forward

    def _compile(self, function: Forward) -> None:
        """Run the function once for each shape."""
        function(self._upload())
