"""Operators whose check could not fail: something that computes nothing would be right."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from operator_folders import TWICE, X, Y, run_operator, write_operator
from project import BENCH, FIXTURES, ROOT, bench, ran

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

PYTHON = [{"engine": "python", "device": ["cpu"], "variants": ["*"]}]
SO = "so what computes nothing would be right; lower the tolerance, or choose inputs and sizes"
# One step of Adam in bfloat16, whose steps are smaller than its rounding.
ADAM = """
    import torch
    def reference(p, m, v, g):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        return p - 1e-4 * m / (v.sqrt() + 1e-8), m, v, 2 * g
    """
STATE = [
    {"name": name, "shape": ["n"], "dtype": "T", "in_place": True, "fill": fill}
    for name, fill in (
        ("p", {"normal": [0, 1]}),
        ("m", {"normal": [0, 1]}),
        ("v", {"uniform": [1, 2]}),
    )
]
GRADIENT = {"name": "g", "shape": ["n"], "dtype": "T", "fill": {"normal": [0, 1]}}
FUNCTION = {**X, "fill": "function"}
# The second draw of a size equals the first, and no other does. The smallest size gives zeros.
DRAWN_TWICE = """
    import collections, torch
    calls = collections.Counter()
    def inputs(params, dtype):
        n = params["n"]
        calls[n] += 1
        return [torch.full((n,), float(max(calls[n], 2)), dtype=dtype)]
    def reference(x): return x * (len(x) > 1)
    """
VERIFY = """
    def reference(x): return 2 * x
    def verify(inputs, outputs):
        return None if {right} else "wrong"
    """
OPERATORS: dict[str, tuple[dict[str, Any], str, str | None]] = {
    # Keys of workload.json, reference.py, and what is said; None: nothing is wrong.
    "adam": (
        {"dtypes": ["bf16"], "inputs": [*STATE, GRADIENT]},
        ADAM,
        r"p: what it holds before the run would pass \(relative L2 error \S+e-05, allowed 0.016\)",
    ),
    "adam_f32": ({"inputs": [*STATE, GRADIENT]}, ADAM, None),
    "zeros": ({}, "def reference(x): return 0 * x", r"y: zeros would pass \(relative L2 error 0, "),
    "all_allowed": (
        {"outputs": [{**Y, "tolerance": {"rel_l2": 1}}]},
        TWICE,
        r"y: zeros would pass \(relative L2 error 1, allowed 1\)",
    ),
    "largest": (
        {"outputs": [{**Y, "tolerance": {"max_abs": 10}}]},
        "def reference(x): return x.tanh()",
        r"y: zeros would pass \(largest error \S+, allowed 10\)",
    ),
    "constant": (
        {},
        "def reference(x): return 1 + 0 * x",
        r"y: one output would pass for different inputs \(relative L2 error 0, allowed 1e-05\)",
    ),
    # Two seeds differ by 1.4 times what is allowed: their mean passes for both.
    "nearly": (
        {},
        "def reference(x): return 1 + 1e-5 * x",
        r"y: one output would pass for different inputs \(relative L2 error \S+e-06, allowed 1e-0",
    ),
    "enough": ({}, "def reference(x): return 1 + 1e-4 * x", None),
    "second": (
        {"outputs": [Y, {**Y, "name": "z"}]},
        "def reference(x): return 2 * x, 1 + 0 * x",
        r"z: one output would pass for different inputs",
    ),
    "coincidence": ({"inputs": [FUNCTION]}, DRAWN_TWICE, None),
    "verified": ({}, VERIFY.format(right="(outputs[0] - 2 * inputs[0]).norm() < 1"), None),
    "always": ({}, VERIFY.format(right="True"), "verify accepts zeros: have it refuse them"),
    "not_zeros": (
        {},
        VERIFY.format(right="outputs[0].norm() > 0"),
        "verify accepts the outputs for other inputs: have it refuse them",
    ),
}


SHORT = ("adam", "all_allowed", "nearly", "coincidence", "not_zeros")


@pytest.mark.parametrize(
    "name",
    [name if name in SHORT else pytest.param(name, marks=pytest.mark.long) for name in OPERATORS],
)
def test_check(tmp_path: Path, name: str) -> None:
    keys, reference, said = OPERATORS[name]
    folder = write_operator(tmp_path / name, {"reference.py": reference}, **keys)
    done = bench("workload", "check", folder, expect=0 if said is None else 2)
    if said is not None:
        (line,) = [line for line in done.stdout.splitlines() if line.startswith("  wrong  ")]
        assert re.search(rf"n=1000 \w+: {said}", line), line
        assert SO in line or "verify" in said


@pytest.mark.long
@pytest.mark.parametrize(
    "name", sorted(p.parent.name for p in (ROOT / "kernels").glob("*/workload.json"))
)
def test_no_workload_of_ours_accepts_them_at_its_default_size(name: str) -> None:
    """An epoch of mlp_train did, at width 784: its last bias changes alike whatever the images."""
    ran(BENCH, "workload", "check", ROOT / "kernels" / name, timeout=900)


def test_a_run_refuses_them(tmp_path: Path) -> None:
    keys, reference, said = OPERATORS["adam"]
    files = {"reference.py": reference, "nothing.py": "def run(p, m, v, g): return p, m, v, 2 * g"}
    (case,) = run_operator(
        write_operator(tmp_path / "adam", files, **keys), PYTHON, expect=1
    ).values()
    assert case["status"] == "failed"
    assert re.match(f"reference output: {said}", case["reason"]), case["reason"]


# ---- import --------------------------------------------------------------------------------------

FORGETS = """
    import torch
    from torch import nn
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(8)
        def forward(self, x): return self.norm(x)
    def get_inputs(): return [1 + 1e-6 * torch.randn(64, 8)]
    def get_init_inputs(): return []
    """


def test_an_import_refuses_them_and_says_what_to_change(tmp_path: Path) -> None:
    problem, out = tmp_path / "forgets.py", tmp_path / "out"
    problem.write_text(dedent(FORGETS), encoding="utf-8")
    done = bench("workload", "import", problem, "--out", out, expect=2)
    said = f"{problem}: y: one output would pass for different inputs"
    assert said in done.stderr
    assert SO in done.stderr
    assert done.stderr.endswith("; or import it with --train\n")
    assert not out.exists()


def test_an_import_in_training_mode_refuses_dropout() -> None:
    done = bench("workload", "import", FIXTURES / "problems" / "mlp.py", "--train", expect=2)
    assert "mlp.py: Model has Dropout (dropout, p=0.1), which draws random" in done.stderr
