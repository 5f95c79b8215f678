"""Files that remember inputs or outputs of the run before, in a graph of many runs."""

from importlib import import_module
from itertools import pairwise
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import fake_gpu  # noqa: E402 -- these need NumPy and PyTorch
import operator_cases as operators  # noqa: E402
from operator_cases import Opened, given, output  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import forward  # noqa: E402
import protocol  # noqa: E402
from session import Session  # noqa: E402

COMPUTED = []
"""One for each time that a file computes: each takes 10 µs by the fake clock."""

HONEST = """
    GRAPH = True
    from test_pytorch_changing import COMPUTED
    def compute(x):
        COMPUTED.append(1)
        return 2 * x
    """
FILES = {
    "always": """
        def run(x):
            return compute(x)
        """,
    "by_input": """
        kept = []
        def run(x):
            if not kept or not torch.equal(kept[0], x):
                kept[:] = x.clone(), compute(x)
            return kept[1].clone()
        """,
    "by_output": """
        y = None
        left = None
        def run(x):
            global y, left
            if y is None or not torch.equal(y, left):
                y = compute(x) if y is None else y.copy_(compute(x))
                left = y.clone()
            return y
        """,
}
FILES["input"] = """
    def run(x):
        return x
    """
ARRAYS = [given("x", 30, 100), output("y", 30, 100)]
SEED = 2**40 + 3


class Event:
    def __init__(self, **_):
        self.at = 0

    def record(self):
        self.at = len(COMPUTED)

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return 1e-3 + (end.at - self.at) * 1e-2


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """Return a function that opens a case of one of the files above."""
    worker = Path(__file__).parents[2] / "reference_python"
    monkeypatch.syspath_prepend(worker)
    session = Session("cpu")
    modules = forward, import_module("changing")
    monkeypatch.setattr(session, "engine", "python")
    monkeypatch.setattr(session, "operator", import_module("candidate").CandidateWorkload)
    monkeypatch.setattr(session, "_device", fake_gpu.install(monkeypatch, *modules))
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(forward, "_REPEATED_NS", 80_000)

    def open_file(name, arrays=ARRAYS, **files):
        source = "\n".join(
            ["import torch", operators.dedent(HONEST), operators.dedent(FILES[name])]
        )
        files = {"reference": "def reference(x): return 2 * x", name: source, **files}
        case = Opened(session, operators.write(tmp_path / "twice", files, arrays), name)
        assert case.answer["status"] == "ok", case.answer
        return case

    return open_file


def fresh_of(case, budget_ns=10**11):
    case.inputs(SEED)
    request = protocol.SampleRequest(case.id, budget_ns, 5, 1, 0, fresh=SEED)
    return case.ok(request)["phases"]["forward_graph"]


@pytest.mark.parametrize("name", ["always", "by_input", "by_output"])
def test_what_a_file_gains_by_remembering_is_in_its_fresh_sample(opened, name):
    case = opened(name)
    *usual, fresh = fresh_of(case)
    if name == "always":
        assert set(usual) == {fresh}
    else:
        assert max(usual) < 1000
        assert fresh >= 10_000
    assert np.array_equal(case.last()["y"], case.output(SEED)["y"])


def test_no_graph_is_timed_on_an_idle_device(opened, monkeypatch):
    """A copy from the host waits for the device, which then has nothing to do until the launch."""
    changing = import_module("changing")
    case, did = opened("always"), []
    replay, time, fill = fake_gpu.Replay.replay, changing._time, changing.fill_randomly
    monkeypatch.setattr(
        fake_gpu.Replay, "replay", lambda graph: (did.append("replay"), replay(graph))
    )
    monkeypatch.setattr(changing, "_time", lambda *given: (did.append("timed"), time(*given))[1])
    monkeypatch.setattr(
        changing, "fill_randomly", lambda outputs: (did.append("fill"), fill(outputs))
    )
    case.case._changing.more_ns(case.case._events)
    before = [first for first, then in pairwise(did) if then == "timed"]
    assert before == ["replay", "replay"]
    assert did.index("fill") < did.index("timed")


class Copies(TorchDispatchMode):
    """The lengths of all copies."""

    def __init__(self):
        super().__init__()
        self.lengths = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        if operation is torch.ops.aten.copy_.default:
            self.lengths.append(args[0].numel())
        return operation(*args, **(kwargs or {}))


def test_both_graphs_copy_as_much_in_each_piece(opened):
    changing, lengths = opened("always").case._changing, []
    for rotated in (True, False):
        with Copies() as copies:
            changing._in_turns([[64], [3], [96]], rotated=rotated)
        lengths.append(copies.lengths)
    assert lengths[0] == lengths[1] != []


def test_inputs_are_restored_also_where_one_is_returned(opened):
    case = opened("input", reference="def reference(x): return x")
    assert len(set(fresh_of(case))) == 1
    assert torch.equal(case.case._x[0], case.case._x_host[0])
    assert np.array_equal(case.last()["y"], case.output(SEED)["y"])


def test_inputs_that_a_function_made_stay(opened):
    reference = """
        import torch
        def inputs(params, dtype):
            return [torch.rand(30, 100).cumsum(1)]
        def reference(x):
            return 2 * x
        """
    x = given("x", 30, 100, fill={"kind": "function", "low": 0, "high": 0})
    case = opened("by_input", [x, output("y", 30, 100)], reference=operators.dedent(reference))
    assert max(fresh_of(case)) < 1000
    assert np.array_equal(case.last()["y"], case.output(SEED)["y"])


def test_without_memory_for_a_copy_a_flag_says_so(opened, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (150_000, 1 << 30))
    case = opened("by_input")
    assert max(fresh_of(case)) < 1000
    (note,) = case.case.results()["notes"]
    assert note.startswith("check: forward_graph was not compared on changing inputs")


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 1023, 1024, 1025, 100_000])
def test_each_amount_is_another(opened, n):
    opened("always")
    amounts = import_module("changing")._amounts(torch.zeros(n), 16)
    assert len(amounts) == 16
    assert all(0 <= by < n for by in amounts)
    assert all(a != b for a, b in pairwise([0, *amounts])) == (n > 1)
    assert n < 1024 or all(by % 32 == 0 for by in amounts)


def test_the_only_sample_of_a_round_is_an_ordinary_one(opened):
    case = opened("always")
    ordinary, fresh = fresh_of(case, budget_ns=0)
    assert ordinary == fresh
