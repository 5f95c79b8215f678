"""`mlp_infer`: batched inference of a small MLP, host memory to host memory.

y = W_L·relu(… relu(W_1·x + b_1) …) + b_L, in float32 or entirely in float16 (dtype f16: inputs and
weights are the float32 ones rounded to nearest). The modes are common ways to run such a model,
from the published study's to the fastest that PyTorch offers:

eager      As in the study: every sample builds the model (phase `init`), autograd is on, and input
           and output are pageable tensors.
inference  Under `torch.inference_mode`, with the model built once. On a GPU the input is in pinned
           memory, device input and pinned output are allocated once, and copies do not block.
compile    `inference` with `torch.compile(mode="max-autotune", fullgraph=True)`; on a GPU this
           mode uses CUDA graphs.
graph      `inference` captured by hand in CUDA graphs with static tensors: one of the forward pass
           for the phases, and one that includes both copies for `host_to_host`, which is one
           replay and one synchronisation. The caller owns the pinned input; filling it is not part
           of the sample.

Phases on a GPU: (`init`), `h2d`, `forward`, `d2h`, each ended by a synchronisation, `total`,
`residual`; `host_to_host`, with only the last synchronisation and without `init`;
`forward_device`, the forward pass between two CUDA events. On the CPU there are no copies:
(`init`), `forward`, `total`, `residual`, `host_to_host`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from capturing import capture, compiled, poison, run_on_side_stream
from case import Case
from device import Device
from mlp_model import build_model, start_weights
from mlp_weights import Params, inputs, layers_of
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, expect_dtype

DTYPES = {"f32": torch.float32, "f16": torch.float16}
Forward = Callable[[Tensor], Tensor]


class MlpInputs:
    """Inputs and weights in host memory, made from the seed; shared by cases and read-only."""

    def __init__(
        self, batch: int, layers: list[int], seed: int, dtype: torch.dtype = torch.float32
    ) -> None:
        self.x = torch.from_numpy(inputs(Params(batch, layers), seed)).to(dtype)
        self.dtype = dtype
        self.out_features = layers[-1]
        self._layers = layers_of(layers)
        self._weights = start_weights(self._layers, seed, dtype)

    @cached_property
    def pinned_x(self) -> Tensor:
        """The input in pinned memory; needs CUDA."""
        return self.x.pin_memory()

    def build_model(self, device: torch.device) -> nn.Sequential:
        """Build the model as users do: modules, then these weights, then to the device."""
        model = build_model(self._layers, torch.device("cpu"), self.dtype)
        with torch.no_grad():
            for own, given in zip(model.parameters(), self._weights, strict=True):
                own.copy_(given)
        return model.to(device)


class Eager(Case):
    """The study's mode and the base of the others."""

    builds_in_sample = True
    """Whether building the model is a phase."""

    grad_mode: Callable[[], AbstractContextManager[Any]] = nullcontext
    """The context of every run, entered outside the timed part."""

    def __init__(self, inputs: MlpInputs, device: Device, mark: Mark) -> None:
        super().__init__(device, mark)
        self._inputs = inputs
        self._prepare_buffers()
        self._forward = self._prepare_forward(self._build())
        self.probes: list[Probe] = [self._phased, self._host_to_host]
        if self._on_gpu:
            self.probes.append(self._between_events)

    @property
    def phases(self) -> dict[str, ClockDomain]:
        init = ["init"] if self.builds_in_sample else []
        work = ["h2d", "forward", "d2h"] if self._on_gpu else ["forward"]
        whole = ["total", "residual", "host_to_host"]
        phases: dict[str, ClockDomain] = dict.fromkeys(init + work + whole, "host")
        if self._on_gpu:
            phases["forward_device"] = "device"
        return phases

    def output(self) -> dict[str, np.ndarray]:
        """Return y of `host_to_host` after checking that the phased run computes the same."""
        phased = self._run_poisoned(self._phased)
        y = self._run_poisoned(self._host_to_host)
        # The two may use different kernels, so they need not agree to the bit. The supervisor checks
        # only one of them against the reference output.
        tolerance = 10 * torch.finfo(self._inputs.dtype).eps
        if not np.allclose(phased, y, rtol=tolerance, atol=tolerance, equal_nan=True):
            worst = float(np.abs(phased - y).max())
            raise CaseError(f"output: phased and host_to_host runs differ by up to {worst:.3g}")
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

    def _run_whole(self) -> Tensor:
        """Run from host memory to host memory; the output is valid after a synchronisation."""
        return self._download(self._forward(self._upload()))

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
            if self._on_gpu:
                x = clock.time("h2d", self._upload)
                y = clock.time("forward", forward, x)
                y_host = clock.time("d2h", self._download, y)
            else:
                y_host = clock.time("forward", forward, self._upload())
            return Sample(clock.finish(), y_host)

    def _host_to_host(self) -> Sample:
        with self.grad_mode(), self._mark("host_to_host"):
            self._device.synchronize()
            start_ns = now_ns()
            y_host = self._run_whole()
            self._device.synchronize()
            return Sample({"host_to_host": now_ns() - start_ns}, y_host)

    def _between_events(self) -> Sample:
        with self.grad_mode(), self._mark("forward_device"):
            x = self._upload()
            self._device.synchronize()
            self._events.around(self._forward, x)
            return Sample({"forward_device": round(self._events.elapsed_ns())})

    def _run_poisoned(self, probe: Probe) -> np.ndarray:
        with self.grad_mode():
            poison(self._outputs())
        self._device.synchronize()
        return probe().output.detach().float().numpy().copy()


