"""`mlp_infer`: batched inference of a small MLP, host memory to host memory.

y = W_L·relu(… relu(W_1·x + b_1) …) + b_L, in float32 or wholly in float16 (dtype f16: inputs and
weights are the float32 ones rounded to nearest). The modes are ways in which people run such a
model, from the published study's to the best that PyTorch offers:

eager      As the study: the model is built in every sample (phase `init`), autograd is on, and
           input and output are ordinary pageable tensors.
inference  Under `torch.inference_mode`, the model built once. On a GPU the input waits in pinned
           memory, device input and pinned output are allocated once, and copies do not block.
compile    As `inference`, the model through `torch.compile(mode="max-autotune", fullgraph=True)`,
           on a GPU with the CUDA graphs that this mode brings.
graph      As `inference`, captured by hand in CUDA graphs with static tensors: one of the forward
           pass for the phases, and one that also holds both copies for `host_to_host`, which is
           one replay and one synchronisation. The caller owns the pinned input, and filling it
           is not part of the sample.

Phases on a GPU: (`init`), `h2d`, `forward`, `d2h`, each ended by a synchronisation, `total`,
`residual`; `host_to_host`, without any but the last synchronisation and without `init`;
`forward_device`, the forward pass between two CUDA events. On the CPU there is nothing to copy:
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

import philox
from capturing import capture, compiled, poison, run_on_side_stream
from case import Case
from device import Device
from mlp_model import build_model, layers_of, start_weights
from params import Check, checked, integer
from protocol import CaseSpec
from timing import Mark, PhaseClock, Probe, Sample, now_ns
from workload import CaseError, ClockDomain, expect_dtype

INPUT_STREAM = 1
DTYPES = {"f32": torch.float32, "f16": torch.float16}
CHECKS = {
    "batch": integer(1),
    "layers": Check(
        "two or more integers of at least 1",
        lambda sizes: (
            isinstance(sizes, list) and len(sizes) >= 2 and all(map(integer(1).fits, sizes))
        ),
    ),
}

Forward = Callable[[Tensor], Tensor]


class MlpInputs:
    """Inputs and weights in host memory, made from the seed; cases share and never change them."""

    def __init__(
        self, batch: int, layers: list[int], seed: int, dtype: torch.dtype = torch.float32
    ) -> None:
        x = torch.empty(batch, layers[0])
        philox.fill_uniform(x.numpy(), seed, INPUT_STREAM, -1.0, 1.0)
        self.x = x.to(dtype)
        self.dtype = dtype
        self.out_features = layers[-1]
        self._layers = layers_of(layers)
        self._weights = start_weights(self._layers, seed, dtype)

    @cached_property
    def pinned_x(self) -> Tensor:
        """The input in pinned memory; needs CUDA."""
        return self.x.pin_memory()

    def build_model(self, device: torch.device) -> nn.Sequential:
        """Build the model as its user would: modules, then these weights, then to the device."""
        model = build_model(self._layers, torch.device("cpu"), self.dtype)
        with torch.no_grad():
            for own, given in zip(model.parameters(), self._weights, strict=True):
                own.copy_(given)
        return model.to(device)


class Eager(Case):
    """The study's way, and what the other modes have in common with it."""

    builds_in_sample = True
    """Is building the model a phase?"""

    grad_mode: Callable[[], AbstractContextManager[Any]] = nullcontext
    """What surrounds every run, outside the clock."""

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
        """Return y as `host_to_host` computes it, having seen that the phased run does the same."""
        phased = self._run_poisoned(self._phased)
        y = self._run_poisoned(self._host_to_host)
        # The two may use other kernels, so equal bits are not asked for; which of them is right is
        # for the supervisor to say, but only one is handed in.
        tolerance = 10 * torch.finfo(self._inputs.dtype).eps
        if not np.allclose(phased, y, rtol=tolerance, atol=tolerance, equal_nan=True):
            worst = float(np.abs(phased - y).max())
            raise CaseError(f"output: phased and host_to_host runs differ by up to {worst:.3g}")
        return {"y": y}

    def _build(self) -> nn.Module:
        return self._inputs.build_model(self._device.torch_device)

    def _prepare_buffers(self) -> None:
        """Allocate what is allocated once: nothing."""

    def _prepare_forward(self, model: nn.Module) -> Forward:
        """Make the forward pass ready to run on what `_upload` returns."""
        return model

    def _upload(self) -> Tensor:
        return self._inputs.x.to(self._device.torch_device)

    def _download(self, y: Tensor) -> Tensor:
        return y.detach().cpu()

    def _run_whole(self) -> Tensor:
        """Run from host memory to host memory; the output is there after a synchronisation."""
        return self._download(self._forward(self._upload()))

    def _outputs(self) -> list[Tensor]:
        """Return tensors in the memory that the next runs are going to write their output to.

        Where the framework allocates outputs, that is the memory that it gave to the last one.
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
    """The model goes through `torch.compile` at its most thorough."""

    def _prepare_forward(self, model: nn.Module) -> Forward:
        def forward(x: Tensor) -> Tensor:
            return model(x)

        compiled_forward = compiled(forward, "max-autotune")
        with self.grad_mode():
            self._once("compile", compiled_forward, self._upload())
        return compiled_forward


class Graph(Inference):
    """The forward pass and the whole way are captured in two CUDA graphs."""

    def _prepare_forward(self, model: nn.Module) -> Forward:
        with self.grad_mode():
            run_on_side_stream(lambda: model(self._upload()))
            forward_graph, y = self._once("capture", self._capture, model)
        # Graphs hold addresses, not references: without this, the weights would be freed.
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
    """The workload, as `workload.Workload` describes one."""

    modes = tuple(MODES)

    def make_inputs(self, spec: CaseSpec, seed: int) -> MlpInputs:
        """Return the data of a case with these parameters and dtype."""
        expect_dtype(spec, DTYPES, on_cpu=DTYPES)
        return MlpInputs(**checked(spec, CHECKS), seed=seed, dtype=DTYPES[spec.dtype])

    def open(self, spec: CaseSpec, inputs: MlpInputs, device: Device, mark: Mark) -> Eager:
        """Make a case ready."""
        return MODES[spec.variant](inputs, device, mark)
