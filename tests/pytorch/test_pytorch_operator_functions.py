"""Functions of an operator's Python file: the oracle and its types, verify, setup, params, helpers."""

import math
import sys

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import operator_cases as operators  # noqa: E402 -- these need NumPy and PyTorch
from operator_cases import PARAMS, RIGHT, Opened, open_ok  # noqa: E402

import protocol  # noqa: E402
import user_file  # noqa: E402


def test_the_oracle_computes_in_float64_from_rounded_inputs(session, tmp_path):
    arrays = [operators.given("x", 6, 8, dtype="f16"), operators.output("y", 6, dtype="f16")]
    source = "def reference(x, eps): return x.sum(-1) + eps"
    scalars = [operators.scalar("eps", 0.1)]
    operator = operators.write(tmp_path / "sums", {"reference": source}, arrays, scalars)
    opened = open_ok(session, operator, "oracle")
    assert opened.answer["phases"] == {"total": "host"}
    (y,) = opened.output().values()
    assert y.dtype == np.float64
    x = np.fromfile(opened.inputs(0) / "0" / "x", np.float16).reshape(6, 8).astype(np.float64)
    expected = x.sum(-1) + np.float64(np.float32(0.1))
    assert np.abs(y - expected).max() < 1e-14


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [("bf16", "f4"), ("f16", "f2"), ("f64", "f8"), ("i32", "i4"), ("u8", "i4"), ("bool", "i4")],
)
def test_outputs_are_of_types_that_the_supervisor_reads(session, tmp_path, dtype, stored):
    """Those of the oracle have 64 bits."""
    fill = {"kind": "integers", "low": 0, "high": 2}
    arrays = [
        operators.given("x", 5, dtype=dtype, fill=fill),
        operators.output("y", 5, dtype=dtype),
    ]
    operator = operators.write(
        tmp_path / "same", {"reference": "def reference(x): return x.clone()"}, arrays
    )
    y = open_ok(session, operator, "eager").output()["y"]
    assert y.dtype == np.dtype(stored)
    expected = open_ok(session, operator, "oracle").output()["y"]
    assert expected.dtype == np.dtype(f"{stored[0]}8")
    assert np.array_equal(y, expected)


def test_scale_is_written_beside_its_output_and_is_none(session, tmp_path):
    operator = operators.write(tmp_path / "softmax", *RIGHT["softmax"])
    opened = open_ok(session, operator, "oracle")
    assert set(opened.output()) == {"y"}
    scale = np.load(opened.folder / "y.scale.npy")
    assert (scale.dtype, scale.size, float(scale.reshape(-1)[0])) == (np.float64, 1, 0.5)


COUNTED = """
RUNS = []
def reference(x):
    raise ValueError("the oracle's function is another")
def oracle(x):
    RUNS.append(x)
    return x.clone()
"""


def test_an_oracle_runs_as_often_as_it_must(session, tmp_path):
    """One run of a large training takes seconds: two of the first pass show that it repeats itself."""
    arrays = [operators.given("x", 4), operators.output("y", 4)]
    operator = operators.write(tmp_path / "counted", {"reference": COUNTED}, arrays)
    first = open_ok(session, operator, "oracle")
    runs = first.case._module.RUNS
    assert len(runs) == 0
    first.output()
    assert len(runs) == 2, "on the inputs as opened"
    first.output(operators.SEED)
    assert len(runs) == 3
    session.handle(protocol.CloseRequest(first.id))
    later = open_ok(session, operator, "oracle")
    later.output(operators.SEED)
    assert len(runs) == 4, "a later pass asks for other inputs only"


def test_an_oracle_of_its_own_is_used_instead(session, tmp_path):
    source = """
        def reference(x):
            return x.float() + 1
        def oracle(x):
            return x + 2
        """
    arrays = [operators.given("x", 5), operators.output("y", 5)]
    operator = operators.write(tmp_path / "plus", {"reference": source}, arrays)
    apart = open_ok(session, operator, "oracle").output()["y"]
    apart -= open_ok(session, operator, "eager").output()["y"]
    assert np.allclose(apart, 1)


def test_verify_judges_outputs_in_a_folder(session, tmp_path):
    operator = operators.write(tmp_path / "argmax", *RIGHT["argmax"])
    oracle = open_ok(session, operator, "oracle")
    oracle.output()
    request = protocol.VerifyRequest(oracle.id, str(oracle.folder))
    answer = {"status": "ok", "id": oracle.id, "defined": True}
    assert oracle.ok(request) == {**answer, "complaint": None}
    y = np.load(oracle.folder / "y.npy")
    np.save(oracle.folder / "y.npy", ((y + 1) % 8).astype(np.int32))
    assert oracle.ok(request) == {**answer, "complaint": "y is not where x is largest"}


