"""The engine python: files beside an operator's reference, right, wrong and cheating."""

import os
import re
from pathlib import Path
from textwrap import dedent

import made_inputs
import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("torch")
import operator_cases as operators  # noqa: E402 -- these need NumPy and PyTorch
from conftest import WorkerProcess  # noqa: E402
from operator_cases import CHANGES, Opened, given, in_place, output  # noqa: E402

from session import Session  # noqa: E402

PYTHON_WORKER = Path(__file__).parents[2] / "reference_python" / "worker.py"
COPY = "def reference(x): return x.clone()"
TRIPLED = "def reference(x): return x * 3"
ARRAYS = [given("x", 4, 3), output("y", 4, 3)]


@pytest.fixture
def session():
    """Return a session of PyTorch, for the oracle."""
    return Session("cpu")


class Candidate:
    """A file run by the engine python, in a worker of its own."""

    def __init__(self, worker, operator, variant):
        self.worker, self.folder = worker, Path(operator["folder"])
        made_inputs.make(Path(f"{self.folder}.inputs"), operator["arrays"], 42, 7)
        self.answer = worker.open(
            variant,
            workload=operator["name"],
            engine="python",
            params={"cols": 3},
            operator=operator,
        )
        self.id = self.answer["id"]

    def arrays(self, op):
        answer = self.worker.ask(op, id=self.id, path=str(self.folder))
        if answer["status"] != "ok":
            return answer
        return {name: np.load(self.folder / f"{name}.npy") for name in answer["arrays"]}


@pytest.fixture(scope="module")
def python_worker():
    worker = WorkerProcess("cpu", program=PYTHON_WORKER)
    hello = worker.hello()
    assert (hello["engine"], hello["capabilities"]) == ("python", {})
    yield worker
    worker.stop()


@pytest.fixture
def opened(python_worker, tmp_path):
    def open_case(source, arrays=ARRAYS, reference=COPY, **keys):
        files = {"reference": reference, "mine": source}
        operator = operators.write(tmp_path / "op", files, arrays, **keys)
        return Candidate(python_worker, operator, "mine"), operator

    return open_case


def test_an_implementation_is_sampled_and_its_output_kept(opened, session):
    case, operator = opened("def run(x):\n    print('working')\n    return x * 1\n")
    expected = Opened(session, operator, "oracle")
    assert set(case.answer["phases"]) == {"forward", "total", "residual", "host_to_host"}
    assert np.allclose(case.arrays("output")["y"], expected.output()["y"])
    assert case.worker.sample(case.id, fresh=7)["status"] == "ok"
    assert np.allclose(case.arrays("last")["y"], expected.output(7)["y"])
    assert case.worker.ask("audit", id=case.id, runs=3)["phase"] == "host_to_host"


def test_what_others_import_is_no_implementation(python_worker, tmp_path):
    files = {
        "reference": COPY,
        "mine": "def run(x): return x\n",
        "_shared": "def run(x): return x\n",
    }
    operator = operators.write(tmp_path / "op", files, ARRAYS)
    answer = Candidate(python_worker, operator, "_shared").answer
    assert answer["status"] != "ok"
    assert "_shared" in answer["reason"]


@pytest.mark.parametrize("result", ["None", "x"])
def test_an_in_place_implementation_returns_its_array_or_nothing(opened, session, result):
    reference = "def reference(x): return x * 2"
    source = f"def run(x):\n    x.mul_(2)\n    return {result}\n"
    case, operator = opened(source, [in_place("x", 4, 3)], reference)
    oracle = Opened(session, operator, "oracle")
    for _ in range(2):
        assert case.worker.sample(case.id, fresh=7)["status"] == "ok"
        assert np.allclose(case.arrays("last")["x"], oracle.output(7)["x"])
        assert np.allclose(case.arrays("output")["x"], oracle.output(7)["x"])


def test_an_implementation_gets_the_state_of_the_reference(opened, session):
    reference = operators.dedent(operators.LINEAR)
    source = "def run(x, state):\n    return x @ state.weight.T + state.bias\n"
    arrays = [given("x", 4, 3), output("y", 4, 3)]
    case, operator = opened(source, arrays, reference)
    oracle = Opened(session, operator, "oracle", params={"cols": 3})
    assert np.allclose(case.arrays("output")["y"], oracle.output()["y"], atol=1e-6)


CHEATS_IN_PLACE = {
    "once": """
        done = []
        def run(x):
            if not done:
                done.append(x.mul_(2))
        """,
    "elsewhere": """
        kept = []
        def run(x):
            if not kept:
                kept.append(x * 2)
            return kept[0]
        """,
}


@pytest.mark.parametrize("how", CHEATS_IN_PLACE)
def test_an_in_place_array_that_is_not_computed_anew_is_wrong(opened, session, how):
    case, operator = opened(
        CHEATS_IN_PLACE[how], [in_place("x", 4, 3)], "def reference(x): return x * 2"
    )
    assert case.worker.sample(case.id, fresh=7)["status"] == "ok"
    expected = Opened(session, operator, "oracle").output(7)["x"]
    assert not np.allclose(case.arrays("last")["x"], expected, atol=0.1)


