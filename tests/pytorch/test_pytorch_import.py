"""Problems of kernel benchmarks as operators: what is found in files; inputs and weights."""

import json
import math
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import operator_cases as operators  # noqa: E402 -- these need NumPy and PyTorch
from operator_cases import Opened  # noqa: E402

import import_problem  # noqa: E402
import user_file  # noqa: E402
from session import Session  # noqa: E402
from workload import CaseError  # noqa: E402

PROBLEMS = Path(__file__).parents[1] / "fixtures" / "problems"
EVAL = "eval(): Model would compute something else in training mode (--train)"
DROPS = f"{EVAL[:-10]}, where it draws random numbers (dropout in line 17)"
# Problem: shapes of inputs, and of outputs with their dtypes, and the beginning of each note.
FOUND: dict[str, tuple[Any, ...]] = {
    "argmax": ([[256, 1000]], [([256], "i64")]),
    "casts": ([[256, 256]], [([256, 256], "f32")], "reference: not in float64 but as written, wi"),
    "convolution": ([[4, 8, 32, 32]], [([4, 16, 32, 32], "f32")], EVAL),
    "cross_entropy": ([[4096, 64], [4096]], [([], "f32")]),
    "embedding": ([[2048]], [([2048, 256], "f32")]),
    "gelu": ([[256, 1000]], [([256, 1000], "f32")]),
    "layer_norm": ([[512, 768]], [([512, 768], "f32")]),
    "linear": ([[256, 512]], [([256, 384], "f32")]),
    "logsumexp": ([[256, 1000]], [([256], "f32")], "tolerance: y of Model has a relative L2 error"),
    "mlp": ([[128, 256]], [([128, 64], "f32")], DROPS),
    "rms_norm": ([[512, 768]], [([512, 768], "f32")]),
    "silu_mul": ([[256, 1024], [256, 1024]], [([256, 1024], "f32")]),
    "softmax": ([[256, 1000]], [([256, 1000], "f32")]),
    "sum_dim": ([[8, 256, 256]], [([8, 1, 256], "f32")]),
}


def imported(
    folder: Path, problem: Path, candidates: list[Path], *, train: bool = False
) -> tuple[Any, dict[str, Any]]:
    """Return the notes, and the key `operator` of `open` as the supervisor makes it."""
    notes = import_problem.write(folder, problem, candidates, train=train)
    about = json.loads((folder / "workload.json").read_text(encoding="utf-8"))
    fill = {"kind": "function", "low": 0, "high": 0}
    inputs = [{**x, "input": True, "output": False, "fill": fill} for x in about["inputs"]]
    outputs = [{**y, "input": False, "output": True} for y in about["outputs"]]
    arrays = [{k: v for k, v in a.items() if k != "tolerance"} for a in (*inputs, *outputs)]
    return notes, operators.write(folder, {}, arrays, about.get("scalars", ()), about=about)


def open_ok(session: Session, operator: dict[str, Any], variant: str) -> Opened:
    known = {key: value for key, value in operator.items() if key != "about"}
    opened = Opened(session, known, variant, dtype=next(iter(operator["about"]["dtypes"])))
    assert opened.answer["status"] == "ok", opened.answer
    return opened


def test_each_problem_is_in_the_table():
    assert sorted(path.stem for path in PROBLEMS.glob("*.py")) == list(FOUND)


@pytest.mark.parametrize("name", FOUND)
def test_problem(session, tmp_path, name):
    shapes, outputs, *begins = FOUND[name]
    notes, operator = imported(tmp_path / name, PROBLEMS / f"{name}.py", [])
    about = operator["about"]
    assert [x["shape"] for x in about["inputs"]] == shapes
    assert [(y["shape"], y["dtype"]) for y in about["outputs"]] == outputs
    assert len(notes) == len(begins)
    assert all(map(str.startswith, notes, begins))
    eager, oracle = open_ok(session, operator, "eager"), open_ok(session, operator, "oracle")
    seen = []
    for seed in (0, 7):
        y, expected = eager.output(seed)["y"], oracle.output(seed)["y"]
        assert expected.dtype == (np.int64 if outputs[0][1] == "i64" else np.float64)
        assert np.allclose(y, expected, rtol=0, atol=1e-5 * max(1, np.abs(expected).max()))
        seen.append(expected)
    assert not np.array_equal(*seen)
    assert np.array_equal(oracle.output(0)["y"], seen[0])
    assert eager.case.results() == ({"notes": notes} if notes else {})


