"""What a run left, in memory of its own: read back from the device only if somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from outputs import same_bytes

# As it is before a user's file is loaded, which may replace it.
_equal = torch.equal


class Kept:
    """Copies of a run's outputs on the device; calling it returns them as arrays."""

    def __init__(
        self,
        outputs: Sequence[Tensor],
        device: torch.device,
        arrays_of: Callable[[list[Tensor]], dict[str, np.ndarray]],
    ) -> None:
        try:
            self._outputs = [y.detach().to(device, copy=True) for y in outputs]
        except torch.cuda.OutOfMemoryError:
            self._outputs = [y.detach().to("cpu", copy=True) for y in outputs]
        self._arrays_of = arrays_of

    def __call__(self) -> dict[str, np.ndarray]:
        return self._arrays_of(self._outputs)

    def has_bits_of(self, other: Kept) -> bool:
        """Return whether all outputs are equal bit for bit."""
        return all(map(same_bits, self._outputs, other._outputs))


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors of one dtype are equal bit for bit; compares where `a` is."""
    if a.shape != b.shape:
        return False
    a, b = _bytes(a), _bytes(b.to(a.device))
    return same_bytes(a.numpy(), b.numpy()) if a.device.type == "cpu" else _equal(a, b)


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.detach().contiguous().view(-1).view(torch.uint8)