def test_wrong_values_are_reported_as_they_are(opened, session):
    case, operator = opened("def run(x): return x + 1")
    apart = case.arrays("output")["y"] - Opened(session, operator, "oracle").output()["y"]
    assert np.allclose(apart, 1)


def test_a_result_that_is_kept_from_an_earlier_call_is_overwritten(opened, session):
    source = """
        kept = []
        def run(x):
            if not kept:
                kept.append(x * 1)
            return kept[0]
        """
    case, operator = opened(source)
    expected = Opened(session, operator, "oracle").output()["y"]
    answer = case.arrays("output")
    assert (
        "differ" in answer["reason"]
        if "reason" in answer
        else not np.allclose(answer["y"], expected)
    )


def test_a_version_does_not_tell_which_inputs_are_new(opened):
    """A file that computes only where PyTorch's count of writes has grown computes in each run."""
    source = """
        kept = {}
        def run(x):
            if x._version not in kept:
                kept[x._version] = x.clone()
                print("computed", file=open(__file__ + ".log", "a"))
            return kept[x._version]
        """
    case, _ = opened(source)
    log = case.folder / "mine.py.log"
    before = len(log.read_text().splitlines())
    taken = case.worker.sample(case.id, max_samples=3)
    runs = sum(len(taken["phases"][phase]) for phase in ("forward", "host_to_host"))
    assert len(log.read_text().splitlines()) - before >= runs


def test_an_array_that_is_not_in_place_may_not_be_changed_later(opened):
    """It is compared whenever an output is read, not only when the case is opened."""
    source = """
        calls = []
        def run(x):
            calls.append(1)
            return x.mul_(1.5).clone() if len(calls) > 8 else x.clone()
        """
    case, _ = opened(source)
    assert case.answer["status"] == "ok"
    for _ in range(4):
        case.worker.sample(case.id, fresh=7)
    assert case.arrays("output")["reason"] == f"op/mine.py:3: run {CHANGES}"


BAD_IMPLEMENTATIONS = {
    "none": ("def forward(x): return x", "failed", "op/mine.py: no function run"),
    "changes": ("def run(x): return x.mul_(2)", "failed", f"op/mine.py:1: run {CHANGES}"),
    "nothing": (
        "def run(x): pass",
        "failed",
        "op/mine.py:1: run: y is of type NoneType, expected a tensor",
    ),
    "elsewhere": (
        "def run(x): return x.to('meta')",
        "failed",
        "op/mine.py:1: run: y is on the device meta, expected cpu",
    ),
    "raises": (
        "def run(x):\n    return x / undefined",
        "failed",
        "op/mine.py:2: NameError: name 'undefined' is not defined",
    ),
    "compiler": (
        "import torch\nimport no_such_compiler",
        "skipped",
        "op/mine.py:2: no_such_compiler is not installed for this Python",
    ),
    "out of memory": (
        "import torch\ndef run(x): return torch.empty(1 << 50)",
        "skipped",
        "does not fit into host memory: .*",
    ),
}


@pytest.mark.parametrize("what", BAD_IMPLEMENTATIONS)
def test_a_bad_implementation_has_its_reason(opened, what):
    source, status, reason = BAD_IMPLEMENTATIONS[what]
    case, _ = opened(source)
    assert case.answer["status"] == status
    assert re.fullmatch(reason, case.answer["reason"]), case.answer["reason"]


def test_a_file_may_have_the_name_of_what_it_imports(python_worker, tmp_path):
    source = "import wave\ndef run(x): return x * wave.WAVE_FORMAT_PCM"
    files = {"reference": COPY, "wave": source}
    operator = operators.write(tmp_path / "op", files, ARRAYS)
    assert Candidate(python_worker, operator, "wave").answer["status"] == "ok"


def test_variants_are_the_files_beside_the_reference(python_worker, tmp_path):
    files = {"reference": COPY, "one": "", "two": ""}
    operator = operators.write(tmp_path / "op", files, ARRAYS)
    reason = "variant: expected one or two, found reference"
    assert Candidate(python_worker, operator, "reference").answer["reason"] == reason
    missing = {**operator, "folder": str(tmp_path / "none")}
    reason = f"operator.folder: {tmp_path}/none is not a folder"
    assert Candidate(python_worker, missing, "one").answer["reason"] == reason


def test_an_implementation_may_take_params(opened):
    case, _ = opened("def run(x, params): return x * params['cols']", reference=TRIPLED)
    assert case.answer["status"] == "ok", case.answer


