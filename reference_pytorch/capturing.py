"""Helpers for PyTorch's compiler and CUDA graphs."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, mode: str) -> Function:
    """Return the function compiled by `torch.compile` as one graph with static shapes.

    PyTorch caches compiled code by code object and gives up after eight entries; a sweep over sizes
    needs more. So compile a copy that has a new code object.
    """
    assert isinstance(function, types.FunctionType)
    copy = types.FunctionType(
        function.__code__.replace(),
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    return torch.compile(copy, mode=mode, fullgraph=True, dynamic=False)


def use_compile_cache(folder: str) -> None:
    """Have the compiler read and keep generated code and tuning results in this folder."""
    from torch._inductor.utils import clear_caches  # takes seconds to import

    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TRITON_CACHE_DIR"] = os.path.join(folder, "triton")
    clear_caches()  # those in memory


def run_on_side_stream(work: Callable[[], Any]) -> None:
    """Run work before its capture, so that libraries initialise themselves outside the graph.

    PyTorch's notes on CUDA graphs require a side stream.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def capture(work: Callable[[], T]) -> tuple[torch.cuda.CUDAGraph, T]:
    """Capture work in a CUDA graph; return the graph and the work's result, which replays refill.

    A graph holds addresses, not references: the caller keeps alive what it uses.
    """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def poison(outputs: Iterable[Tensor]) -> None:
    """Set all bits of each tensor, which makes floating-point values NaN."""
    for y in outputs:
        # Detached to bypass autograd; flattened because a 0-d tensor cannot be viewed as bytes.
        y.detach().view(-1).view(torch.uint8).fill_(0xFF)
