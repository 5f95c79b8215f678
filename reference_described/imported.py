"""Problems of kernel benchmarks as workloads: what the files call that `bench workload import` writes.

A problem has `class Model(nn.Module)`, `get_inputs()` and `get_init_inputs()`, and a candidate
`class ModelNew(nn.Module)`. `setup` is called after torch.manual_seed.
"""

from __future__ import annotations

from itertools import chain
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from operator_tensors import seed_all, widened
from workload import CaseError

_dtypes: WeakKeyDictionary[nn.Module, dict[str, torch.dtype]] = WeakKeyDictionary()
"""Of a model's weights, as it was made."""
_copied: WeakKeyDictionary[nn.Module, tuple[int, int]] = WeakKeyDictionary()
"""How many of Model's weights a candidate got, of how many."""


def tensors(problem: ModuleType) -> list[Tensor]:
    """Return those of the inputs that are tensors."""
    return [x for x in problem.get_inputs() if isinstance(x, Tensor)]


def model(problem: ModuleType, *, train: bool = False) -> nn.Module:
    """Make Model from the seed, in evaluation or in training mode."""
    return _made(problem, problem, "Model").train(train)


def candidate(new: ModuleType, problem: ModuleType, *, train: bool = False) -> nn.Module:
    """Make ModelNew from the same seed; it gets Model's weights where name and shape agree."""
    weights = model(problem).state_dict()
    made = _made(problem, new, "ModelNew").train(train)
    own = made.state_dict()
    same = [name for name in weights if name in own and own[name].shape == weights[name].shape]
    with torch.no_grad():
        for name in same:
            own[name].copy_(weights[name])
    _copied[made] = len(same), len(weights)
    return made


def results(state: nn.Module) -> dict[str, Any]:
    """Return what was copied by `candidate`."""
    copied, of = _copied[state]
    notes = []
    if copied < of:
        notes = [f"weights: {copied} of {of} copied from Model; equal draws are assumed for others"]
    return {"weights": of, "weights_copied": copied, "notes": notes}


def narrowed(state: nn.Module) -> nn.Module:
    """Give a widened model its own dtypes again."""
    for name, weight in _weights(state):
        weight.data = weight.data.to(_dtypes[state][name])
    return state


def wide(outputs: Any) -> Any:
    """Return a tensor, or a list of them, with floats as float64."""
    return widened(outputs) if isinstance(outputs, Tensor) else [widened(y) for y in outputs]


def _made(problem: ModuleType, module: ModuleType, name: str) -> nn.Module:
    """Make a class's object with the inputs of `get_init_inputs()`."""
    made_by = getattr(module, name, None)
    if made_by is None:
        raise CaseError(f"{_file(module)}: no class {name}")
    seed = torch.initial_seed()
    seed_all(seed)
    arguments = problem.get_init_inputs()
    seed_all(seed)
    made = made_by(*arguments)
    if not isinstance(made, nn.Module):
        raise CaseError(f"{_file(module)}: {name} is no torch.nn.Module")
    _dtypes[made] = {key: weight.dtype for key, weight in _weights(made)}
    return made


def _weights(state: nn.Module) -> Any:
    return chain(state.named_parameters(), state.named_buffers())


def _file(module: ModuleType) -> str:
    return (module.__file__ or "").rpartition("/")[2]