def test_what_a_file_builds_is_a_cost_of_its_own(opened):
    """The call does not get as far as compiling, which takes minutes."""
    source = """
        from torch.utils import cpp_extension
        try:
            cpp_extension._jit_compile("my_extension")
        except TypeError:
            pass
        def run(x): return x * 1
        """
    case, _ = opened(source)
    assert case.answer["status"] == "ok", case.answer
    assert case.answer["once_ns"]["build"] > 0
    case, _ = opened("def run(x): return x * 1")
    assert "build" not in case.answer["once_ns"]


def test_extensions_of_one_name_are_built_in_folders_of_their_own(tmp_path, monkeypatch, capfd):
    monkeypatch.syspath_prepend(PYTHON_WORKER.parent)
    from torch.utils import cpp_extension

    import extensions

    built = []
    monkeypatch.setattr(
        cpp_extension,
        "_jit_compile",
        lambda name, *_, **__: built.append((name, os.environ["TORCH_EXTENSIONS_DIR"])),
    )
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path / "built"))
    (tmp_path / "a.py").write_text("import torch.utils.cpp_extension", encoding="utf-8")
    for stem in "ab":
        with extensions.watched(tmp_path, stem) as build:
            cpp_extension.load_inline("fused", "// empty", functions=[])
        assert build.ns > 0
    assert built == [("fused", str(tmp_path / "built" / stem)) for stem in "ab"]
    said = [f"building the extension fused ({stem}.py)" for stem in "ab"]
    err = capfd.readouterr().err.splitlines()
    no_gpu = "No CUDA runtime is found"  # PyTorch up to 2.7
    assert [line for line in err if not line.startswith(no_gpu)] == said
    assert os.environ["TORCH_EXTENSIONS_DIR"] == str(tmp_path / "built")


TRITON = """
    import os
    class Kernel:
        def __init__(self, function):
            if os.environ.get("TRITON_INTERPRET") != "1":
                raise RuntimeError("0 active drivers ([]). There should only be one.")
            self.function = function
    jit = Kernel
    """


def test_triton_is_interpreted_on_the_cpu(tmp_path, monkeypatch):
    """Triton is not installed with PyTorch for the CPU: this stands in for it."""
    (tmp_path / "triton").mkdir()
    (tmp_path / "triton" / "__init__.py").write_text(dedent(TRITON), encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    kernel = "import triton\n@triton.jit\ndef copy(x): return x * 1\n"
    files = {
        "reference": COPY,
        "kernel": kernel + "def run(x): return copy.function(x)",
        "plain": "def run(x): return x * 1",
    }
    operator = operators.write(tmp_path / "op", files, ARRAYS)
    notes = {}
    for variant in ("kernel", "plain"):
        worker = WorkerProcess("cpu", program=PYTHON_WORKER)
        worker.hello()
        case = Candidate(worker, operator, variant)
        assert case.answer["status"] == "ok", case.answer
        notes[variant] = worker.ask("close", id=case.id)["results"].get("notes", [])
        worker.ask("bye")
        worker.process.wait()
    assert notes["plain"] == []
    assert len(notes["kernel"]) == 1
    assert notes["kernel"][0].startswith("triton: run by its interpreter on the CPU")


def test_the_python_engine_has_no_other_workloads(python_worker):
    answer = python_worker.open("eager", engine="python", workload="allocate")
    assert answer["reason"] == "operator: missing: python runs nothing else"


def test_a_file_cannot_replace_what_times_are_taken_with(monkeypatch):
    """Of a GPU, that is: functions that are looked up when a case runs would be the file's."""
    import torch

    import case
    import device

    def replaced(*_):
        pytest.fail("called")

    for name in ("record", "synchronize", "elapsed_time"):
        monkeypatch.setattr(torch.cuda.Event, name, replaced)
    monkeypatch.setattr(torch.cuda.Stream, "synchronize", replaced)
    monkeypatch.setattr(torch.cuda, "synchronize", replaced)
    monkeypatch.setattr(torch._C, "_cuda_synchronize", replaced, raising=False)
    used = [case._record, case._wait_for, case._elapsed_ms]
    used += [device._wait_for_all, device._wait_for_stream]
    assert replaced not in used
    called: list[str] = []
    monkeypatch.setattr(device, "_wait_for_all", lambda: called.append("all"))
    monkeypatch.setattr(device, "_wait_for_stream", lambda _stream: called.append("stream"))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: None)
    gpu = device.CudaDevice.__new__(device.CudaDevice)
    gpu.synchronize()
    gpu.stream_waiter()()
    for name in ("_record", "_wait_for"):
        monkeypatch.setattr(case, name, lambda _event, name=name: called.append(name))
    monkeypatch.setattr(case, "_elapsed_ms", lambda _start, _end: 2)
    events = case.Events.__new__(case.Events)
    events._pair = [object(), object()]
    assert (events.around(lambda: "done"), events.elapsed_ns()) == ("done", 2e6)
    assert called == ["all", "stream", "_record", "_record", "_wait_for"]
