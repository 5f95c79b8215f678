"""A device that passes for a GPU: the modes that capture CUDA graphs run on the CPU, unchanged."""

import importlib
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import case
from device import CpuDevice


class Replay:
    """Replaces a captured graph: repeats the work."""

    captured = 0

    def __init__(self, work: Any) -> None:
        Replay.captured += 1
        self._work = work
        self.result = work()

    def replay(self) -> None:
        """Refill the result's memory, as a graph does."""
        for own, new in zip(_tensors(self.result), _tensors(self._work()), strict=True):
            own.copy_(new)


def _tensors(result: Any) -> list[Any]:
    return [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]


class FakeGpu(CpuDevice):
    kind = "cuda"


class Stream:
    def wait_stream(self, _other: Any) -> None: ...


before_captures: list[int] = []
"""The steps of all work that was run before its capture."""


def run_before(work: Any, steps: int = 1) -> None:
    before_captures.append(steps)
    work()


def install(monkeypatch: pytest.MonkeyPatch, *modules: Any) -> FakeGpu:
    """Let the modules capture and compile without a GPU, and tensors be pinned; return a device."""
    if torch.__version__ < (2, 6):
        importlib.import_module("torch._dynamo")  # it refuses fakes when it is imported
    empty = torch.empty
    monkeypatch.setattr(
        torch, "empty", lambda *size, pin_memory=False, **keys: empty(*size, **keys)
    )
    fakes = {
        "Event": lambda **_: SimpleNamespace(
            record=lambda: None, synchronize=lambda: None, elapsed_time=lambda _: 1e-3
        ),
        "Stream": Stream,
        "stream": lambda _: nullcontext(),
        "current_stream": Stream,
        "mem_get_info": lambda: (1 << 30, 1 << 30),
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(torch.cuda, name, fake)
    monkeypatch.setattr(case, "_record", lambda event: event.record())
    monkeypatch.setattr(case, "_wait_for", lambda event: event.synchronize())
    monkeypatch.setattr(case, "_elapsed_ms", lambda start, end: start.elapsed_time(end))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor.clone())
    monkeypatch.setattr(Replay, "captured", 0)
    before_captures.clear()
    fakes = {
        "capture": Replay,
        "run_on_side_stream": run_before,
        "compiled": lambda function, _mode, **_keys: function,
    }
    for module in modules:
        for name, fake in fakes.items():
            monkeypatch.setattr(module, name, fake, raising=False)
    return FakeGpu()
