"""Operators that tests write into a folder, and runs of them."""

import json
from pathlib import Path
from textwrap import dedent
from typing import Any

from project import QUICK_MEASURE, ROOT, bench, make_root, read_cases, write_sweep

X = {"name": "x", "shape": ["n"], "dtype": "T", "fill": {"normal": [0, 1]}}
Y = {"name": "y", "shape": ["n"], "dtype": "T"}
TWICE = "def reference(x): return 2 * x"


def write_operator(folder: Path, files: dict[str, str], **keys: Any) -> Path:
    """Write an operator of one param, n; by default y = 2 x. Files are by name with suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    description = {
        "schema": 1,
        "name": folder.name,
        "params": {"n": {"default": 1000, "min": 1}},
        "dtypes": ["f32"],
        "inputs": [X],
        "outputs": [Y],
        **keys,
    }
    (folder / "workload.json").write_text(json.dumps(description), encoding="utf-8")
    for name, text in {"reference.py": TWICE, **files}.items():
        (folder / name).write_text(dedent(text), encoding="utf-8")
    return folder


def make_project(folder: Path, root: Path | None = None) -> Path:
    """Return a project folder, by default beside it, with this operator in its kernels/."""
    root = root or folder.parent / "project"
    if not root.exists():
        make_root(root)
        (root / "kernels").unlink()
        (root / "kernels").mkdir()
        for path in (ROOT / "kernels").iterdir():
            (root / "kernels" / path.name).symlink_to(path)
    if not (root / "kernels" / folder.name).exists():
        (root / "kernels" / folder.name).symlink_to(folder)
    return root


def run_operator(
    folder: Path,
    contenders: list[dict[str, Any]],
    *options: str | Path,
    expect: int | None = None,
    axes: dict[str, list[int]] | None = None,
    min_rounds: int = 2,
    **environment: str,
) -> dict[str, dict[str, Any]]:
    """Run an operator's contenders; return the cases by variant, techniques and axes' values."""
    run = folder.parent / f"{folder.name}_run"
    keys: dict[str, Any] = {"measure": {**QUICK_MEASURE, "min_rounds": min_rounds}}
    if axes:
        keys["axes"] = axes
    sweep = write_sweep(folder.parent / "s.json", folder.name, contenders, **keys)
    root = make_project(folder)
    bench("run", sweep, "--out", run, *options, root=root, expect=expect, **environment)
    cases = (case for case in read_cases(run).values() if case["workload"] == folder.name)
    return {name_of(case, axes or {}): case for case in cases}


def name_of(case: dict[str, Any], axes: dict[str, list[int]]) -> str:
    """Return the id from the variant on, without params that are no axes."""
    parts = case["id"].split("/")[2:]
    hidden = case["params"].keys() - axes.keys()
    return "/".join(part for part in parts if part.split("=")[0] not in hidden)
