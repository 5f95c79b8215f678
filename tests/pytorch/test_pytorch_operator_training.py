"""Trainings that are described in a folder, in the modes of PyTorch."""

import os
import re
from textwrap import dedent

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import operator_cases as operators  # noqa: E402
from operator_cases import (  # noqa: E402 -- these need NumPy and PyTorch
    CASES,
    RIGHT,
    SEED,
    Opened,
    given,
    in_place,
    near,
    open_ok,
    output,
    scalar,
)

import operator_modes  # noqa: E402
import operator_oracle  # noqa: E402
import operator_training  # noqa: E402
import protocol  # noqa: E402

every_mode = pytest.mark.parametrize(("device", "mode"), CASES)
TRAINS = {"train", "total", "residual", "step"}


@every_mode
def test_phases_of_a_training_whose_steps_are_compared(session, tmp_path, mode, device):
    opened = open_ok(session, operators.write(tmp_path / "built", *RIGHT["built"]), mode)
    copies = {"h2d", "d2h", "train_device", "step_device"} if device == "cuda" else set()
    init = {"init"} if mode == "eager" else set()
    phases = opened.sample(SEED)
    assert set(phases) == TRAINS | copies | init
    for step, train in zip(phases["step"], phases["train"], strict=True):
        assert step == train / 5
    assert opened.case.audited == "train"
    with opened.case.timed() as run:
        run()


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_each_run_trains_a_model_of_its_own(session, tmp_path, device):
    """From host to host, too: it went on with the parameters that the run before had left."""
    operator = operators.write(tmp_path / "built", *RIGHT["built"][:-1])
    opened = open_ok(session, operator, "eager")
    first, again = opened.output(SEED), opened.output(SEED)
    assert all(np.array_equal(first[name], again[name]) for name in first)
    opened.sample(SEED + 1)
    assert near(opened.last(), open_ok(session, operator, "oracle").output(SEED + 1), operator)


@pytest.mark.parametrize("device", ["cuda"])
def test_gradients_by_hand(session, tmp_path):
    """It changes arrays in place, in functions that are compiled once."""
    of_step = operators.BUILT.replace("p - rate *", "p + rate *")  # is not what is run
    files = {"reference": of_step}
    operator = operators.write(tmp_path / "built", files, *RIGHT["built"][1:])
    opened = open_ok(session, operator, "manual_graph")
    p, x = (array.copy() for array in opened.case._inputs.arrays)
    losses = []
    for number in range(5):
        losses.append(((p - x) ** 2).mean())
        p -= 0.1 * (number + 1) * (p - x) / 24
    found = opened.output()
    assert np.allclose(found["loss"], losses)
    assert np.allclose(found["p"], p, atol=1e-6)
    assert "compile" in opened.case.once_ns


@pytest.mark.long
@pytest.mark.parametrize("device", ["cpu"])
def test_the_last_step_of_a_long_training_is_compiled_apart(session, tmp_path, monkeypatch):
    """A smaller batch is another program."""
    source = """
        def step(p, x, step):
            rows = x[step * 2 : min(len(x), step * 2 + 2)]
            return p - (p - rows).mean(0), rows.mean()
        """
    arrays = [in_place("p", 8), given("x", 9, 8), {**output("loss", 5), "every": 1}]
    monkeypatch.setattr(operator_training, "_MANY_STEPS", 5)
    operator = operators.write(tmp_path / "batches", {"reference": source}, arrays, [], 5)
    opened, oracle = (open_ok(session, operator, mode) for mode in ("compile", "oracle"))
    assert near(opened.output(), oracle.output(), operator)


def counted_threads(folder):
    """Return a training whose reference notes its threads in each step."""
    counted = operators.BUILT.replace(
        "        return p - rate",
        "        THREADS.append(torch.get_num_threads())\n        return p - rate",
        1,
    )
    files = {"reference": "THREADS = []\n" + dedent(counted)}
    return operators.write(folder, files, *RIGHT["built"][1:])


