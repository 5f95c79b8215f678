"""Worked examples (tests/fixtures/examples): from a folder to a verdict without a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from operator_folders import make_project
from project import FIXTURES, QUICK_MEASURE, bench, read_cases, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

EXAMPLES = sorted(path.name for path in (FIXTURES / "examples").iterdir())
SHORT = ("layer_norm_backward", "top_k")
SIZES: dict[str, dict[str, list[int]]] = {
    "adam": {"n": [1001]},
    "causal_attention": {"length": [33]},
    "embedding": {"tokens": [65]},
    "layer_norm_backward": {"rows": [65]},
    "top_k": {"cols": [101]},
    "two_layers": {"batch": [17]},
}
CONTENDERS: list[dict[str, Any]] = [
    {"engine": "pytorch", "device": ["cpu"], "variants": ["eager", "inference"]},
    {"engine": "jax", "device": ["cpu"], "variants": ["*"]},
]


def test_these_are_the_examples() -> None:
    assert sorted(SIZES) == EXAMPLES


@pytest.mark.parametrize(
    "name", [n if n in SHORT else pytest.param(n, marks=pytest.mark.long) for n in EXAMPLES]
)
def test_the_rung_is_right(name: str) -> None:
    printed = bench("workload", "check", FIXTURES / "examples" / name, "--emulate").stdout
    assert "01_simple  right in " in printed
    assert "ok: the description, and the reference" in printed


@pytest.mark.parametrize("names", [SHORT, pytest.param(EXAMPLES, marks=pytest.mark.long)])
def test_every_contender_is_right(names: list[str], tmp_path: Path) -> None:
    sweeps = []
    for name in names:
        root = make_project(FIXTURES / "examples" / name, tmp_path / "project")
        keys = {"measure": {**QUICK_MEASURE, "min_rounds": 2}, "axes": SIZES[name]}
        sweeps.append(write_sweep(tmp_path / f"{name}.json", name, CONTENDERS, **keys))
    bench("run", *sweeps, "--out", tmp_path / "run", root=root, expect=None)
    cases = read_cases(tmp_path / "run").values()
    assert len(cases) == 4 * len(names)
    for case in cases:
        if not (case["reason"] or "").startswith("JAX is not installed"):
            assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"], case["reason"]
