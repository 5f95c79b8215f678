"""Operators in the modes of PyTorch, on the CPU and as on a GPU, against their oracle."""

import math
import sys
from importlib import import_module
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch
import operator_cases as operators  # noqa: E402
from operator_cases import EPS, PARAMS, RIGHT, Opened, given, output  # noqa: E402

import forward  # noqa: E402
import host_to_host  # noqa: E402
import operator_modes  # noqa: E402
import operator_training  # noqa: E402
import protocol  # noqa: E402
import user_file  # noqa: E402
from kept import Kept  # noqa: E402
from session import Session  # noqa: E402
from workload import CaseError  # noqa: E402

SEED = 987654321
COMPILING = forward, host_to_host, operator_training
CASES = [
    *(("cpu", mode) for mode in ("eager", "inference")),
    *(("cuda", mode) for mode in ("eager", "inference", "graph", "compile_graph")),
]
IN_PLACE = [
    name
    for name, (_, arrays, *_) in RIGHT.items()
    if any(array["input"] and array["output"] for array in arrays)
]

every_mode = pytest.mark.parametrize(("device", "mode"), CASES)
every_operator = pytest.mark.parametrize("name", RIGHT)


@pytest.fixture
def device():
    """Return the device of tests that are not for both."""
    return "cpu"


@pytest.fixture
def session(monkeypatch, device):
    session = Session("cpu")
    if device == "cuda":
        monkeypatch.setattr(session, "_device", fake_gpu.install(monkeypatch, *COMPILING))
        monkeypatch.setattr(session, "prepare", lambda _request: None)
    return session


def open_ok(session, operator, variant):
    opened = Opened(session, operator, variant)
    assert opened.answer["status"] == "ok", opened.answer
    return opened


def near(found, expected, operator):
    arrays = {array["name"]: array for array in operator["arrays"]}
    assert set(found) == set(expected)
    for name, y in found.items():
        assert y.shape == expected[name].shape == tuple(arrays[name]["shape"])
        tolerance = EPS[arrays[name]["dtype"]]
        if not np.allclose(y, expected[name], rtol=tolerance, atol=tolerance):
            return False
    return True


@every_mode
@every_operator
def test_every_run_computes_the_reference(session, tmp_path, name, mode):
    """Also after other runs, with new inputs, and for in-place arrays that they have changed."""
    operator = operators.write(tmp_path / name, *RIGHT[name])
    oracle = open_ok(session, operator, "oracle")
    opened = open_ok(session, operator, mode)
    captured = fake_gpu.Replay.captured
    as_opened, refilled = oracle.output(), oracle.output(SEED)
    assert not near(as_opened, refilled, operator)
    for _ in range(2):
        assert near(opened.output(), as_opened, operator)
        phases = opened.sample(SEED)
        assert set(phases) == set(opened.answer["phases"])
        assert near(opened.last(), refilled, operator)
        assert near(opened.output(SEED), refilled, operator)
    assert near(oracle.output(), as_opened, operator), "the shared inputs are as they were"
    assert fake_gpu.Replay.captured == captured
    if "graph" in mode:
        assert captured == (2 if name in IN_PLACE else 3)


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


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.parametrize("mode", ["graph", "compile_graph", "overlap", "compile_overlap", "mapped"])
def test_many_forward_passes_in_a_graph_give_the_time_of_one(session, tmp_path, mode, monkeypatch):
    monkeypatch.setattr(operator_modes, "device_view", lambda host: host)
    case = open_ok(session, operators.mlp(tmp_path / "mlp", 33), mode).case
    passes = case._n_repeats
    assert passes == 256  # each takes a microsecond by the fake clock, and 400 µs are the aim
    by_phase = {phase: ns for probe in case.probes for phase, ns in probe().ns.items()}
    assert by_phase["forward_graph"] == 1000 / passes
    assert case.phases["forward_graph"] == "device"
    module, calls = operator_modes.load(case._inputs.operator, "reference"), []
    linear = module.linear
    monkeypatch.setattr(module, "linear", lambda *given: (calls.append(1), linear(*given))[1])
    with case.grad_mode():
        case._repeated.replay()
    assert len(calls) == 2 * passes


