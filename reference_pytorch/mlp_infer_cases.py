"""Inputs of `mlp_infer`, and its modes without CUDA graphs of our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from capturing import compiled
from case import Case, fill_randomly
from device import Device
from mlp_model import build_model, start_weights
from mlp_weights import Params, inputs, layers_of
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain

Forward = Callable[[Tensor], Tensor]


class MlpInputs:
    """Inputs and weights in host memory, made from the seed; shared by cases and read-only."""

    refilled = ("x",)
    """What a refill changes."""

    def __init__(
        self, batch: int, layers: list[int], seed: int, dtype: torch.dtype = torch.float32
    ) -> None:
        self.x = torch.from_numpy(inputs(Params(batch, layers), seed)).to(dtype)
        self.dtype = dtype
        self.out_features = layers[-1]
        self._layers = layers_of(layers)
        self._weights = start_weights(self._layers, seed, dtype)

    def build_model(self, device: torch.device) -> nn.Sequential:
        """Build the model as users do: modules, then these weights, then to the device."""
        model = build_model(self._layers, torch.device("cpu"), self.dtype)
        self.copy_weights_to(model)
        return model.to(device)

    @torch.no_grad()
    def copy_weights_to(self, model: nn.Module) -> None:
        """Set the parameters of a model in place."""
        for own, given in zip(model.parameters(), self._weights, strict=True):
            own.copy_(given)


class Eager(Case):
    """The study's mode and the base of the others."""

    builds_in_sample = True
    """Whether building the model is a phase."""

    grad_mode: Callable[[], AbstractContextManager[Any]] = nullcontext
    """The context of every run, entered outside the timed part."""

    def __init__(self, inputs: MlpInputs, device: Device, mark: Mark) -> None:
        super().__init__(device, mark)
        self._inputs = inputs
        self._copies = self._on_gpu
        """Whether a run copies input and output."""
        self._model = self._build()
        self._prepare_buffers()
        self.load(inputs)
        self._forward = self._prepare_forward(self._model)
        probes = [self._phased, self._host_to_host]
        if self._on_gpu:
            probes.append(self._between_events)
        self.probes: list[Probe] = self._keeping(probes)

    @property
    def phases(self) -> dict[str, ClockDomain]:
        init = ["init"] if self.builds_in_sample else []
        work = ["h2d", "forward", "d2h"] if self._copies else ["forward"]
        whole = ["total", "residual", "host_to_host"]
        phases: dict[str, ClockDomain] = dict.fromkeys(init + work + whole, "host")
        if self._on_gpu:
            phases["forward_device"] = "device"
        return phases

    def load(self, inputs: MlpInputs) -> None:
        """Have further runs use these inputs and weights, of the same shapes."""
        self._inputs = inputs
        inputs.copy_weights_to(self._model)

    def run(self) -> Tensor:
        """Run from host memory to host memory and wait for the output."""
        y_host = self._download(self._forward(self._upload()))
        self._wait()
        return y_host

    @contextmanager
    def timed(self) -> Iterator[Callable[[], Tensor]]:
        with self.grad_mode():
            yield self.run

    def leave_random(self) -> None:
        self._left = None
        with self.grad_mode():
            fill_randomly(self._outputs())
        self._device.synchronize()

    def read(self) -> dict[str, np.ndarray]:
        """Return the y of the last run."""
        return {"y": self._left.detach().float().cpu().numpy().copy()}

    def output(self) -> dict[str, np.ndarray]:
        """Return y of `host_to_host` after checking that the other probes compute the same."""
        found = {}
        for probe in self.probes:
            self.leave_random()
            probe()
            found[probe.__name__] = self.read()["y"]
        y = found["_host_to_host"]
        # They may use different kernels, so they need not agree to the bit. The supervisor checks
        # only one of them against the reference output.
        tolerance = 10 * torch.finfo(self._inputs.dtype).eps
        for name, other in found.items():
            if not np.allclose(other, y, rtol=tolerance, atol=tolerance, equal_nan=True):
                worst = float(np.abs(other - y).max())
                name = name.removeprefix("_")
                raise CaseError(f"output: {name} and host_to_host runs differ by up to {worst:.3g}")
        return {"y": y}

    def _build(self) -> nn.Module:
        return self._inputs.build_model(self._device.torch_device)

    def _prepare_buffers(self) -> None:
        """Allocate buffers that all samples use; none in this mode."""

    def _prepare_forward(self, model: nn.Module) -> Forward:
        """Return the forward pass, which takes what `_upload` returns."""
        return model

    def _upload(self) -> Tensor:
        return self._inputs.x.to(self._device.torch_device)

    def _download(self, y: Tensor) -> Tensor:
        return y.detach().cpu()

    def _wait(self) -> None:
        """Wait for the output of `run`."""
        self._device.synchronize()

    def _outputs(self) -> list[Tensor]:
        """Return tensors in the memory that the next run writes its output to.

        If PyTorch allocates outputs, it reuses the memory of the previous one.
        """
        y = self._forward(self._upload())
        return [y, self._download(y)]

    def _phased(self) -> Sample:
        with self.grad_mode():
            clock = PhaseClock(self._device.synchronize, self._mark)
            forward = clock.time("init", self._build) if self.builds_in_sample else self._forward
            if self._copies:
                x = clock.time("h2d", self._upload)
                y = clock.time("forward", forward, x)
                y_host = clock.time("d2h", self._download, y)
            else:
                y_host = clock.time("forward", forward, self._upload())
            return Sample(clock.finish(), y_host)

    def _host_to_host(self) -> Sample:
        with self.timed() as run, self._mark("host_to_host"):
            self._device.synchronize()
            start_ns = now_ns()
            y_host = run()
            return Sample({"host_to_host": now_ns() - start_ns}, y_host)

    def _between_events(self) -> Sample:
        with self.grad_mode(), self._mark("forward_device"):
            x = self._upload()
            self._device.synchronize()
            y = self._events.around(self._forward, x)
            return Sample({"forward_device": round(self._events.elapsed_ns())}, y)


class Inference(Eager):
    """The model is built once, and buffers are allocated once."""

    builds_in_sample = False
    grad_mode = torch.inference_mode

    def load(self, inputs: MlpInputs) -> None:
        super().load(inputs)
        if self._on_gpu:
            self._x_host.copy_(inputs.x)

    def _build(self) -> nn.Module:
        return super()._build().eval().requires_grad_(False)

    def _prepare_buffers(self) -> None:
        if self._on_gpu:
            x, rows = self._inputs.x, len(self._inputs.x)
            self._x_host = torch.empty(x.shape, dtype=x.dtype, pin_memory=True)
            self._x = torch.empty_like(x, device=self._device.torch_device)
            shape = rows, self._inputs.out_features
            self._y_host = torch.empty(shape, dtype=x.dtype, pin_memory=True)

    def _upload(self) -> Tensor:
        if not self._on_gpu:
            return self._inputs.x
        return self._x.copy_(self._x_host, non_blocking=True)

    def _download(self, y: Tensor) -> Tensor:
        return self._y_host.copy_(y, non_blocking=True) if self._on_gpu else y


class Compiled(Inference):
    """The model compiled with `max-autotune`."""

    def _prepare_forward(self, model: nn.Module) -> Forward:
        def forward(x: Tensor) -> Tensor:
            return model(x)

        compiled_forward = compiled(forward, "max-autotune")
        with self.grad_mode():
            self._once("compile", compiled_forward, self._upload())
        return compiled_forward
