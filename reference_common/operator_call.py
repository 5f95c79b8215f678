"""How the functions in an operator's Python files are called, whatever the engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from operator_request import FLOATS, Array, Operator, parts_of
from workload import CaseError

STEPS = ("step", "jax_step", "oracle", "train")
"""The functions that a training has in place of `reference` and `jax_reference`."""
OF_MODEL = ("train", "dataloader")
"""Those that get the model in place of the arrays that it is made from."""
MODEL = "model"
"""It gets these arrays alone: of a training those in place, else those that stay."""
NOT_FUSED: Mapping[str, Any] = {"fused": False}


class Call:
    """A function of a file as it is called for one case: with inputs, scalars and keywords.

    One of a training's step gets its number after them. `offers`: what it is told besides params if it
    asks, such as `fused`, whether a compiler fuses its operations.
    """

    def __init__(
        self,
        operator: Operator,
        stem: str,
        function: Any,
        name: str,
        params: Mapping[str, Any],
        offers: Mapping[str, Any] = NOT_FUSED,
    ) -> None:
        if not callable(function):
            raise CaseError(f"{operator.place(stem)}: no function {name}")
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", None)
        at = "" if line is None else f":{line}"
        self.place = f"{operator.place(stem)}{at}: {name}"
        self._operator = operator
        self._name = name
        self._function = function
        self._scalars = tuple(_rounded(s.value, s.dtype) for s in operator.scalars)
        self.is_step = operator.steps > 0 and name in STEPS
        parameters, self._parts = operator.parameters, operator.parts
        self.outputs = operator.outputs
        if name in OF_MODEL:
            in_place = {array.list or array.name for array in operator.inputs if array.in_place}
            others = [array for array in operator.inputs if not array.in_place]
            self.outputs = tuple(array for array in operator.outputs if not array.in_place)
            parameters = ["model", *(each for each in parameters if each not in in_place)]
            self._parts = [0, *parts_of(others, 1)]
        if name == MODEL:
            weights = [array for array in operator.inputs if is_weight(array, operator)]
            parameters = list(dict.fromkeys(array.list or array.name for array in weights))
            self._parts, self._scalars = parts_of(weights), ()
        self._returns_lists = any(array.list is not None for array in self.outputs)
        self._names = [*parameters, *(["step"] if self.is_step else [])]
        self._keywords = keywords_of(function, params, len(self._names), offers)

    def bound(self, **keywords: Any) -> Callable[..., Any]:
        """Return it as a function of the inputs alone; `keywords` are what the engine adds.

        That of a step is a function of the inputs and the step's number. Of rows that are computed
        alone it gets the number in place of the param that is split.
        """
        call, scalars, keywords = self._function, self._scalars, {**self._keywords, **keywords}
        parts = self._parts
        self._expect_parameters(keywords)
        size = self._operator.splits
        cut = [i for i, array in enumerate(self._operator.inputs) if array.cut]
        asks = {size, "params"} & set(keywords)

        def forward(inputs: Sequence[Any], *number: Any) -> Any:
            return call(*inputs, *scalars, *number, **keywords)

        def with_lists(inputs: Sequence[Any], *number: Any) -> Any:
            return call(*[inputs[part] for part in parts], *scalars, *number, **keywords)

        def forward_of_rows(inputs: Sequence[Any]) -> Any:
            rows, given = inputs[cut[0]].shape[0], dict(keywords)
            if size in asks:
                given[size] = rows
            if "params" in asks:
                given["params"] = {**given["params"], size: rows}
            return call(*[inputs[part] for part in parts], *scalars, **given)

        if cut and asks and self._name != MODEL:
            return forward_of_rows
        return with_lists if any(isinstance(part, slice) for part in parts) else forward

    def listed(self, result: Any) -> list[Any]:
        """Return what the function returned as a list with one item for each output.

        A subclass of tuple or list is read as the tuple or list that it is, so that no code of its
        own decides what is in it.
        """
        arrays = self.outputs
        found = [] if result is None and not arrays else _items(result)
        if self._returns_lists:
            found = [item for part in found for item in _items(part)]
        if len(found) != len(arrays):
            returned = "None" if result is None else f"{len(found)} values"
            expected = ", ".join(array.name for array in arrays)
            expected = f"{len(arrays)}: {expected}" if arrays else "none"
            raise CaseError(f"{self.place} returned {returned}, expected {expected}")
        return found

    def _expect_parameters(self, keywords: Mapping[str, Any]) -> None:
        try:
            signature = inspect.signature(self._function)
        except (TypeError, ValueError):  # of a built-in function
            return
        names = self._names
        try:
            signature.bind(*names, **keywords)
        except TypeError as error:
            expected = ", ".join([*names, *(f"{name}=…" for name in keywords)])
            raise CaseError(
                f"{self.place}{signature} is called as {self._name}({expected}): {error}"
            ) from error


def is_weight(array: Array, operator: Operator) -> bool:
    """Return whether a model is made from this input."""
    return array.in_place if operator.steps > 0 else array.stays


def _items(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return list(tuple.__iter__(result))
    return list(list.__iter__(result)) if isinstance(result, list) else [result]


def keywords_of(
    function: Callable[..., Any],
    params: Mapping[str, Any],
    n_positional: int,
    offers: Mapping[str, Any] = NOT_FUSED,
) -> dict[str, Any]:
    """Return what a function asks for: params of the case, by name or all as `params`, and of `offers`.

    Its first `n_positional` parameters are given by position, so their names do not matter.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a built-in function
        return {}
    only = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    others = [p.name for p in parameters if p.name not in only][n_positional:]
    known = {**offers, **params, "params": dict(params)}
    return {name: known[name] for name in (*others, *only) if name in known}


def _rounded(value: float, dtype: str) -> float:
    """Return a scalar as a kernel gets it."""
    if dtype not in FLOATS:
        return int(value)
    return float(np.float32(value)) if dtype == "f32" else float(value)