@pytest.mark.parametrize("asks", [True, False])
def test_an_implementation_may_ask_for_graphs(session, tmp_path, monkeypatch, asks):
    source = f"GRAPH = {asks}\ndef run(x): return x + 1"
    files = {"reference": "def reference(x): return x + 1", "mine": source}
    operator = operators.write(tmp_path / "add", files, [given("x", 6, 8), output("y", 6, 8)])
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "reference_python")
    monkeypatch.setattr(session, "engine", "python")
    monkeypatch.setattr(session, "operator", import_module("candidate").CandidateWorkload)
    modules = forward, import_module("changing")
    monkeypatch.setattr(session, "_device", fake_gpu.install(monkeypatch, *modules))
    mine = open_ok(session, operator, "mine")
    assert ("forward_graph" in mine.answer["phases"]) == asks
    assert fake_gpu.Replay.captured == (6 if asks else 0)
    before, after = mine.output()["y"], mine.output(SEED)["y"]
    assert not np.array_equal(before, after)
    mine.sample(SEED)
    assert np.array_equal(mine.last()["y"], after)


def test_no_untimed_run_sees_the_inputs_of_a_fresh_sample(session, tmp_path, monkeypatch):
    """Else a function could compute then, and find the result when it is timed."""
    operator = operators.write(tmp_path / "softmax", *RIGHT["softmax"])
    opened = open_ok(session, operator, "eager")
    seen, filled, leave_random = [], [], opened.case.leave_random
    forward_of = opened.case._forward

    def watched(x):
        seen.append(float(x[0].flatten()[0]))
        return forward_of(x)

    def watched_fill():
        leave_random()
        filled.append(seen[-1])

    before = float(opened.case._upload()[0].flatten()[0])
    monkeypatch.setattr(opened.case, "_forward", watched)
    monkeypatch.setattr(opened.case, "leave_random", watched_fill)
    opened.sample(SEED)
    assert filled[0] == before
    assert seen[-1] == float(opened.case._upload()[0].flatten()[0]) != before


@every_mode
def test_phases_are_those_of_inference(session, tmp_path, device, mode):
    copies = {"h2d", "d2h", "forward_device"} if device == "cuda" else set()
    expected = {"forward", "total", "residual", "host_to_host", *copies}
    for name in ("gelu", "softmax"):
        operator = operators.write(tmp_path / name, *RIGHT[name])
        # A second pass over an array in place would compute something else.
        repeated = {"forward_graph"} if "graph" in mode and name not in IN_PLACE else set()
        phases = open_ok(session, operator, mode).answer["phases"]
        assert set(phases) == expected | repeated


@every_mode
def test_an_in_place_array_is_fresh_before_each_clock_starts(session, tmp_path, mode, monkeypatch):
    operator = operators.write(tmp_path / "add", *RIGHT["add"])
    opened = open_ok(session, operator, mode)
    case, uploads, real = opened.case, [], opened.case._upload
    expected = np.fromfile(opened.inputs(0) / "0" / "x", np.float32).reshape(6, 8)

    def upload():
        x = real()
        uploads.append(np.array_equal(x[0].numpy(), expected))
        return x

    monkeypatch.setattr(case, "_upload", upload)
    for probe in case.probes:
        probe()
        probe()
    assert uploads
    assert all(uploads)


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.parametrize("mode", ["eager", "inference", "graph"])
def test_weights_are_copied_once(session, tmp_path, mode):
    """And again after a refill; each run copies the other inputs."""
    operator = operators.write(tmp_path / "weights", *RIGHT["weights"])
    case = open_ok(session, operator, mode).case
    _, w = case._upload()
    kept = w.clone()
    case._sources[0].fill_(1)
    if mode != "eager":  # which copies to new memory, on a GPU
        case._sources[1].fill_(1)
    x, again = case._upload()
    assert (x == 1).all()
    assert again is w
    assert torch.equal(w, kept)


@pytest.mark.parametrize("mode", ["eager", "inference"])
def test_eager_builds_a_model_in_each_sample(session, tmp_path, mode):
    operator = operators.write(tmp_path / "modelled", *RIGHT["modelled"])
    opened = open_ok(session, operator, mode)
    built, build = [], getattr(opened.case, "_model_of", None)
    opened.case._model_of = lambda w, *, cols: built.append(w) or build(w, cols=cols)
    phases = opened.sample(SEED)
    assert ("init" in phases) == (len(built) > 1) == (mode == "eager")


@pytest.mark.parametrize("mode", ["eager", "inference", "compile", "oracle"])
def test_modes_that_compile_are_told(session, tmp_path, mode):
    source = "def reference(x, *, fused): return x + 2 * fused"
    arrays = [operators.given("x", 5), operators.output("y", 5)]
    opened = Opened(
        session, operators.write(tmp_path / "told", {"reference": source}, arrays), mode
    )
    found = opened.output()["y"] - opened.case._inputs.arrays[0]
    assert np.allclose(found, 2 * (mode == "compile"), atol=1e-6)


@pytest.fixture
def in_parts(monkeypatch):
    """Cut six rows into four and two."""
    for name in ("equal_chunks", "shrinking_chunks"):
        monkeypatch.setattr(host_to_host, name, lambda *_: [4, 2])


