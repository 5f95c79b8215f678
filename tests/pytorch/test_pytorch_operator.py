"""Operators in the modes of PyTorch, on the CPU and as on a GPU, against their oracle."""

from importlib import import_module
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch
import operator_cases as operators  # noqa: E402
from operator_cases import (  # noqa: E402
    CASES,
    RIGHT,
    SEED,
    Opened,
    given,
    near,
    open_ok,
    output,
)

import forward  # noqa: E402
import host_to_host  # noqa: E402
import operator_modes  # noqa: E402
from kept import Kept  # noqa: E402
from workload import CaseError  # noqa: E402

IN_PLACE = [
    name
    for name, (_, arrays, *_) in RIGHT.items()
    if any(array["input"] and array["output"] for array in arrays)
]

every_mode = pytest.mark.parametrize(("device", "mode"), CASES)
every_operator = pytest.mark.parametrize("name", RIGHT)


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
        steps = operator["steps"] if operator.get("by_step") else 0
        assert captured == (1 if steps else 2 if name in IN_PLACE else 3)
        assert fake_gpu.before_captures == [steps]


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
    opened.case._model_of = lambda weights: built.append(weights) or build(weights)
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
    # Of a training the first step (before PyTorch 2.6 three), and one program for all others; and
    # nothing for new inputs.
    assert stats["unique_graphs"] in ((2, 4) if name == "training" else (1,))


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