def test_the_reference_of_a_training_leaves_cores_to_others(session, tmp_path):
    """Where one of its threads waited for a core, all waited: 48 times as long, on one core of two."""
    oracle = open_ok(session, counted_threads(tmp_path / "counted"), "oracle")
    before = torch.get_num_threads()
    oracle.output()
    assert max(oracle.case._module.THREADS) <= max(1, len(os.sched_getaffinity(0)) // 2)
    assert torch.get_num_threads() == before


def test_the_reference_of_a_wide_training_takes_all_cores(session, tmp_path, monkeypatch):
    monkeypatch.setattr(operator_oracle, "_LARGE_STEP", 1)
    oracle = open_ok(session, counted_threads(tmp_path / "counted"), "oracle")
    oracle.output()
    assert set(oracle.case._module.THREADS) == {
        min(torch.get_num_threads(), len(os.sched_getaffinity(0)))
    }


def test_whether_a_training_repeats_is_seen_in_its_first_steps(session, tmp_path):
    """A second run of all steps took as long as the first, and showed no more."""
    oracle = open_ok(session, counted_threads(tmp_path / "counted"), "oracle")
    oracle.output()
    moved = 3 * 5  # inputs by so little that only float64 sees it, and by more
    assert len(oracle.case._module.THREADS) == 5 + 2 * 2 + moved
    oracle.output(SEED)
    assert len(oracle.case._module.THREADS) == 5 + 2 * 2 + moved + 5


def test_a_training_that_does_not_repeat(session, tmp_path):
    files = {
        "reference": operators.BUILT.replace("return p - rate", "return torch.rand_like(p) - rate")
    }
    operator = operators.write(tmp_path / "random", files, *RIGHT["built"][1:])
    opened = open_ok(session, operator, "oracle")
    answer = session.handle(protocol.OutputRequest(opened.id, str(tmp_path)))
    assert "step: two runs on the same inputs differ in p: " in answer["reason"]


def test_a_training_is_the_loop_around_its_step(session, tmp_path):
    operator = operators.write(tmp_path / "training", *RIGHT["training"])
    oracle = open_ok(session, operator, "oracle")
    p, x = (torch.from_numpy(a).double() for a in oracle.case._inputs.arrays)
    loss, rows = [], []
    for step in range(5):
        loss.append(((p - x) ** 2).mean())
        rows.append(p[0])
        p = p - np.float32(0.1) * (step + 1) * 2 * (p - x) / 48
    expected = {"p": p, "loss": torch.stack(loss), "rows": torch.stack(rows[::2])}
    found = oracle.output()
    for name, y in expected.items():
        assert np.allclose(found[name], y, rtol=1e-12), name


@pytest.mark.parametrize(
    ("device", "mode"),
    [
        ("cpu", "eager"),
        ("cpu", "inference"),
        *(("cuda", m) for m in ("eager", "inference", "graph")),
    ],
)
def test_what_no_refill_changes_is_copied_once(session, tmp_path, mode, device):
    """The images of MNIST were copied in every round, and twice in each call of a whole training."""
    arrays = [
        {**given("x", 6, 8, fill={"kind": "constant", "low": 1}), "stays": True},
        {**given("w", 6, 8), "stays": True},
        output("y", 6, 8),
    ]
    source = {"reference": "def reference(x, w): return x + w"}
    opened = open_ok(session, operators.write(tmp_path / "fixed", source, arrays), mode)
    there = opened.case._there if mode == "eager" else opened.case._x
    if mode == "eager" and device == "cpu":
        there[0] = there[0].clone()  # what is there is the input itself
    there[0].fill_(7)
    found, again = opened.output(SEED)["y"], opened.output(SEED + 1)["y"]
    w = opened.case._inputs.tensors()[1].numpy()
    assert np.array_equal(again, 7 + w)
    assert not np.array_equal(found, again), "others are copied"


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_training_goes_on_from_what_its_last_output_left(session, tmp_path, monkeypatch, device):
    """Arrays in place are in no file before and after a call but the last, and it runs once."""
    opened = open_ok(session, operators.write(tmp_path / "training", *RIGHT["training"]), "eager")
    onward = protocol.RefillRequest(opened.id, SEED + 1, continues=True)
    assert opened.session.handle(onward)["reason"] == "continues: there was no output before"
    first = opened.output(SEED)
    for path in (opened.inputs(SEED + 1) / str(SEED + 1) / "p", opened.folder / "p.npy"):
        path.unlink()
    opened.ok(onward)
    forward, calls = opened.case._forward, []
    monkeypatch.setattr(opened.case, "_forward", lambda x: calls.append(x) or forward(x))
    found = opened.arrays(lambda *keys: protocol.OutputRequest(*keys, continues=True))
    assert set(found) == {"loss", "rows"}
    assert len(calls) == 1
    assert not (opened.folder / "p.npy").exists()
    assert np.array_equal(found["rows"][0], first["p"][0])


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.parametrize("small", [47, 48])
@pytest.mark.parametrize(
    ("mode", "options"), [("compile_graph", {}), ("combo_graph", {"combo_kernels": True})]
)
def test_the_compiler_s_options_for_a_step(session, tmp_path, monkeypatch, mode, options, small):
    """Arrays in place of up to `small` elements are returned anew, larger ones changed."""
    asked = []

    def compiled(function, _mode, **keys):
        asked.append(keys)
        return function

    monkeypatch.setattr(operator_training, "compiled", compiled)
    monkeypatch.setattr(operator_training, "_SMALL", small)
    operator = operators.write(tmp_path / "training", *RIGHT["training"])
    opened = open_ok(session, operator, mode)
    left, given = opened.case._whole_graph.result[0], opened.case._x[0]
    assert (left.data_ptr() == given.data_ptr()) == (small < 48)
    assert asked == 2 * [{"dynamic": None, **options}]
    opened.sample(SEED)
    assert near(opened.last(), open_ok(session, operator, "oracle").output(SEED), operator)


@pytest.mark.parametrize("device", ["cuda"])
def test_a_step_without_a_value_of_a_curve_is_another_program(session, tmp_path, monkeypatch):
    """The compiler leaves out what only curves need: a pass over the data of linreg_train."""
    returned: list[tuple[int, int]] = []

    def compiled(function, _mode, **_keys):
        def counted(inputs, number):
            found = function(inputs, number)
            returned.append((number, len(found)))
            return found

        return counted

    monkeypatch.setattr(operator_training, "compiled", compiled)
    source = "def step(p, x, step): return p - x * (step + 1), p[0]"
    arrays = [in_place("p", 6, 8), given("x", 6, 8), {**output("rows", 3, 8), "every": 2}]
    operator = operators.write(tmp_path / "rare", {"reference": source}, arrays, [], 5)
    opened = open_ok(session, operator, "compile_graph")
    assert returned[:5] == [(0, 2), (1, 1), (2, 2), (3, 1), (4, 2)]
    opened.sample(SEED)
    assert near(opened.last(), open_ok(session, operator, "oracle").output(SEED), operator)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("p - x", "step returned 1 values, expected 3: p, loss, rows"),
        ("p - x, p, p[0]", "loss has shape [5, 6, 8], expected [5]"),
        ("p - x, 1.5, p[0]", "reference.py:1: step: loss is of type float, expected a tensor"),
    ],
)
def test_a_step_that_returns_something_else(session, tmp_path, returned, said):
    files = {"reference": f"def step(p, x, rate, step): return {returned}"}
    operator = operators.write(tmp_path / "training", files, *RIGHT["training"][1:])
    assert said in Opened(session, operator, "eager").answer["reason"]


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("model(): pass", "model() is called as model(p): too many positional arguments"),
        ("model(p): pass", "model returned a NoneType, expected a torch.nn.Module"),
        ("model(p): return torch.nn.Linear(2, 1)", "have shapes [(1, 2), (1,)], expected p (6, 8)"),
        ("train(model, x, rate, step): return 1.5", "loss is of type float, expected a tensor"),
        ("train(model, x, rate, step): return 1, 2", "returned 2 values, expected 1: loss"),
        ("train(model, x, rate, step): pass", "train: loss is of type NoneType, expected"),
        ("train(model, x, rate, step): return x[:1, 0]", "loss has shape [5, 1], expected [5]"),
    ],
)
def test_a_model_that_is_something_else(session, tmp_path, function, said):
    files = {"reference": f"{dedent(operators.BUILT)}\ndef {function}"}
    operator = operators.write(tmp_path / "built", files, *RIGHT["built"][1:])
    reason = Opened(session, operator, "eager").answer["reason"]
    assert said in reason and re.match(r"\w+/reference\.py:\d+: (model|train)", reason)