hiding = pytest.mark.parametrize(
    ("mode", "name"),
    [
        ("overlap", "parts"),
        ("compile_overlap", "parts"),
        *(("mapped", name) for name in ("softmax_f16", "layer_norm", "linear", "weights")),
    ],
)


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.usefixtures("in_parts")
@hiding
def test_modes_that_hide_copies_compute_the_reference(session, tmp_path, monkeypatch, mode, name):
    mapped = []
    monkeypatch.setattr(operator_modes, "device_view", lambda host: (mapped.append(host), host)[1])
    operator = operators.write(tmp_path / name, *RIGHT[name])
    oracle, opened = open_ok(session, operator, "oracle"), open_ok(session, operator, mode)
    captured = fake_gpu.Replay.captured
    for seed in (0, SEED, 0):
        assert near(opened.output(seed), oracle.output(seed), operator)
    phases = opened.sample(SEED)
    assert near(opened.last(), oracle.output(SEED), operator)
    assert fake_gpu.Replay.captured == captured
    copies = {"h2d", "d2h"} if mode != "mapped" else set()
    repeated = {"forward_graph"} if name not in IN_PLACE else set()
    whole = {"forward", "forward_device", "total", "residual", "host_to_host"}
    assert set(phases) == whole | copies | repeated
    arrays = [a for a in operator["arrays"] if not a.get("stays")]
    assert len(mapped) == (len(arrays) if mode == "mapped" else 0)


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.usefixtures("in_parts")
def test_chunks_are_of_what_is_cut_and_the_rest_is_copied_before(session, tmp_path):
    case = open_ok(session, operators.write(tmp_path / "parts", *RIGHT["parts"]), "overlap").case
    v, w, u, x = case._x_host
    assert [[len(host) for _, host in chunk.copies] for chunk in case._chunks] == [[4, 4], [2, 2]]
    assert [len(y) for chunk in case._chunks for y in chunk.y_host] == [4, 2]
    for array in (v, w, u, x):
        array.fill_(1)
    staying = case._x[1].clone()
    assert not (staying == 1).any()
    with case.timed() as run:
        (y,) = run()
    assert torch.allclose(y, 2 + staying.sum(-1).expand(6, 3))


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.parametrize(
    ("mode", "name", "reason"),
    [
        ("overlap", "softmax", "no input is copied in parts: there are no copies to overlap"),
        ("mapped", "add", "mapped memory: a run would change the input x itself"),
        ("mapped", "argmax", "polling: found the output y of i64, expected f32 or f16"),
    ],
)
def test_modes_that_hide_copies_are_skipped_with_the_reason(session, tmp_path, mode, name, reason):
    answer = Opened(session, operators.write(tmp_path / name, *RIGHT[name]), mode).answer
    assert (answer["status"], answer["reason"]) == ("skipped", reason)


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.parametrize("missing", [0, 1])
def test_every_output_is_polled(session, tmp_path, monkeypatch, missing):
    monkeypatch.setattr(operator_modes, "device_view", lambda host: host)
    operator = operators.write(tmp_path / "layer_norm", *RIGHT["layer_norm"])
    case = open_ok(session, operator, "mapped").case
    monkeypatch.setattr(host_to_host, "_POLL_MOST_NS", 0)
    for polled in case._polled:
        polled.fill()
    case._y_host[1 - missing].fill_(0)
    with pytest.raises(CaseError, match="^the kernel ended without writing every output$"):
        case._wait()
    case._y_host[missing].fill_(0)
    case._wait()


@pytest.mark.parametrize("device", ["cuda"])
@pytest.mark.usefixtures("in_parts")
def test_rows_alone_must_give_rows(session, tmp_path):
    arrays = [{**given("x", 6, 8), "cut": True}, {**output("y", 6, 8), "cut": True}]
    source = "def reference(x): return x[:1].expand(6, 8)"
    operator = operators.write(tmp_path / "first", {"reference": source}, arrays)
    reason = Opened(session, operator, "overlap").answer["reason"]
    assert reason == "output: of 4 rows alone found the shape [6, 8], expected [4, 8]"


def test_each_probe_begins_with_outputs_that_it_has_to_write():
    """Otherwise one that writes nothing would pass with what the one before left."""
    events = []

    class Case:
        def _host_to_host(self):
            events.append("host_to_host")

        def _phased(self):
            events.append("phased")

        def leave_random(self):
            events.append("random")

        def keep(self):
            return Kept([], torch.device("cpu"), lambda _outputs: {})

        _output_of = forward.ForwardCase._output_of
        _expect_same = forward.ForwardCase._expect_same

    case = Case()
    case.probes = [case._phased, case._host_to_host]
    case._compared_probe = case.probes[1]
    assert forward.ForwardCase.output(case) == {}
    assert events == ["random", "host_to_host", "random", "phased"]


