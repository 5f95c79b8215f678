"""The ways to run a file: as it is, captured by the harness, compiled; and why one is skipped."""

from importlib import import_module
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch
import operator_cases as operators  # noqa: E402
from conftest import WorkerProcess  # noqa: E402
from operator_cases import Opened, given, in_place, output  # noqa: E402

import forward  # noqa: E402
from session import Session  # noqa: E402

ROOT = Path(__file__).parents[2]
ARRAYS = [given("x", 30, 4), output("y", 30, 4)]
DOUBLE = "def run(x): return 2 * x\n"
REFERENCE = "def reference(x): return 2 * x"
NO_GRAPH = "it cannot be captured in a CUDA graph: "


class Capturing(fake_gpu.Replay):
    """A capture in which what waits for the GPU fails, as in a real one."""

    on = False

    def __init__(self, work):
        Capturing.on = True
        try:
            super().__init__(work)
        finally:
            Capturing.on = False


def wait():
    if Capturing.on:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nCompile")


class ElsewhereTwice(fake_gpu.Replay):
    """A capture of work on another stream, which is done once and is not in the graph."""

    def replay(self):
        pass


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """Return a function that opens a case of a file on a device that passes for a GPU."""
    monkeypatch.syspath_prepend(ROOT / "reference_python")
    session = Session("cpu")
    candidate, changing = import_module("candidate"), import_module("changing")
    monkeypatch.setattr(session, "engine", "python")
    monkeypatch.setattr(session, "operator", candidate.CandidateWorkload)
    monkeypatch.setattr(session, "_device", fake_gpu.install(monkeypatch, forward, changing))
    monkeypatch.setattr(forward, "capture", Capturing)
    left = []
    monkeypatch.setattr(candidate, "leave_capture", left.append)

    def open_file(source, variant="mine+graph", arrays=ARRAYS, reference=REFERENCE):
        files = {"reference": reference, "mine": "from test_python_ways import wait\n" + source}
        operator = operators.write(tmp_path / "op", files, arrays)
        case = Opened(session, operator, variant)
        case.left = left
        return case

    return open_file


def compiling(monkeypatch):
    """Have the compiler return functions that count themselves."""
    ran = []

    def compiled(function, mode, **_keys):
        def run(x):
            ran.append(mode)
            return function(x)

        return run

    monkeypatch.setattr(forward, "compiled", compiled)
    return ran


def test_a_file_is_captured_by_the_harness(opened):
    case = opened(DOUBLE)
    assert case.answer["status"] == "ok", case.answer
    assert "forward_graph" in case.answer["phases"]
    plain = opened(DOUBLE, "mine")
    for seed in (0, 7):
        assert np.array_equal(case.output(seed)["y"], plain.output(seed)["y"])


@pytest.mark.parametrize(
    "source, variant, has_graph",
    [
        (DOUBLE, "mine", False),
        ("GRAPH = True\n" + DOUBLE, "mine", True),
        ("GRAPH = False\n" + DOUBLE, "mine", False),
        (DOUBLE, "mine+compile", True),
    ],
)
def test_what_is_captured(opened, monkeypatch, source, variant, has_graph):
    ran = compiling(monkeypatch)
    case = opened(source, variant)
    assert case.answer["status"] == "ok", case.answer
    assert ("forward_graph" in case.answer["phases"]) == has_graph
    assert set(ran) == ({"max-autotune-no-cudagraphs"} if "compile" in variant else set())


SKIPPED = {
    "GRAPH = True": (
        "mine+graph",
        "the file has GRAPH = True: its runs are captured without +graph",
    ),
    "GRAPH = False": ("mine+graph", "the file has GRAPH = False: it is never captured"),
    "GRAPH = bool(0)": ("mine+compile", "the file has GRAPH = False: it is never captured"),
    "COMPILE = False": ("mine+compile", "the file has COMPILE = False: it is never compiled"),
}


@pytest.mark.parametrize("setting", SKIPPED)
def test_a_file_says_how_it_is_not_run(opened, setting):
    variant, reason = SKIPPED[setting]
    answer = opened(f"{setting}\n{DOUBLE}", variant).answer
    assert answer["status"] == "skipped"
    assert answer["reason"].startswith(reason)


def test_the_changing_inputs_are_those_of_the_compiled_function(opened, monkeypatch):
    ran = compiling(monkeypatch)
    case = opened(DOUBLE, "mine+compile").case
    before = len(ran)
    with case.grad_mode():
        case._changing.more_ns(case._events)
    assert len(ran) > before