def test_limits_are_those_of_descriptions():
    from operator_request import MOST_ARRAYS, MOST_DIMENSIONS

    path = PROBLEMS.parents[2] / "kernels/workload.schema.json"
    schema = json.loads(path.read_text("utf-8"))
    assert schema["properties"]["inputs"]["maxItems"] == MOST_ARRAYS
    assert schema["$defs"]["input"]["properties"]["shape"]["maxItems"] == MOST_DIMENSIONS


def test_each_step_is_told_before_it_begins(tmp_path, monkeypatch):
    import problem

    told: list[str] = []

    def steps() -> list[str]:
        notes = import_problem.write(tmp_path / "out", PROBLEMS / "linear.py", [], tell=told.append)
        assert notes == []
        found = told.copy()
        told.clear()
        return found

    expected = [
        "Model runs on the CPU, as it is",
        "Model runs on the CPU, in float64 (2.6 MB of inputs and weights)",
        "what Model reads and multiplies is counted",
    ]
    assert steps() == expected
    # A device that holds no values: what fails there is computed on the CPU.
    monkeypatch.setattr(problem, "fast_device", lambda: "meta")
    expected.insert(1, expected[1].replace("the CPU", "meta"))
    assert steps() == expected
    monkeypatch.setattr(problem, "fast_device", lambda: "cpu")
    del expected[2]
    assert steps() == [step.replace("on meta", "on cpu") for step in expected]


def test_a_candidate_may_have_the_name_of_a_module(tmp_path):
    """Python has a module _thread, which is built in."""
    new = tmp_path / "thread.py"
    text = (PROBLEMS / "gelu.py").read_text("utf-8").replace("Model", "ModelNew")
    new.write_text(text, encoding="utf-8")
    _, operator = imported(tmp_path / "op", PROBLEMS / "gelu.py", [new])
    module = user_file.load(tmp_path / "op", "thread", operator["hash"])
    assert type(module.setup({}, "cpu", torch.float32)).__name__ == "ModelNew"


def test_tolerances(tmp_path):
    elements = {}
    for name in ("casts", "logsumexp", "linear"):
        _, operator = imported(tmp_path / name, PROBLEMS / f"{name}.py", [])
        elements[name] = operator["about"]["outputs"][0].get("tolerance")
    assert elements["casts"] == {"rel_l2": 2e-5}
    assert 1e-5 < elements["logsumexp"]["rel_l2"] < 1e-2
    assert elements["linear"] is None


def test_default_bounds_are_those_of_descriptions():
    from problem import REL_L2

    source = (PROBLEMS.parents[2] / "bench/workloads/described/dtypes.c").read_text("utf-8")
    for dtype, bound in REL_L2.items():
        kind, number = f"[ELEMENT_{dtype.upper()}] = ", f"{bound:g}".replace("e-0", "e-")
        assert math.isclose(float(source.partition(kind)[2].split(",")[0]), bound), number


def test_numbers_and_flags_stay_where_they_are(tmp_path):
    folder = tmp_path / "logsumexp"
    _, operator = imported(folder, PROBLEMS / "logsumexp.py", [])
    assert operator["scalars"] == [
        {"name": "a1", "dtype": "f64", "value": 0.5},
        {"name": "a2", "dtype": "i64", "value": 1},
    ]
    text = (folder / "reference.py").read_text(encoding="utf-8")
    assert "def reference(x, a1, a2, *, state):\n    return state(a1, x, bool(a2))\n" in text


