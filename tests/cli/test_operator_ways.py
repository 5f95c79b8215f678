"""Which variants a Python file of an operator has: as it is, captured, compiled."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from operator_folders import write_operator
from project import FIXTURES, bench, read_cases

RUN = "def run(x): return 2 * x\n"
FILES = {
    "captured": "GRAPH = True  # also where it is compiled\n" + RUN,
    "never": "GRAPH=False\n" + RUN,
    "triton_": "import torch\nimport triton\n" + RUN,
    "extension": "from torch.utils.cpp_extension import load_inline\n" + RUN,
    "opted": "import cupy\nCOMPILE = True\n" + RUN,
    "plain": '"""Text\nimport of\nfrom here."""\nfrom torch.nn import functional as F, Module\n'
    + RUN,
    "declined": "import math, torch\nCOMPILE = False\n" + RUN,
    "in_text": 'SOURCE = """\nGRAPH = False\nimport triton\n"""\nimport torch as t, math\n' + RUN,
    "shares": "import _shared\n" + RUN,
    "shares_kernels": "if True:\n    from _kernels import launch\n" + RUN,
    "_shared": "import _shared, torch\nGRAPH = True\n",
    "_kernels": "import _shared\nimport triton.language as tl\n",
    "relative": "from . import x\n" + RUN,
}
WAYS = {
    "captured": {""},
    "never": {""},
    "triton_": {"", "+graph"},
    "extension": {"", "+graph"},
    "opted": {"", "+graph", "+compile"},
    "plain": {"", "+graph", "+compile"},
    "declined": {"", "+graph"},
    "in_text": {"", "+graph", "+compile"},
    "shares": {"", "+graph", "+compile"},
    "shares_kernels": {"", "+graph"},
    "relative": {"", "+graph"},
}


def planned(folder: Path, *options: str) -> dict[str, dict[str, set[str]]]:
    """Return the ways of each file, by device."""
    found: dict[str, dict[str, set[str]]] = {}
    text = bench("plan", "--workload", folder, *options).stdout
    for device, name, way in re.findall(r"/python-(\w+)/(\w+)(\+\w+)?/", text):
        found.setdefault(device, {}).setdefault(name, set()).add(way)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {f"{stem}.py": source for stem, source in FILES.items()}
    return write_operator(tmp_path_factory.mktemp("ways") / "mine", files)


def test_a_file_gets_what_its_rivals_have(folder: Path) -> None:
    found = planned(folder, "--engine", "python")
    assert found["cuda"] == WAYS
    assert found["cpu"] == {name: {""} for name in WAYS} | {"opted": {"", "+compile"}}


def test_a_way_that_is_named_is_taken_on_the_cpu_too(folder: Path) -> None:
    named = planned(folder, "--variant", "plain+graph,plain+compile", "--set", "device=cpu")
    assert named == {"cpu": {"plain": {"+graph", "+compile"}}}
    refused = bench("plan", "--workload", folder, "--variant", "never+graph", expect=2).stderr
    assert 'unknown variant "never+graph"' in refused


def test_a_file_may_have_the_name_of_a_way(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine", {"a.py": RUN, "a+graph.py": "GRAPH = True\n" + RUN})
    found = planned(folder, "--engine", "python", "--set", "device=cuda")
    assert found == {"cuda": {"a": {"", "+graph", "+compile"}}}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory, warm_workers: None) -> Path:
    """Return the folder of an imported problem, which is measured without the compiler."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("PyTorch is not installed")
    top, problems = tmp_path_factory.mktemp("imported"), FIXTURES / "problems"
    own = (problems / "candidates" / "linear" / "right.py").read_text("utf-8")
    candidates = {
        "plain": own,
        "kernel": own.replace("import torch\n", "import torch\nimport triton\n"),
    }
    assert "import triton" in candidates["kernel"]
    given: list[str | Path] = []
    for stem, source in candidates.items():
        (top / f"{stem}.py").write_text(source, "utf-8")
        given += ["--candidate", top / f"{stem}.py"]
    quick = ["--quick", "--time-limit", "50ms", "--set", "device=cpu", "--variant", "plain,kernel"]
    out = ["--out", top / "operator", "--", *quick, "--out", top / "run"]
    bench("workload", "import", problems / "linear.py", *given, *out)
    cases = {case["variant"]: case["status"] for case in read_cases(top / "run").values()}
    assert cases == {"plain": "ok", "kernel": "skipped"}
    return top / "operator"


def test_an_imported_candidate_of_plain_pytorch_is_compiled_on_the_cpu_too(kept: Path) -> None:
    found = planned(kept, "--engine", "python")
    assert found["cuda"] == {"plain": {"", "+graph", "+compile"}, "kernel": {"", "+graph"}}
    assert found["cpu"] == {"plain": {"", "+compile"}, "kernel": {""}}
