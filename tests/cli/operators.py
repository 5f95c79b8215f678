"""Operators that tests write into a folder: y = x, with changes."""

import json
from pathlib import Path
from typing import Any

COPY = "def {name}(x):\n    return x.clone()\n"
DESCRIPTION: dict[str, Any] = {
    "schema": 1,
    "params": {"rows": {"default": 4}, "cols": {"default": 3}},
    "dtypes": ["f32"],
    "inputs": [{"name": "x", "shape": ["rows", "cols"], "dtype": "T"}],
    "outputs": [{"name": "y", "shape": ["rows", "cols"], "dtype": "T"}],
}


def write_operator(folder: Path, files: dict[str, str] | None = None, **keys: Any) -> Path:
    """Write an operator with the folder's name; `files` are Python sources by stem."""
    folder.mkdir(parents=True)
    description = {"name": folder.name, **DESCRIPTION, **keys}
    (folder / "workload.json").write_text(json.dumps(description), encoding="utf-8")
    sources = {"reference": COPY.format(name="reference"), **(files or {})}
    for stem, source in sources.items():
        (folder / f"{stem}.py").write_text(source, encoding="utf-8")
    return folder
