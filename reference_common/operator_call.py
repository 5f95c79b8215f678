"""How the functions in an operator's Python files are called, whatever the engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from operator_request import FLOATS, Operator
from workload import CaseError


class Call:
    """A function of a file as it is called for one case: with inputs, scalars and keywords."""

    def __init__(
        self, operator: Operator, stem: str, function: Any, name: str, params: Mapping[str, Any]
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
        self._keywords = keywords_of(function, params, len(operator.parameters))

    def bound(self, **keywords: Any) -> Callable[[Sequence[Any]], Any]:
        """Return it as a function of the inputs alone; `keywords` are what the engine adds."""
        call, scalars, keywords = self._function, self._scalars, {**self._keywords, **keywords}
        self._expect_parameters(keywords)

        def forward(inputs: Sequence[Any]) -> Any:
            return call(*inputs, *scalars, **keywords)

        return forward

    def listed(self, result: Any) -> list[Any]:
        """Return what the function returned as a list with one item for each output.

        A subclass of tuple or list is read as the tuple or list that it is, so that no code of its
        own decides what is in it.
        """
        arrays = self._operator.outputs
        if isinstance(result, tuple):
            found = list(tuple.__iter__(result))
        elif isinstance(result, list):
            found = list(list.__iter__(result))
        else:
            found = [result]
        if len(found) != len(arrays):
            names = ", ".join(array.name for array in arrays)
            raise CaseError(
                f"{self.place} returned {len(found)} values, expected {len(arrays)}: {names}"
            )
        return found

    def _expect_parameters(self, keywords: Mapping[str, Any]) -> None:
        try:
            signature = inspect.signature(self._function)
        except (TypeError, ValueError):  # of a built-in function
            return
        names = self._operator.parameters
        try:
            signature.bind(*names, **keywords)
        except TypeError as error:
            expected = ", ".join([*names, *(f"{name}=…" for name in keywords)])
            raise CaseError(
                f"{self.place}{signature} is called as {self._name}({expected}): {error}"
            ) from error


def keywords_of(
    function: Callable[..., Any], params: Mapping[str, Any], n_positional: int
) -> dict[str, Any]:
    """Return the case's params that a function asks for, by their names, or all as `params`.

    Its first `n_positional` parameters are given by position, so their names do not matter.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # of a built-in function
        return {}
    only = [p.name for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    others = [p.name for p in parameters if p.name not in only][n_positional:]
    known = {**params, "params": dict(params)}
    return {name: known[name] for name in (*others, *only) if name in known}


def _rounded(value: float, dtype: str) -> float:
    """Return a scalar as a kernel gets it."""
    if dtype not in FLOATS:
        return int(value)
    return float(np.float32(value)) if dtype == "f32" else float(value)
