"""Texts of the files that `bench workload import` writes beside workload.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from problem import Problem

_REFERENCE = '''"""Model of {file}, which is here as _problem.py (docs/your-kernel.md)."""

import _problem
import imported


def inputs(params, dtype):
    return imported.tensors(_problem)


def setup(params, device, dtype):
    return imported.model(_problem{train})


def reference({parameters}, *, state):
    return state({arguments})
'''
_ORACLE = '''

def oracle({parameters}, *, state):
    """As reference: Model does not run in float64."""
    narrow = imported.narrowed(state)
    return imported.wide(reference({narrowed}, state=narrow))
'''
_NOTES = """

def results(state):
    return {{"notes": {notes}}}
"""
_CANDIDATE = '''"""ModelNew of {file}: _candidate_{stem}.py (docs/your-kernel.md)."""

import _candidate_{stem}
import _problem
import imported


def setup(params, device, dtype):
    return imported.candidate(_candidate_{stem}, _problem{train})


def run({parameters}, *, state):
    return state({arguments})


def results(state):
    found = imported.results(state)
    return {{**found, "notes": {notes} + found["notes"]}}
'''


def reference(file: str, problem: Problem) -> str:
    """Return the text of reference.py."""
    text = _REFERENCE + (_ORACLE if problem.narrow else "") + (_NOTES if problem.notes else "")
    return _filled(text, problem, file=file, narrowed=", ".join(problem.narrowed))


def candidate(file: str, stem: str, problem: Problem) -> str:
    """Return the text of a candidate's file."""
    return _filled(_CANDIDATE, problem, file=file, stem=stem)


def _filled(text: str, problem: Problem, **words: str) -> str:
    return text.format(
        parameters=", ".join(problem.parameters),
        arguments=", ".join(problem.arguments),
        notes=problem.notes,
        train=", train=True" if problem.train else "",
        **words,
    )