@pytest.mark.parametrize(
    "name",
    [
        "softmax",
        *(pytest.param(x, marks=pytest.mark.long) for x in ("layer_norm", "gelu", "linear", "add")),
        pytest.param("training", marks=pytest.mark.long),
    ],
)
def test_the_compiled_mode_computes_the_reference(session, tmp_path, name):
    operator = operators.write(tmp_path / name, *RIGHT[name])
    stats = import_module("torch._dynamo.utils").counters["stats"]
    stats.clear()
    opened = open_ok(session, operator, "compile")
    assert opened.answer["once_ns"]["compile"] > 0
    oracle = open_ok(session, operator, "oracle")
    opened.sample(SEED)
    assert near(opened.last(), oracle.output(SEED), operator)
    # Of a training the first step, and one program for all others; and nothing for new inputs.
    assert stats["unique_graphs"] == (2 if name == "training" else 1)


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
    assert asked == [{"dynamic": None, **options}]
    opened.sample(SEED)
    assert near(opened.last(), open_ok(session, operator, "oracle").output(SEED), operator)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("p - x", "step returned 1 values, expected 3: p, loss, rows"),
        ("p - x, p, p[0]", "loss has shape [5, 6, 8], expected [5]"),
    ],
)
def test_a_step_that_returns_something_else(session, tmp_path, returned, said):
    files = {"reference": f"def step(p, x, rate, step): return {returned}"}
    operator = operators.write(tmp_path / "training", files, *RIGHT["training"][1:])
    assert said in Opened(session, operator, "eager").answer["reason"]


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


def test_integer_outputs_of_the_oracle_are_64_bits(session, tmp_path):
    source = "import torch\ndef reference(x): return x.argmax(-1).to(torch.int32)"
    arrays = [operators.given("x", 6, 8), operators.output("y", 6, dtype="i32")]
    operator = operators.write(tmp_path / "argmax", {"reference": source}, arrays)
    assert open_ok(session, operator, "oracle").output()["y"].dtype == np.int64
    assert open_ok(session, operator, "eager").output()["y"].dtype == np.int32


@pytest.mark.parametrize(
    ("dtype", "stored"),
    [("bf16", "f4"), ("f16", "f2"), ("f64", "f8"), ("u8", "i4"), ("bool", "i4")],
)
def test_outputs_are_of_types_that_the_supervisor_reads(session, tmp_path, dtype, stored):
    fill = {"kind": "integers", "low": 0, "high": 2}
    arrays = [
        operators.given("x", 5, dtype=dtype, fill=fill),
        operators.output("y", 5, dtype=dtype),
    ]
    operator = operators.write(
        tmp_path / "same", {"reference": "def reference(x): return x.clone()"}, arrays
    )
    opened = open_ok(session, operator, "eager")
    y = opened.output()["y"]
    assert y.dtype == np.dtype(stored)
    assert np.array_equal(y, open_ok(session, operator, "oracle").output()["y"])


def test_scale_is_written_beside_its_output_and_is_none(session, tmp_path):
    operator = operators.write(tmp_path / "softmax", *RIGHT["softmax"])
    opened = open_ok(session, operator, "oracle")
    assert set(opened.output()) == {"y"}
    scale = np.load(opened.folder / "y.scale.npy")
    assert (scale.dtype, scale.size, float(scale.reshape(-1)[0])) == (np.float64, 1, 0.5)


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


def test_cases_without_operators_name_a_workload_that_is_built_in(session, tmp_path):
    operator = operators.write(tmp_path / "softmax", *RIGHT["softmax"])
    other = {**operator, "name": "softmin"}
    answer = Opened(session, other, "eager", workload="softmax").answer
    assert answer["reason"] == "workload: expected softmin, found softmax"
    answer = Opened(session, operator, "fast").answer
    assert answer["reason"] == (
        "variant: expected eager or inference or compile or graph or compile_graph or combo_graph "
        "or manual_graph or dataloader or overlap or compile_overlap or mapped or oracle, found fast"
    )


@pytest.mark.parametrize(
    ("device", "modes"),
    [
        ("cpu", None),
        (
            "cuda",
            [
                "compile",
                "compile_graph",
                "combo_graph",
                "manual_graph",
                "compile_overlap",
                "mapped",
            ],
        ),
    ],
)
def test_only_on_a_gpu_the_compiler_chooses_by_timing(session, modes):
    assert session.compiles().get("operator") == modes
