"""What a Python file defines, as far as its text says: nothing in it is run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


def complaint(path: Path, name: str, kind: str) -> str | None:
    """Return why the file cannot have this function or class, with its place; None: it can.

    Only a name that the text nowhere gives is missed: it may come of `import *`, or by its text.
    """
    place = f"{path.parent.name}/{path.name}"
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        return f"{place}:{error.lineno or 1}: {type(error).__name__}: {error.msg}"
    except ValueError as error:  # a NUL byte, in Python 3.11
        return f"{place}: {error}"
    return (
        None if any(_gives(node, name) for node in _at_top(tree)) else f"{place}: no {kind} {name}"
    )


def _at_top(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield what is executed as the file is imported, not what is inside of functions and classes."""
    for node in ast.iter_child_nodes(tree):
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from _at_top(node)


def _gives(node: ast.AST, name: str) -> bool:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return node.name == name
    if isinstance(node, ast.alias):
        return "*" in node.name or (node.asname or node.name) == name
    if isinstance(node, ast.Name):
        return node.id == name and isinstance(node.ctx, ast.Store)
    return isinstance(node, ast.Constant) and node.value == name  # globals()["run"] = …