@pytest.mark.parametrize("by", ["harness", "file"])
def test_what_waits_for_the_gpu_is_skipped_and_others_go_on(opened, by):
    setting, variant = ("", "mine+graph") if by == "harness" else ("GRAPH = True", "mine")
    case = opened(f"def run(x):\n    wait()\n    return 2 * x\n{setting}", variant)
    assert case.answer["status"] == "skipped"
    reason = (
        "it waits for the GPU, or allocates past PyTorch (op/mine.py:3: RuntimeError: "
        "CUDA error: operation not permitted when stream is capturing)"
    )
    assert case.answer["reason"] == NO_GRAPH + reason
    assert len(case.left) == 1
    assert opened(DOUBLE).answer["status"] == "ok"


def test_what_fails_on_another_stream_is_skipped(opened, monkeypatch):
    """A graph needs a run on a stream of its own before it is captured."""

    def run_on_side_stream(_work, **_keys):
        raise RuntimeError("only on the default stream")

    monkeypatch.setattr(forward, "run_on_side_stream", run_on_side_stream)
    answer = opened(DOUBLE).answer
    assert answer["status"] == "skipped"
    assert answer["reason"] == f"{NO_GRAPH}RuntimeError: only on the default stream"


@pytest.mark.parametrize("how", ["anywhere", "in_place"])
def test_work_that_is_not_in_the_graph_is_skipped(opened, monkeypatch, how):
    monkeypatch.setattr(forward, "capture", ElsewhereTwice)
    if how == "in_place":
        case = opened("def run(x): x.mul_(2)", arrays=[in_place("x", 30, 4)])
    else:
        case = opened(DOUBLE)
    assert case.answer["status"] == "skipped"
    assert case.answer["reason"].startswith(NO_GRAPH + "a replay gives another ")


MADE = """
    import torch
    def inputs(params, dtype):
        return [torch.rand(30, 4)]
    def reference(x):
        return 2 * x
    """


@pytest.mark.parametrize("fill", ["normal", "function"])
def test_a_graph_that_has_kept_its_inputs_is_skipped(opened, monkeypatch, fill):
    """A first kernel on another stream ran during the capture: what follows repeats its result."""

    class Half(fake_gpu.Replay):
        def __init__(self, work):
            super().__init__(work)
            self.first = self.result[0].clone()

        def replay(self):
            self.result[0].copy_(self.first)

    monkeypatch.setattr(forward, "capture", Half)
    x = given("x", 30, 4, fill={"kind": fill, "low": 0, "high": 1})
    case = opened(DOUBLE, arrays=[x, ARRAYS[1]], reference=operators.dedent(MADE))
    assert "another y than a call" in case.answer["reason"]


def test_a_function_on_its_inputs_array_is_captured_in_place(opened):
    case = opened("def run(x): x.mul_(2)", arrays=[in_place("x", 30, 4)])
    assert case.answer["status"] == "ok", case.answer
    assert np.array_equal(case.output(3)["x"], 2 * case.case._inputs.tensors()[0].numpy())


def test_no_memory_in_a_capture_is_no_lack_of_graphs(opened, monkeypatch):
    def capture(_work):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried")

    monkeypatch.setattr(forward, "capture", capture)
    answer = opened(DOUBLE).answer
    assert answer["status"] == "skipped"
    assert answer["reason"].startswith("does not fit into device memory")


def test_names_of_ways(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "reference_python")
    ways = import_module("ways").Ways(("a", "b+graph"))
    assert [
        ways.split(name) for name in ("a", "a+graph", "a+compile", "b+graph", "b+graph+graph")
    ] == [
        ("a", ""),
        ("a", "+graph"),
        ("a", "+compile"),
        ("b+graph", ""),
        ("b+graph", "+graph"),
    ]
    assert "a+graph" in ways
    assert "b" not in ways
    assert "c+graph" not in ways


# ---- on the CPU ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def worker():
    started = WorkerProcess("cpu", program=ROOT / "reference_python" / "worker.py")
    started.hello()
    yield started
    started.stop()


CPU = {
    "+graph": (DOUBLE, "CUDA graphs need a GPU"),
    "+compile": (
        "def run(x):\n    return 2 * x if x.sum() > 0 else x + x\n",
        "torch.compile cannot make one graph of it: op/mine.py:2: ",
    ),
}


@pytest.mark.parametrize("way", CPU)
def test_a_way_that_is_not_possible_is_skipped(worker, tmp_path, way):
    source, reason = CPU[way]
    operator = operators.write(tmp_path / "op", {"reference": REFERENCE, "mine": source}, ARRAYS)
    answer = worker.open("mine" + way, workload="op", engine="python", operator=operator)
    assert answer["status"] == "skipped"
    assert answer["reason"].startswith(reason)
