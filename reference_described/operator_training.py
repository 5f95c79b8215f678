"""Trainings of described workloads in PyTorch: all steps of a call around `step` of reference.py."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from capturing import compiled
from operator_request import Array, Operator

# Elements of an array in place that compiled steps return anew.
_SMALL = 1024
# Of so many steps the last, whose batch may be smaller, is a program that is not tuned: that would take
# as long as for all others, and an epoch's time hardly depends on it.
_MANY_STEPS = 500
_UNTUNED = {"max-autotune": "reduce-overhead", "max-autotune-no-cudagraphs": "default"}

Step = Callable[[Sequence[Tensor], int], list[Any]]
"""Takes the inputs and the number of a step; returns what is new in place, then a value per curve."""


def trained(
    step: Step, operator: Operator, steps: int | None = None
) -> Callable[[list[Tensor]], list[Tensor]]:
    """Return all steps, or the first `steps`, as a function of the inputs.

    Arrays in place are new unless `step` says not.
    """
    places, curves = _places_and_curves(operator)
    n_steps = operator.steps if steps is None else steps

    def train(inputs: list[Tensor]) -> list[Tensor]:
        given, kept = list(inputs), [[] for _ in curves]
        for number in range(n_steps):
            found = step(given, number)
            for place, value in zip(places, found, strict=False):
                # Else autograd, where it is on, would keep all steps.
                given[place] = value.detach() if value.requires_grad else value
            _keep(found[len(places) :], number, curves, kept)
        return [*(given[place] for place in places), *_stacked(kept)]

    return train


def compiled_training(
    step: Callable[..., Any], operator: Operator, mode: str, **options: bool
) -> Callable[[list[Tensor]], list[Tensor]]:
    """Return all steps, each a call of one compiled function.

    It writes the new values of an array in place where the old ones are, without a copy. Small ones
    it returns: the kernel that computes them can then store them, where a copy is a kernel of its own.
    In the mode "max-autotune" the compiler has CUDA graphs of its own, each of which overwrites what
    the last one returned: there all stay in place. Steps of which no curve has a value are a program of
    their own, from which the compiler leaves out what only curves need. `options` are the compiler's,
    as in `compiled`.
    """
    places, curves = _places_and_curves(operator)
    reuses_memory = mode == "max-autotune"
    sizes = [math.prod(operator.inputs[place].shape) for place in places]
    small = [p for p, n in zip(places, sizes, strict=True) if n <= _SMALL and not reuses_memory]

    def in_place(inputs: list[Tensor], number: int) -> list[Tensor]:
        found = pytree.tree_leaves(step(inputs, number))
        values = [y.clone() for y in found[len(places) :]]  # one may be a part of what changes now
        for place, value in zip(places, found[: len(places)], strict=True):
            if place in small:
                values.append(value.clone() if value is inputs[place] else value)
            elif value is not inputs[place]:
                inputs[place].copy_(value)
        return values

    def unrecorded(inputs: list[Tensor], number: int) -> list[Tensor]:
        return in_place(inputs, number)[len(curves) :]

    # A step's number is one of the few integers that programs must not be made anew for.
    step_of = {
        recorded: compiled(function, mode, dynamic=None, **options)
        for recorded, function in ((True, in_place), (False, unrecorded))
    }
    last_step = None
    if operator.steps >= _MANY_STEPS:
        last_step = compiled(in_place, _UNTUNED.get(mode, mode), **options)

    def train(inputs: list[Tensor]) -> list[Tensor]:
        given, kept = list(inputs), [[] for _ in curves]
        for number in range(operator.steps):
            is_last = number == operator.steps - 1 and last_step is not None
            recorded = is_last or any(number % curve.every == 0 for curve in curves)
            found = (last_step if is_last else step_of[recorded])(given, number)
            values = found[: len(curves)] if recorded else []
            for place, value in zip(small, found[len(values) :], strict=True):
                given[place] = value
            if not recorded:
                continue
            if reuses_memory:
                values = [
                    y.clone() if number % curve.every == 0 else y
                    for curve, y in zip(curves, values, strict=True)
                ]
            _keep(values, number, curves, kept)
        return [*(given[place] for place in places), *_stacked(kept)]

    return train


def trained_model(
    step: Callable[..., list[Tensor]], model: Any, operator: Operator
) -> Callable[[list[Tensor]], list[Tensor]]:
    """Return all steps of a model, which `step` changes, as a function of the other inputs."""
    _, curves = _places_and_curves(operator)

    def train(others: list[Tensor]) -> list[Tensor]:
        kept: list[list[Tensor]] = [[] for _ in curves]
        for number in range(operator.steps):
            found = [y.detach() for y in step([model, *others], number)]
            _keep(found, number, curves, kept)
        return _stacked(kept)

    return train


def _places_and_curves(operator: Operator) -> tuple[list[int], list[Array]]:
    places = [i for i, array in enumerate(operator.inputs) if array.in_place]
    return places, [array for array in operator.outputs if not array.in_place]


def _keep(found: list[Tensor], number: int, curves: list[Array], kept: list[list[Tensor]]) -> None:
    for curve, value, values in zip(curves, found, kept, strict=True):
        if number % curve.every == 0:
            values.append(value)


def _stacked(kept: list[list[Tensor]]) -> list[Tensor]:
    return [torch.stack(values) for values in kept]