def test_a_candidate_gets_numbers_and_flags_where_model_does(tmp_path):
    new = tmp_path / "new.py"
    new.write_text(
        "from torch import nn\nclass ModelNew(nn.Module):\n"
        "    def forward(self, *given): return given\n",
        encoding="utf-8",
    )
    _, operator = imported(tmp_path / "out", PROBLEMS / "logsumexp.py", [new])
    made = user_file.load(tmp_path / "out", "new", operator["hash"])
    x, state = torch.ones(3), made.setup({}, torch.device("cpu"), torch.float32)
    found = made.run(x, 0.5, 1, state=state)
    assert found == (0.5, x, True)
    assert found[2] is True


def weights_of(tmp_path: Path, new: str) -> Any:
    """Return a candidate of `linear` and what `results` says of it."""
    from imported import candidate, results

    path = tmp_path / "new.py"
    path.write_text("from torch import nn\nimport torch\n" + dedent(new), encoding="utf-8")
    problem = user_file.load(PROBLEMS, "linear", "")
    torch.manual_seed(3)
    made = candidate(user_file.load(tmp_path, "new", path.name + new), problem)
    torch.manual_seed(3)
    return problem.Model(*problem.get_init_inputs()).state_dict(), made, results(made)


NEW = """
    class ModelNew(nn.Module):
        def __init__(self, n_in, n_out):
            super().__init__()
            torch.randn(5)
            self.linear = nn.Linear(n_in, n_out)
    """


def test_weights_are_copied_where_name_and_shape_agree(tmp_path):
    expected, made, said = weights_of(tmp_path, NEW)
    assert all(torch.equal(made.state_dict()[name], w) for name, w in expected.items())
    assert said == {"weights": 2, "weights_copied": 2, "notes": []}
    assert not made.training


@pytest.mark.parametrize("bias", ["None", "nn.Parameter(torch.zeros(1))"])
def test_other_shapes_are_not_copied(tmp_path, bias):
    *_, said = weights_of(tmp_path, f"{NEW}        self.linear.bias = {bias}\n")
    assert (said["weights_copied"], len(said["notes"])) == (1, 1)


def test_other_names_have_the_draws_of_the_seed(tmp_path):
    expected, made, said = weights_of(
        tmp_path, NEW.replace("torch.randn(5)", "").replace("self.linear", "self.product")
    )
    assert torch.equal(made.product.weight, expected["linear.weight"])
    assert said["weights_copied"] == 0


def test_a_function_fill_needs_the_function(session, tmp_path):
    fill = {"kind": "function", "low": 0, "high": 0}
    arrays = [operators.given("x", 5, fill=fill), operators.output("y", 5)]
    for more, message in (
        ("", "reference.py: inputs: no such function, which the fill"),
        ("def inputs(p, d): return []", "reference.py: inputs returned 0 tensors, expected 1"),
        ("def inputs(p, d): pass", "inputs returned a value of type NoneType, expected a list"),
        ("def inputs(p, d): return [torch.ones(4)]", "x is [4] f32, expected [5] f32"),
        ("def inputs(p, d): return [torch.ones(5).long()]", "x is [5] i64, expected [5] f32"),
    ):
        source = f"import torch\ndef reference(x): return x + 1\n{more}"
        operator = operators.write(tmp_path / "plus", {"reference": source}, arrays)
        with pytest.raises(CaseError, match=re.escape(message)):
            Opened(session, operator, "eager")


GOOD = """
    import torch
    from torch import nn
    class Model(nn.Module):
        def forward(self, *given): return given[0] + 0
    def get_inputs(): return [torch.rand(3)]
    def get_init_inputs(): return []
    """