@pytest.mark.parametrize("device", ["cpu"])
def test_a_model_of_another_layout_and_no_curve(session, tmp_path, device):
    """Both failed: `view size is not compatible`, and 1 value returned for 0."""
    source = """
        import torch
        def step(p, x, step): return p - x
        def model(p): return torch.nn.ParameterList([p.T.contiguous().T])
        def train(model, x, step):
            with torch.no_grad():
                model[0].sub_(x)
        """
    arrays = [in_place("p", 6, 8), given("x", 6, 8)]
    operator = operators.write(tmp_path / "bare", {"reference": source}, arrays, [], 5)
    opened = open_ok(session, operator, "eager")
    assert near(opened.output(SEED), open_ok(session, operator, "oracle").output(SEED), operator)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("None", "model: y is of type NoneType, expected a tensor"),
        ("(x, x)", "model returned 2 values, expected 1: y"),
        ("x[:1]", "model: y has shape [1, 8], expected [6, 8]"),
        ("(2 * x).T.contiguous().T", None),
    ],
)
def test_what_a_model_returns(session, tmp_path, returned, said):
    source = f"""
        import torch
        def reference(x, w): return 2 * x
        def model(w):
            net = torch.nn.Identity()
            net.forward = lambda x: {returned}
            return net
        """
    arrays = [given("x", 6, 8), {**given("w", 3), "stays": True}, output("y", 6, 8)]
    operator = operators.write(tmp_path / "net", {"reference": source}, arrays)
    opened = Opened(session, operator, "eager")
    if said is not None:
        assert opened.answer["reason"] == f"net/reference.py:4: {said}"
        return
    assert near(opened.output(SEED), open_ok(session, operator, "oracle").output(SEED), operator)


