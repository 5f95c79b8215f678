"""References that are wrong: what is said of each."""

import re

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("torch")
import operator_cases as operators  # noqa: E402 -- these need NumPy and PyTorch
from operator_cases import CHANGES, Opened, given, output  # noqa: E402

import protocol  # noqa: E402

COPY = "def reference(x):\n    return x.clone()\n"
ARRAYS = [given("x", 4, 3), output("y", 4, 3)]

BAD_REFERENCES = {
    "syntax": ("def reference(x:\n  return x", r"op/reference.py:1: SyntaxError: .+"),
    "import": (
        "import torch\nimport no_such_module",
        r"op/reference.py:2: ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "exit": ("import sys\nsys.exit(3)", "op/reference.py:2: SystemExit: 3"),
    "raises": (
        "def reference(x):\n    y = x\n    return y.no_such()",
        "op/reference.py:3: AttributeError: 'Tensor' object has no attribute 'no_such'",
    ),
    "raises in PyTorch": (
        "import torch\ndef reference(x):\n    return torch.softmax(x, dim=7)",
        r"op/reference.py:3: IndexError: Dimension out of range .+",
    ),
    "none": ("def forward(x): return x", "op/reference.py: no function reference"),
    "parameters": (
        "import torch\ndef reference(x, y): return x",
        r"op/reference.py:2: reference\(x, y\) is called as reference\(x\): missing a required .+",
    ),
    "shape": (
        "def reference(x): return x[1:]",
        r"op/reference.py:1: reference: y has shape \[3, 3\], expected \[4, 3\]",
    ),
    "dtype": (
        "def reference(x): return x.half()",
        "op/reference.py:1: reference: y is f16, expected f32",
    ),
    "number": (
        "def reference(x): return x, x",
        "op/reference.py:1: reference returned 2 values, expected 1: y",
    ),
    "nothing": (
        "def reference(x): pass",
        "op/reference.py:1: reference: y is of type NoneType, expected a tensor",
    ),
    "sparse": (
        "def reference(x): return x.to_sparse()",
        "op/reference.py:1: reference: y is sparse, expected a dense tensor",
    ),
    "device": (
        "def reference(x): return x.to('meta')",
        "op/reference.py:1: reference: y is on the device meta, expected cpu",
    ),
    "changes": (
        "def reference(x): return x.mul_(2).clone()",
        f"op/reference.py:1: reference {CHANGES}",
    ),
    "reshapes": (
        "def reference(x): return x.t_().t().clone()",
        f"op/reference.py:1: reference {CHANGES}",
    ),
}


def first_run(session, operator, variant):
    """Return the answer to opening the case, or, of an oracle, which waits for it, to its first run."""
    opened = Opened(session, operator, variant)
    if variant != "oracle" or opened.answer["status"] != "ok":
        return opened.answer
    answer = session.handle(protocol.OutputRequest(opened.id, str(opened.folder)))
    session.handle(protocol.CloseRequest(opened.id))
    return answer


@pytest.mark.parametrize("variant", ["eager", "inference", "oracle"])
@pytest.mark.parametrize("what", BAD_REFERENCES)
def test_a_bad_reference_fails_with_its_place(session, tmp_path, what, variant):
    source, reason = BAD_REFERENCES[what]
    if what == "dtype" and variant == "oracle":
        reason = (
            "op/reference.py:1: reference: y is f16, expected f64: reference casts inside; the "
            "inputs are f64 here, and its result must be, or a function oracle beside it computes "
            "in f64"
        )
    operator = operators.write(tmp_path / "op", {"reference": source}, ARRAYS)
    answer = first_run(session, operator, variant)
    assert answer["status"] == "failed"
    assert re.fullmatch(reason, answer["reason"]), answer["reason"]
    right = operators.write(tmp_path / "op", {"reference": COPY}, ARRAYS)
    answer = first_run(session, right, variant)
    assert answer["status"] == "ok", "a file that was put right is read again"


ONLY_IN_THE_ORACLE = {
    "casts": (
        "def reference(x): return x.float()",
        "op/reference.py:1: reference: y is f32, expected f64: reference casts inside; .+",
    ),
    "casts and back, nearly constant": (
        "def reference(x): return (1 + 0.01 * x).float().to(x.dtype)",
        "op/reference.py:1: reference: y is the same if the inputs differ by 9e-13 of themselves, "
        "and another if by 2e-02: reference casts to a smaller dtype inside and back, .+",
    ),
    "casts and back": (
        "def reference(x): return (2.1 * x.float()).to(x.dtype)",
        "op/reference.py:1: reference: y is the same if the inputs differ by 9e-13 of themselves, "
        "and another if by 2e-02: reference casts to a smaller dtype inside and back, .+",
    ),
    "adds up in float32": (
        "def reference(x): return x.float().sum().to(x.dtype).expand(4, 3)",
        "op/reference.py:1: reference: y is the same if .+",
    ),
    "oracle casts": (
        "def reference(x): return x\ndef oracle(x): return x.float()",
        "op/reference.py:2: oracle: y is f32, expected f64: oracle casts inside; .+ must be",
    ),
    "differs": (
        "import torch\ndef reference(x): return x + torch.rand_like(x)",
        r"op/reference.py:2: reference: two runs on the same inputs differ in y: take random "
        r'numbers as inputs, or set "deterministic": false in workload.json',
    ),
}


@pytest.mark.parametrize("what", ONLY_IN_THE_ORACLE)
def test_what_only_the_oracle_finds(session, tmp_path, what):
    source, reason = ONLY_IN_THE_ORACLE[what]
    operator = operators.write(tmp_path / "op", {"reference": source}, ARRAYS)
    answer = first_run(session, operator, "oracle")
    assert answer["status"] == "failed"
    assert re.fullmatch(reason, answer["reason"]), answer["reason"]


STEPS = ("x.relu()", "x.sign()", "x.round()", "x.clamp(-0.5, 0.5)", "x.flip(0)", "0 * x")
# Those that depend on the input little, and in float64 not at all on its last digits.
NEARLY_CONSTANT = ("1 + 1e-8 * x", "1 + 1e-4 * x.tanh()")


@pytest.mark.parametrize("steps", (*STEPS, *NEARLY_CONSTANT))
def test_steps_are_no_casts(session, tmp_path, steps):
    source = {"reference": f"def reference(x): return {steps}"}
    answer = first_run(session, operators.write(tmp_path / "op", source, ARRAYS), "oracle")
    assert answer["status"] == "ok", answer


def test_an_oracle_may_round(session, tmp_path):
    source = {"reference": "def reference(x): return x.half().to(x.dtype)\noracle = reference"}
    answer = first_run(session, operators.write(tmp_path / "op", source, ARRAYS), "oracle")
    assert answer["status"] == "ok", answer


def test_a_reference_may_be_said_to_be_not_deterministic(session, tmp_path):
    source, _ = ONLY_IN_THE_ORACLE["differs"]
    operator = operators.write(tmp_path / "op", {"reference": source}, ARRAYS, deterministic=False)
    for variant in ("oracle", "eager"):
        opened = Opened(session, operator, variant)
        assert opened.answer["status"] == "ok"
        opened.output()


@pytest.mark.parametrize(
    ("functions", "reason"),
    [
        ("def scale(x): return 'large'", "scale: y is of type str, expected a number"),
        ("def scale(x): return 1, 2", "scale returned 2 values, expected 1: y"),
    ],
)
def test_a_scale_is_one_number_for_each_output(session, tmp_path, functions, reason):
    operator = operators.write(tmp_path / "op", {"reference": COPY + functions}, ARRAYS)
    opened = Opened(session, operator, "oracle")
    request = operators.protocol.OutputRequest(opened.id, str(tmp_path))
    assert session.handle(request)["reason"] == f"op/reference.py:3: {reason}"


def test_a_case_without_memory_for_it_is_skipped(session, tmp_path):
    source = "import numpy\ndef reference(x): return numpy.empty((1 << 50, 4), numpy.float32)"
    operator = operators.write(tmp_path / "op", {"reference": source}, ARRAYS)
    answer = Opened(session, operator, "eager").answer
    assert (answer["status"], set(answer)) == ("skipped", {"status", "id", "reason"})
    assert re.search("does not fit into host memory: .*16.0 PiB", answer["reason"])
    right = operators.write(tmp_path / "copy", {"reference": COPY}, ARRAYS)
    assert Opened(session, right, "eager").answer["status"] == "ok"


def test_what_a_reference_prints_is_no_answer(worker, tmp_path):
    source = "print('loaded')\ndef reference(x):\n    print('called')\n    return x\n"
    operator = operators.write(tmp_path / "op", {"reference": source}, ARRAYS)
    opened = worker.open("eager", workload="op", params={}, operator=operator, id="c")
    assert opened["status"] == "ok"
    assert worker.sample("c")["status"] == "ok"
    assert worker.ask("close", id="c")["status"] == "ok"