BAD = {
    "syntax": (("return []", "return ["), "p.py:7: SyntaxError: '[' was never closed"),
    "no_model": (("class Model(", "class Modell("), "p.py: no Model; expected Model, get_inputs, "),
    "no_module": (("(nn.Module)", ""), "p.py: Model is no torch.nn.Module"),
    "no_list": (
        ("[torch.rand(3)]", "torch.rand(3)"),
        "get_inputs() returns of type Tensor, expect",
    ),
    "text": (("rand(3)]", "rand(3), 'a']"), "p.py: get_inputs()[1] is of type str, expected a t"),
    "list": (("rand(3)]", "rand(3), [1]]"), "p.py: get_inputs()[1] is of type list, expected a "),
    "infinite": (("rand(3)]", "rand(3), 1e999]"), "p.py: get_inputs()[1] is inf, expected a tens"),
    "no_tensor": (("torch.rand(3)", "3"), "p.py: get_inputs() returns no tensor"),
    "complex": (
        ("rand(3)", "rand(3) * 1j"),
        "p.py: get_inputs()[0] is complex64, which workloads do not have",
    ),
    "empty": (
        ("rand(3)", "rand(0)"),
        "get_inputs()[0] has shape [0], expected a dense tensor of a",
    ),
    "nine": (
        ("rand(3)", "rand(1, 1, 1, 1, 1, 1, 1, 1, 3)"),
        "get_inputs()[0] has shape [1, 1, 1, 1, 1, 1, 1, 1, 3], expected a dense tensor of at most 8 d",
    ),
    "many": (
        ("[torch.rand(3)]", "[torch.rand(3)] * 17"),
        "p.py: Model has 18 tensors as inputs and outputs (17 + 1), expected at most 16",
    ),
    "numbers": (
        ("[torch.rand(3)]", "[torch.rand(3)] + [1] * 17"),
        "p.py: Model has 17 numbers as inputs, expected at most 16",
    ),
    "raises": (("return given[0]", "return given[1]"), "p.py:5: IndexError: tuple index out of ra"),
    "ends": (("return given[0]", "exit(3)"), "p.py:5: SystemExit: 3"),
    "output": (("given[0] + 0", "3"), "p.py: output 0 of Model is of type int, expected a tensor"),
    "same": (("rand(3)", "ones(3)"), "p.py:6: get_inputs() gives the same under every seed: resu"),
    "seeded": (
        ("[torch.rand(3)]", "torch.manual_seed(0) and [torch.rand(3)]"),
        "p.py:6: get_inputs() gives the same under every seed: results could be kept; draw from ",
    ),
    "own_generator": (
        (
            "def get_inputs(): return [torch.rand(3)]",
            "G = torch.Generator()\n    def get_inputs(): return [torch.rand(3, generator=G)]",
        ),
        "p.py:6: get_inputs() gives other values under the same seed: results could be kept; draw",
    ),
    "rounding": (
        ("given[0] + 0", "(given[0] + 1e3) - 1e3 - given[0]"),
        "p.py: y of Model is rounding error: it is ",
    ),
    "keeps": (
        ("return given[0] + 0", "self.n = getattr(self, 'n', 0) + 1; return given[0] * self.n"),
        "p.py: two runs of Model on the same inputs differ: it keeps something from run to run; ",
    ),
    "draws": (
        ("given[0] + 0", "given[0] + torch.rand_like(given[0])"),
        "p.py: two runs of Model on the same inputs differ: it draws random numbers (rand_like in "
        "line 5); take them as inputs",
    ),
    "changes": (("given[0] + 0", "given[0].add_(1)"), "p.py: Model changes its input x: clone it"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_problems(tmp_path, name):
    (old, new), message = BAD[name]
    assert old in GOOD
    (tmp_path / "p.py").write_text(dedent(GOOD.replace(old, new)), encoding="utf-8")
    with pytest.raises((Exception, SystemExit)) as raised:
        import_problem.write(tmp_path / "out", tmp_path / "p.py", [])
    assert message in import_problem.reason(raised.value)
    assert not (tmp_path / "out").exists()


# ---- training mode -------------------------------------------------------------------------------


def test_training_mode_takes_the_batch_s_statistics(session, tmp_path):
    new = tmp_path / "new.py"
    new.write_text(
        "from _problem import Model\nclass ModelNew(Model):\n    pass\n", encoding="utf-8"
    )
    for train in (False, True):
        folder = tmp_path / str(train)
        notes, operator = imported(folder, PROBLEMS / "convolution.py", [new], train=train)
        assert notes == ["train(): Model and ModelNew are in training mode" if train else EVAL]
        eager, oracle = open_ok(session, operator, "eager"), open_ok(session, operator, "oracle")
        # Running statistics change from run to run, outputs do not.
        y = [eager.output(0)["y"] for _ in range(3)]
        assert np.array_equal(y[0], y[2])
        assert np.allclose(y[2], oracle.output(0)["y"], rtol=0, atol=1e-5)
        torch.manual_seed(1)
        made = user_file.load(folder, "new", operator["hash"]).setup({}, "cpu", None)
        assert made.training == train
        about = operator["about"]["cost"]
        assert about["flops"] == str(2 * 4 * 16 * 32 * 32 * 8 * 9)
        assert operator["about"]["dtypes"] == {"f32": {"math": "fp32"}}


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ("nn.Sequential(nn.Dropout(0), nn.Dropout1d(0.25))", "has Dropout1d (f.1, p=0.25), which "),
        (
            "nn.functional.dropout",
            "draws random numbers (dropout in line 9); take them as inputs, ",
        ),
        (
            "nn.RReLU()",
            "draws random numbers (rrelu in line 9); take them as inputs, or leave --tr",
        ),
    ],
)
def test_training_mode_refuses_dropout(tmp_path, layer, message):
    source = GOOD.replace(
        "def forward(self, *given): return given[0] + 0",
        f"""
        def __init__(self):
            super().__init__()
            self.f = {layer}
        def forward(self, x): return self.f(x) + x""",
    )
    (tmp_path / "p.py").write_text(dedent(source).replace("rand(3)", "randn(3, 9)"), "utf-8")
    with pytest.raises(import_problem.CaseError) as raised:
        import_problem.write(tmp_path / "out", tmp_path / "p.py", [], train=True)
    assert message in str(raised.value)
    assert "leave --train out" in str(raised.value)