class Inference(Eager):
    """The model is built once, and buffers are allocated once."""

    builds_in_sample = False
    grad_mode = torch.inference_mode

    def _build(self) -> nn.Module:
        return super()._build().eval().requires_grad_(False)

    def _prepare_buffers(self) -> None:
        if self._on_gpu:
            self._x_host = self._inputs.pinned_x
            self._x = torch.empty_like(self._x_host, device=self._device.torch_device)
            shape = len(self._x_host), self._inputs.out_features
            self._y_host = torch.empty(shape, dtype=self._inputs.dtype, pin_memory=True)

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


class Graph(Inference):
    """The forward pass and the run from host to host, captured in two CUDA graphs."""

    def _prepare_forward(self, model: nn.Module) -> Forward:
        with self.grad_mode():
            run_on_side_stream(lambda: model(self._upload()))
            forward_graph, y = self._once("capture", self._capture, model)
        # Graphs hold addresses, not references: keep the weights alive.
        self._model = model

        def replay(_x: Tensor) -> Tensor:
            forward_graph.replay()
            return y

        return replay

    def _capture(self, model: nn.Module) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        forward = capture(lambda: model(self._x))
        self._whole_graph, self._y_whole = capture(lambda: self._whole(model))
        return forward

    def _whole(self, model: nn.Module) -> Tensor:
        y = model(self._upload())
        self._download(y)
        return y

    def _run_whole(self) -> Tensor:
        self._whole_graph.replay()
        return self._y_host

    def _outputs(self) -> list[Tensor]:
        return [*super()._outputs(), self._y_whole]


MODES: dict[str, type[Eager]] = {
    "eager": Eager,
    "inference": Inference,
    "compile": Compiled,
    "graph": Graph,
}


class MlpInfer:
    """The workload; implements `workload.Workload`."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> MlpInputs:
        """Return the data of a case with these parameters and dtype."""
        expect_dtype(spec, DTYPES, on_cpu=DTYPES)
        return MlpInputs(*Params.of(spec), seed=seed, dtype=DTYPES[spec.dtype])

    def open(self, spec: CaseSpec, inputs: MlpInputs, device: Device, mark: Mark) -> Eager:
        """Build a case."""
        return MODES[spec.variant](inputs, device, mark)