# ---- those of the project ----------------------------------------------------------------------------


def weights(shapes, lists):
    """Return W and b of each layer: all W, then all b, as lists, or in turn as arrays."""
    arrays = {"w": [], "b": []}
    for i, (n_out, n_in) in enumerate(shapes):
        fill = {"kind": "uniform", "low": -(n_in**-0.5), "high": n_in**-0.5}
        for name, shape in (("w", (n_out, n_in)), ("b", (n_out,))):
            of = {"list": name} if lists else {}
            array = given(f"{name}_{i}" if lists else f"{name}{i}", *shape, fill=fill)
            arrays[name].append({**array, **of})
    return (
        [*arrays["w"], *arrays["b"]]
        if lists
        else [x for pair in zip(*arrays.values(), strict=True) for x in pair]
    )


OURS = {
    # The last batch has 20 images.
    "mlp_train": ([(8, 784), (8, 8), (10, 8)], {"images": 200, "batch": 30, "steps": 7}, 0.1),
    "mnist_train": (
        [(16, 784), (16, 16), (16, 16), (10, 16)],
        {"images": 200, "batch": 16, "steps": 5},
        0.003,
    ),
}
MODES = "inference", "graph", "compile_graph", "combo_graph", "manual_graph"


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OURS)
def test_ours_train_alike_in_each_mode(session, tmp_path, monkeypatch, name, mode):
    shapes, params, rate = OURS[name]
    monkeypatch.setattr(operator_modes, "compiled", lambda function, mode: function)
    arrays = weights(shapes, lists=name == "mlp_train")
    operator = operators.mnist_training(
        tmp_path / name, name, arrays, params, [scalar("rate", rate)]
    )
    opened = Opened(session, operator, mode, params={**params, "rate": rate})
    assert opened.answer["status"] == "ok", opened.answer
    oracle = Opened(session, operator, "oracle", params={**params, "rate": rate})
    for seed, at_once in ((0, 1 << 20), (SEED, 100)):
        oracle.case._module.ORACLE_ELEMENTS = (
            at_once  # that of mnist_train changes some rows at a time
        )
        found, right = opened.output(seed), oracle.output(seed)
        for array, y in right.items():
            assert np.allclose(found[array], y, rtol=1e-4, atol=1e-6), array