def test_verify_gets_lists_as_the_reference_does(session, tmp_path):
    operator = operators.write(tmp_path / "layers", *RIGHT["layers"])
    oracle = open_ok(session, operator, "oracle")
    y = oracle.output()["y"]
    request = protocol.VerifyRequest(oracle.id, str(oracle.folder))
    assert oracle.ok(request)["complaint"] is None
    np.save(oracle.folder / "y.npy", y + 1)
    assert oracle.ok(request)["complaint"] == "y is wrong"


def test_verify_may_change_what_it_is_given(session, tmp_path):
    """Also what is fixed, which the reference has in every run."""
    source = """
        def reference(x): return 2 * x
        def verify(inputs, outputs): inputs[0].zero_()
        """
    x = operators.given("x", 6, 8, fill={"kind": "constant", "low": 3})
    arrays = [x, operators.output("y", 6, 8)]
    operator = operators.write(tmp_path / "zeros", {"reference": source}, arrays)
    oracle = open_ok(session, operator, "oracle")
    first = oracle.output()["y"]
    oracle.ok(protocol.VerifyRequest(oracle.id, str(oracle.folder)))
    assert np.array_equal(oracle.output(operators.SEED)["y"], first)


def test_only_an_oracle_verifies(session, tmp_path):
    operator = operators.write(tmp_path / "softmax", *RIGHT["softmax"])
    oracle = open_ok(session, operator, "oracle")
    without = oracle.ok(protocol.VerifyRequest(oracle.id, str(tmp_path)))
    assert (without["defined"], without["complaint"]) == (False, None)
    eager = open_ok(session, operator, "eager")
    answer = session.handle(protocol.VerifyRequest(eager.id, str(tmp_path)))
    assert answer["reason"] == "verify: expected an operator's oracle, found softmax eager"


def test_setup_gets_params_and_dtype_and_all_modes_the_same_state(session, tmp_path):
    source = """
        import torch
        seen = []
        def setup(params, device, dtype):
            seen.append((params, str(device), dtype))
            return {"w": torch.randn(params["cols"]).to(device, dtype), "names": ["a"]}
        def reference(x, *, state):
            return x * state["w"]
        """
    arrays = [operators.given("x", 6, 8, dtype="f16"), operators.output("y", 6, 8, dtype="f16")]
    operator = operators.write(tmp_path / "scaled", {"reference": source}, arrays)
    y = open_ok(session, operator, "eager").output()["y"]
    expected = open_ok(session, operator, "oracle").output()["y"]
    assert expected.dtype == np.float64
    assert np.allclose(y, expected, rtol=2e-3)
    module = sys.modules[f"scaled_reference_{operator['hash']}"]
    assert set(map(str, module.seen)) == {str((PARAMS, "cpu", torch.float16))}


@pytest.mark.parametrize("mode", ["eager", "compile", "oracle"])
def test_functions_that_name_params_get_them(session, tmp_path, mode):
    """A top-k needs its k, which no input has."""
    source = """
        import torch
        def setup(params, device, dtype):
            return 2
        def reference(x, a, *, state, params):
            return torch.topk(x, params["k"]).values * a * state
        def scale(x, a, state, params):
            return params["k"]
        def verify(inputs, outputs, params):
            return None if outputs[0].shape[-1] == params["k"] else "y has not k columns"
        """
    arrays = [operators.given("x", 4, 9), operators.output("y", 4, 3)]
    scalars = [operators.scalar("a", 3)]
    operator = operators.write(tmp_path / "top", {"reference": source}, arrays, scalars)
    opened = Opened(session, operator, mode, params={"k": 3})
    found = opened.output()
    expected = -np.sort(-opened.case._inputs.arrays[0])[:, :3] * 6
    assert np.allclose(found["y"], expected)
    if mode == "oracle":
        assert opened.case.output()["y.scale"] == 3
        answer = opened.ok(protocol.VerifyRequest(opened.id, str(opened.folder)))
        assert (answer["defined"], answer["complaint"]) == (True, None)