# ---- cost ----------------------------------------------------------------------------------------


def cost(tmp_path: Path, expression: str, inputs: str) -> Any:
    text = GOOD.replace("given[0] + 0", expression).replace("[torch.rand(3)]", f"[{inputs}]")
    (tmp_path / "p.py").write_text(dedent(text), encoding="utf-8")
    _, operator = imported(tmp_path / "out", tmp_path / "p.py", [])
    return operator["about"]["cost"]


A, B, INDEX = "torch.rand(4, 8)", "torch.rand(8, 16)", "torch.randint(0, 9, (5,))"


@pytest.mark.parametrize(
    ("expression", "inputs", "elements", "flops"),
    [
        ("given[0] @ given[1]", f"{A}, {B}", 4 * 8 + 8 * 16 + 4 * 16, 2 * 4 * 8 * 16),
        # Terms with a factor of 0, which a better algorithm leaves out.
        ("given[0].diag() @ given[1]", f"torch.rand(8) + 1, {B}", 8 + 2 * 128, 2 * 128),
        # Only the rows that are looked up, only the part that is taken.
        ("given[0][given[1]] + 0", f"torch.rand(100, 16), {INDEX}", 5 * 16 * 2 + 5 * 2, None),
        ("given[0][:3] * 2", "torch.rand(100, 16)", 2 * 3 * 16, None),
        # No more than all of it, however often; nothing for its shape.
        ("given[0] * 2 + given[0].exp()", "torch.rand(100)", 200, None),
        ("given[0].expand(5, 8) * 2", "torch.rand(8)", 8 + 40, None),
        ("torch.ones_like(given[0])[0] * given[1]", f"{A}, torch.rand(8)", 16, None),
    ],
)
def test_cost_is_what_model_reads_writes_and_multiplies(
    tmp_path, expression, inputs, elements, flops
):
    found = cost(tmp_path, expression, inputs)
    assert found.get("flops") == (None if flops is None else str(flops))
    assert found["bytes"] == str(4 * elements)


def test_no_operations_are_counted_where_they_are_cast(tmp_path):
    assert set(cost(tmp_path, "given[0].half() @ given[1].half()", f"{A}, {B}")) == {"bytes"}
