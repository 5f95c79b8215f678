"""Inputs of `mlp_infer`, and its modes without CUDA graphs of our own."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from forward import CompiledForward, ForwardCase
from mlp_model import build_model, start_weights
from mlp_weights import Params, inputs, layers_of


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


class Eager(ForwardCase):
    """The study's mode and the base of the others."""

    builds_in_sample = True
    _inputs: MlpInputs

    def load(self, inputs: MlpInputs) -> None:
        """Have further runs use these inputs and weights, of the same shapes."""
        self._inputs = inputs
        inputs.copy_weights_to(self._model)

    def _arrays(self, outputs: list[Tensor]) -> dict[str, np.ndarray]:
        return {"y": outputs[0].float().cpu().numpy()}

    def _tolerance(self, _name: str) -> float:
        return 10 * torch.finfo(self._inputs.dtype).eps

    def _build(self) -> nn.Module:
        return self._inputs.build_model(self._device.torch_device)

    def _upload(self) -> Tensor:
        return self._inputs.x.to(self._device.torch_device)

    def _download(self, y: Tensor) -> Tensor:
        return y.detach().cpu()


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


class Compiled(CompiledForward, Inference):
    """The model compiled with `max-autotune`."""