@pytest.mark.parametrize("mode", ["eager", "oracle"])
def test_functions_may_ask_for_params_by_name(session, tmp_path, mode):
    reference = """
        def reference(n, a, *, cols, k=0):
            assert cols == 8
            return n[:, :k] * a
        def scale(x, a, *, k):
            return k
        def verify(k, outputs, cols):
            return None if len(k) == 1 and cols == 8 else "wrong"
        """
    arrays = [operators.given("x", 2, 8), operators.output("y", 2, 3)]
    operator = operators.write(
        tmp_path / "named", {"reference": reference}, arrays, [operators.scalar("a", 2)]
    )
    # The first parameter is x, whatever a param is called.
    opened = Opened(session, operator, mode, params={"k": 3, "cols": 8, "n": 2})
    assert opened.answer["status"] == "ok", opened.answer
    assert opened.output()["y"].shape == (2, 3)
    if mode == "oracle":
        answer = opened.ok(protocol.VerifyRequest(opened.id, str(opened.folder)))
        assert answer["complaint"] is None


def test_an_input_may_have_the_name_of_params(session, tmp_path):
    arrays = [operators.given("params", 5), operators.output("y", 5)]
    files = {"reference": "def reference(params): return params + 1"}
    operator = operators.write(tmp_path / "plus", files, arrays)
    opened = open_ok(session, operator, "eager")
    assert np.allclose(opened.output()["y"], opened.case._inputs.arrays[0] + 1)


def test_the_state_is_from_the_seed(session, tmp_path):
    source = """
        import torch
        def setup(params, device, dtype):
            return torch.randn(5)
        def reference(x, *, state):
            return x * 0 + state
        """
    arrays = [operators.given("x", 5), operators.output("y", 5)]
    operator = operators.write(tmp_path / "drawn", {"reference": source}, arrays)
    first = open_ok(session, operator, "eager").output()["y"]
    other = Opened(session, operator, "inference", seed=43).output()["y"]
    assert not np.allclose(first, other)
    torch.manual_seed(7)
    assert np.allclose(open_ok(session, operator, "oracle").output()["y"], first)


def test_operators_of_one_name_share_no_inputs(session, tmp_path):
    files, sums = {"reference": "def reference(x): return x + 1"}, []
    for low in (1, 2):
        arrays = [
            operators.given("x", 5, fill={"kind": "constant", "low": low, "high": 0}),
            operators.output("y", 5),
        ]
        operator = operators.write(tmp_path / "plus", files, arrays)
        opened = Opened(session, operator, "eager", id=f"case {low}")
        opened.id = f"case {low}"
        sums.append(opened.output()["y"][0])
    assert sums == [2, 3]


def test_a_helper_beside_the_reference_is_that_of_its_folder(session, tmp_path):
    found = []
    for name, number in (("first", 1), ("second", 2)):
        files = {
            "reference": "import helper\ndef reference(x): return x * 0 + helper.NUMBER",
            "helper": f"NUMBER = {number}",
        }
        arrays = [operators.given("x", 5), operators.output("y", 5)]
        operator = operators.write(tmp_path / name, files, arrays)
        found.append(open_ok(session, operator, "inference").output()["y"][0])
    assert found == [1, 2]


def test_functions_of_two_folders_are_compiled(tmp_path):
    """The compiler finds their globals by the name of the module, which both folders have."""
    functions = []
    for name, number in (("math", "math.pi"), ("cmath", "cmath.e")):
        (tmp_path / name).mkdir()
        files = {
            "shared": f"import {name}\ndef scaled(x): return x * {number}",
            "reference": "import shared\ndef reference(x): return shared.scaled(x)",
        }
        for stem, source in files.items():
            (tmp_path / name / f"{stem}.py").write_text(source, encoding="utf-8")
        functions.append(user_file.load(tmp_path / name, "reference", "1").reference)
    for function, number in zip(functions, (math.pi, math.e), strict=True):
        compiled = torch.compile(function, backend="eager", fullgraph=True)
        assert compiled(torch.ones(1)) == torch.tensor(number)


def test_a_changed_file_is_read_again(session, tmp_path):
    found = []
    for number in (1, 2):
        source = f"def reference(x): return x * 0 + {number}"
        arrays = [operators.given("x", 5), operators.output("y", 5)]
        operator = operators.write(tmp_path / "same", {"reference": source}, arrays)
        opened = open_ok(session, operator, "eager")
        found.append(opened.output()["y"][0])
        opened.ok(protocol.CloseRequest(opened.id))
    assert found == [1, 2]
