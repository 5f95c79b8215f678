"""The points of `linreg_train` as tensors."""

from __future__ import annotations

import torch
from torch import Tensor

import linreg_points
from device import Device
from linreg_points import Params

__all__ = ["Params", "Points"]


class Points(linreg_points.Points):
    """The data set, shared by cases and read-only."""

    def __init__(self, points: int, seed: int) -> None:
        super().__init__(points, seed)
        self._on_device: dict[str, tuple[Tensor, ...]] = {}

    def on(self, device: Device) -> tuple[Tensor, ...]:
        """Return x and y of the training points and of the test points in device memory."""
        if device.kind not in self._on_device:
            parts = map(torch.from_numpy, (self.x_train, self.y_train, self.x_test, self.y_test))
            self._on_device[device.kind] = tuple(part.to(device.torch_device) for part in parts)
        return self._on_device[device.kind]
