"""Switches of precision: ours for every contender, whatever a file sets."""

from pathlib import Path
from typing import Any

import pytest

np = pytest.importorskip("numpy")
torch = pytest.importorskip("torch")
import operator_cases as operators  # noqa: E402 -- these need NumPy and PyTorch
from conftest import WorkerProcess  # noqa: E402

import precision  # noqa: E402
import protocol  # noqa: E402
from session import Session  # noqa: E402
from workload import CaseError  # noqa: E402

PYTHON_WORKER = Path(__file__).parents[2] / "reference_python" / "worker.py"
HAS_NEW_SWITCHES = hasattr(torch.backends.cudnn, "conv")
SETTINGS = {
    "torch.backends.cudnn.allow_tf32 = True": "cudnn.allow_tf32 = True",
    "torch.backends.cuda.matmul.allow_tf32 = True": "cuda.matmul.allow_tf32 = True",
    "torch.set_float32_matmul_precision('medium')": "float32_matmul_precision = medium",
    "torch.set_default_dtype(torch.float16)": "default_dtype = torch.float16",
    "torch.use_deterministic_algorithms(True)": "deterministic_algorithms = True",
    "torch.backends.cudnn.benchmark = True": "cudnn.benchmark = True",
    "torch.backends.cudnn.deterministic = True": "cudnn.deterministic = True",
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False": (
        "cuda.matmul.allow_bf16_reduced_precision_reduction = False"
    ),
}
NEW_SETTINGS = {
    "torch.backends.fp32_precision = 'tf32'": "fp32_precision = tf32",
    "torch.backends.cudnn.conv.fp32_precision = 'tf32'": "cudnn.conv.fp32_precision = tf32",
    "torch.backends.mkldnn.matmul.fp32_precision = 'bf16'": "mkldnn.matmul.fp32_precision = bf16",
    "torch.backends.cuda.matmul.allow_fp16_accumulation = True": (
        "cuda.matmul.allow_fp16_accumulation = True"
    ),
}
ALL = SETTINGS | (NEW_SETTINGS if HAS_NEW_SWITCHES else {})


@pytest.fixture(autouse=True)
def ours():
    """Leave the process as other tests expect it."""
    precision.switch_all()
    yield
    precision.switch_all()


@pytest.mark.parametrize("setting", ALL)
def test_a_session_has_our_switches(setting):
    exec(setting, {"torch": torch})
    assert ALL[setting] in precision.changed()
    told = Session("cpu").versions()["switches"]
    assert precision.changed() == []
    assert "cudnn.allow_tf32 = False" in told.split(", ")


def test_tf32_in_cases_of_dtypes_that_allow_it_and_in_no_other(tmp_path):
    """Cases of both kinds are open at once."""
    watched = """
        import torch
        from torch.backends import cuda, cudnn
        def reference(x):
            assert cuda.matmul.allow_tf32 is cudnn.allow_tf32 is {allowed}
            assert torch.get_float32_matmul_precision() == ("high" if {allowed} else "highest")
            return 2 * x
        """
    session, opened = Session("cpu"), []
    for name, allowed in (("tf32", True), ("f32", False)):
        files = {"reference": watched.format(allowed=allowed)}
        arrays = [operators.given("x", 4), operators.output("y", 4)]
        operator = operators.write(tmp_path / name, files, arrays, tf32=allowed)
        opened.append(operators.Opened(session, operator, "eager", dtype=name))
    for case in opened * 2:
        case.sample(1)
        np.testing.assert_array_equal(case.last()["y"].shape, (4,))
    assert precision.changed() == []


@pytest.mark.parametrize("dtype", ["f32", "tf32"])
def test_the_dtype_tf32_of_a_training_allows_it(dtype):
    class Watching:
        modes = ("eager",)

        def make_inputs(self, _spec, _seed):
            raise CaseError(str(torch.backends.cuda.matmul.allow_tf32))

    session = Session("cpu")
    session.workloads = {"training": Watching()}
    spec = protocol.CaseSpec("c", "training", "pytorch", "cpu", "eager", dtype, {})
    assert session.handle(protocol.OpenRequest(spec, 1))["reason"] == str(dtype == "tf32")


def test_a_switch_of_a_case_with_tf32_is_no_more_free_than_others():
    with precision.products(tf32=True):
        assert precision.changed() == []
        torch.backends.cuda.matmul.allow_tf32 = False
        assert "cuda.matmul.allow_tf32 = False" in precision.restore()
        assert torch.backends.cuda.matmul.allow_tf32
    assert precision.changed() == []


# Set as a file is imported, or in its setup: a run finds ours.
IMPORT = "torch.backends.cudnn.allow_tf32 = True"
SETUP = """
        def setup(params, device, dtype):
            torch.set_float32_matmul_precision("high")
    """
FILE = """
        import torch
        {at_import}
        {setup}
        def run(x, state=None):
            assert torch.backends.cudnn.allow_tf32 is False
            assert torch.get_float32_matmul_precision() == "highest"
            return 2 * x
    """


@pytest.fixture
def worker():
    process = WorkerProcess("cpu", program=PYTHON_WORKER)
    process.hello()
    yield process
    process.stop()


def test_what_a_file_sets_is_taken_back_and_told(tmp_path, worker):
    files = {
        "reference": "def reference(x): return 2 * x",
        "imports": FILE.format(at_import=IMPORT, setup=""),
        "sets_up": FILE.format(at_import="", setup=SETUP),
        "runs": f"import torch\ndef run(x):\n    {IMPORT}\n    return 2 * x",
        "plain": FILE.format(at_import="", setup=""),
    }
    arrays = [operators.given("x", 4), operators.output("y", 4)]
    operator = operators.write(tmp_path / "twice", files, arrays)

    def opened(variant: str) -> dict[str, Any]:
        return worker.open(variant, workload="twice", engine="python", operator=operator)

    told = {}
    for variant in ("imports", "sets_up", "plain"):
        answer = opened(variant)
        assert answer["status"] == "ok", answer
        told[variant] = worker.ask("close", id=answer["id"])["results"].get("notes", [])
    assert told["plain"] == []
    (imports,), (sets_up,) = told["imports"], told["sets_up"]
    assert imports.startswith("switches: imports.py sets cudnn.allow_tf32 = True")
    assert sets_up.startswith("switches: sets_up.py sets float32_matmul_precision = high")
    assert imports.endswith("; it runs without, as all do")
    answer = opened("runs")
    assert answer["status"] == "failed"
    assert answer["reason"].startswith("a run sets cudnn.allow_tf32 = True")
    assert opened("plain")["status"] == "ok"
