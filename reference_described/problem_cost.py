"""What a problem's Model moves and computes at least, counted in one run of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

aten = torch.ops.aten

# Of the first argument these read no more than they return.
_GATHERS = {
    aten.embedding.default,
    aten.gather.default,
    aten.index.Tensor,
    aten.index_select.default,
}


def cost_of(run: Callable[[], Any], arrays: Iterable[Tensor]) -> tuple[int, int]:
    """Return how many bytes of these tensors a run reads, and its operations.

    Bytes count once, and only where they are looked at. Operations are those of matrix products,
    convolutions and attention; of a product only terms count that are not 0: a diagonal matrix need
    not be multiplied out.
    """
    reads = _Reads(arrays)
    with FlopCounterMode(display=False, custom_mapping=_PRODUCTS) as counter, reads:
        run()
    return reads.total(), int(counter.get_total_flops())


class _Reads(TorchDispatchMode):
    """Notes which views of which tensors are arguments of what computes."""

    def __init__(self, arrays: Iterable[Tensor]) -> None:
        super().__init__()
        self._arrays = {_memory(x): x for x in arrays if x.numel() > 0}
        self._views: dict[int, dict[Any, int]] = {memory: {} for memory in self._arrays}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if not (func.is_view or name.endswith("_like") or name.startswith("new_")):
            given = _tensors((*args, *(kwargs or {}).values()))
            for i, x in enumerate(given):
                elements = x.numel()
                if i == 0 and func in _GATHERS:
                    elements = min(elements, result.numel())
                self._note(x, elements)
        return result

    def _note(self, x: Tensor, elements: int) -> None:
        views = self._views.get(_memory(x))
        if views is not None:
            view = (x.storage_offset(), tuple(x.shape), x.stride(), elements)
            views[view] = elements * x.itemsize

    def total(self) -> int:
        """Return the sum of the tensors, each at most whole."""
        return sum(
            min(x.nbytes, sum(self._views[memory].values())) for memory, x in self._arrays.items()
        )


def _product(a: Tensor, b: Tensor, *_args: Any, **_keys: Any) -> int:
    return 2 * int((a.count_nonzero(-2) * b.count_nonzero(-1)).sum())


def _product_after(_c: Tensor, a: Tensor, b: Tensor, *_args: Any, **_keys: Any) -> int:
    return _product(a, b)


for _function in (_product, _product_after):
    _function._get_raw = True  # type: ignore[attr-defined] -- the counter passes tensors then, not shapes
_PRODUCTS = {
    aten.mm: _product,
    aten.bmm: _product,
    aten.addmm: _product_after,
    aten.baddbmm: _product_after,
}


def _memory(x: Tensor) -> int:
    return x.untyped_storage().data_ptr()


def _tensors(values: Iterable[Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _tensors(value)
    return found
