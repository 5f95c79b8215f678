"""What a problem draws at random: in `get_inputs()`, where it must, and in a run, where it must not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

# What makes or seeds a generator, in torch, NumPy and Python.
_OWN = {"Generator", "manual_seed", "default_rng", "RandomState", "Random", "seed"}


def dropouts(model: nn.Module) -> list[str]:
    """Return the layers that drop values in training mode: `Dropout (layers.1, p=0.5)`."""
    return [
        f"{type(part).__name__} ({name}, p={part.p})"
        for name, part in model.named_modules()
        if isinstance(part, nn.modules.dropout._DropoutNd) and part.p > 0
    ]


def where_inputs_are_seeded(path: Path) -> str:
    """Return FILE:LINE of what gives `get_inputs` a generator of its own, or else of its head."""
    tree = ast.parse(path.read_bytes())
    heads = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "get_inputs"
    ]
    seeded = [node.lineno for top in (*heads, tree) for node in ast.walk(top) if _seeds(node)]
    lines = [*seeded, *(head.lineno for head in heads)]
    return f"{path.name}:{lines[0]}" if lines else path.name


def drawing(run: Callable[[], Any], path: Path) -> str:
    """Return the first function of PyTorch in a run that draws: ` (rand_like in line 9)`, or ""."""
    with _Draws(str(path)) as draws:
        run()
    return draws.found


class _Draws(TorchFunctionMode):
    """Notes the first function that changes the generator's state."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.found = ""
        self._path = path

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = torch.get_rng_state()
        result = func(*args, **(kwargs or {}))
        if not self.found and not torch.equal(before, torch.get_rng_state()):
            self.found = f" ({func.__name__}{self._line()})"
        return result

    def _line(self) -> str:
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self._path:
            frame = frame.f_back
        return "" if frame is None else f" in line {frame.f_lineno}"


def _seeds(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _OWN
