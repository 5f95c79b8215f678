"""What several workloads need of PyTorch's compiler and of CUDA graphs."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function, mode: str) -> Function:
    """Return the function through `torch.compile`, as one graph for the shapes that it finds.

    PyTorch's compiler files its results under the code object and gives up after eight of them; a
    sweep over sizes has more. So what it gets is a copy with a code object of its own.
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


def run_on_side_stream(work: Callable[[], Any]) -> None:
    """Run what is about to be captured, so that libraries set themselves up outside the graph.

    On a stream of its own, as PyTorch's notes on CUDA graphs ask for.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()


def capture(work: Callable[[], T]) -> tuple[torch.cuda.CUDAGraph, T]:
    """Capture the work in a CUDA graph; return it and what the work returned, refilled by replays.

    A graph holds addresses, not references: whoever replays it keeps alive what it uses.
    """
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = work()
    return graph, result


def poison(outputs: Iterable[Tensor]) -> None:
    """Set all bits of each tensor: for floating point, a NaN."""
    for y in outputs:
        # Detached, because autograd has no say in this; a tensor without dimensions has no bytes.
        y.detach().view(-1).view(torch.uint8).fill_(0xFF)
