"""What the worker needs on a machine: what is missing is reported with how to install it."""

import json
import sys
from pathlib import Path

import pytest
from conftest import WORKER
from project import ran

import needs
import torch_needs

HERE = {"CXX", "CC", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "TORCH_INDUCTOR_INSTALL_GXX"}


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a folder whose bin is the only one in $PATH; no variable names a compiler or header."""
    for name in HERE:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    return tmp_path


def put(folder: Path, name: str, says: str = "exit 0") -> None:
    program = folder / "bin" / name
    program.write_text(f"#!/bin/sh\n{says}\n", encoding="utf-8")
    program.chmod(0o755)


def put_header(folder: Path, monkeypatch, *, exists: bool) -> None:
    """Make Python report a folder as that of its headers."""
    include = folder / "include"
    include.mkdir()
    if exists:
        (include / "Python.h").touch()
    monkeypatch.setattr(torch_needs.sysconfig, "get_path", lambda *_: str(include))


# ---- torch.compile -------------------------------------------------------------------------------


def test_compile_lacks_a_compiler(machine):
    assert torch_needs.compile_lacks("cpu") == (
        "torch.compile needs a C++ compiler: apt-get install g++"
    )
    put(machine, "dnf")
    assert (
        torch_needs.compile_lacks("cpu")
        == "torch.compile needs a C++ compiler: dnf install gcc-c++"
    )


def test_compile_uses_the_compiler_in_cxx(machine, monkeypatch):
    put_header(machine, monkeypatch, exists=True)
    put(machine, "clang++-99")
    monkeypatch.setenv("CXX", "clang++-99")
    assert torch_needs.compile_lacks("cpu") is None
    monkeypatch.setenv("CXX", "icpx")
    assert torch_needs.compile_lacks("cpu") == (
        "torch.compile needs a C++ compiler, but $CXX is not one (icpx): unset it"
    )
    monkeypatch.setenv("TORCH_INDUCTOR_INSTALL_GXX", "1")
    assert torch_needs.compile_lacks("cpu") is None


@pytest.mark.parametrize("compiles", [True, False])
def test_headers_that_only_the_compiler_finds(machine, monkeypatch, compiles):
    put_header(machine, monkeypatch, exists=False)
    put(machine, "g++", "exit 0" if compiles else "exit 1")
    lacks = torch_needs.compile_lacks("cpu")
    if compiles:
        assert lacks is None
    else:
        assert lacks.startswith("torch.compile needs Python.h: ")


@pytest.mark.parametrize(
    ("is_default", "package"),
    [(True, "python3-dev"), (False, f"python3.{sys.version_info[1]}-dev")],
)
def test_headers_of_the_system_python(machine, monkeypatch, is_default, package):
    put_header(machine, monkeypatch, exists=False)
    put(machine, "g++", "exit 1")
    own = f"/usr/bin/python3.{sys.version_info[1]}"
    monkeypatch.setattr(torch_needs.sys, "base_prefix", "/usr")
    link = own if is_default else "/usr/bin/python3.0"
    monkeypatch.setattr(torch_needs.os.path, "realpath", lambda _: link)
    assert (
        torch_needs.compile_lacks("cpu")
        == f"torch.compile needs Python.h: apt-get install {package}"
    )


def test_an_existing_header_needs_no_process(machine, monkeypatch):
    put_header(machine, monkeypatch, exists=True)
    put(machine, "g++")
    monkeypatch.setattr(
        torch_needs.subprocess, "run", lambda *_, **__: pytest.fail("started a process")
    )
    assert torch_needs.compile_lacks("cpu") is None


def test_compile_for_a_gpu(machine, monkeypatch):
    put_header(machine, monkeypatch, exists=True)
    monkeypatch.setattr(torch_needs.importlib.util, "find_spec", lambda _: None)
    assert torch_needs.compile_lacks("cuda").startswith("torch.compile needs Triton for a GPU: ")
    monkeypatch.setattr(torch_needs.importlib.util, "find_spec", lambda name: name)
    assert (
        torch_needs.compile_lacks("cuda") == "torch.compile needs a C compiler: apt-get install gcc"
    )
    put(machine, "clang")
    assert torch_needs.compile_lacks("cuda") is None


def test_cause_of_a_failed_compilation(machine, monkeypatch):
    put_header(machine, monkeypatch, exists=True)
    put(machine, "g++")
    inner = RuntimeError("C++ compile error\n\na.cpp:1:10: fatal error: omp.h: No such file")
    outer = ValueError("BackendCompilerFailed")
    outer.__cause__ = inner
    assert torch_needs.compile_cause(outer, "cpu") == (
        "torch.compile needs omp.h: install the package that has it"
    )
    assert torch_needs.compile_cause(ValueError("a graph break"), "cpu") is None
    too_new = RuntimeError("torch.compile is not supported on Python 3.99+")
    assert "to an older Python" in torch_needs.compile_cause(too_new, "cpu")


def test_only_compile_mode_is_skipped_without_headers(start_worker, tmp_path, monkeypatch):
    """A Python without its headers, as Debian's without python3-dev."""
    pytest.importorskip("torch")
    patch = """
import sysconfig
real = sysconfig.get_path
sysconfig.get_path = lambda name, *rest, **more: (
    "/no/such/include" if name == "include" else real(name, *rest, **more))
"""
    (tmp_path / "sitecustomize.py").write_text(patch, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    for name in HERE:
        monkeypatch.delenv(name, raising=False)
    worker = start_worker("cpu")
    assert worker.hello()["status"] == "ok"
    answer = worker.open("compile")
    assert answer["status"] == "skipped"
    assert answer["reason"].startswith("torch.compile needs Python.h: ")
    assert worker.open("eager")["status"] == "ok"


def test_compile_modes_match_those_of_the_workloads():
    pytest.importorskip("torch")
    from operator_workload import OperatorWorkload
    from session import COMPILING, WORKLOADS

    workloads = (*WORKLOADS.values(), OperatorWorkload)
    named = {mode for workload in workloads for mode in workload.modes if "compile" in mode}
    # These do, too.
    assert named | {"combo_graph", "mapped", "manual_graph"} == set(COMPILING["cuda"])


# ---- the worker's Python -------------------------------------------------------------------------


def test_version_of_pytorch():
    assert torch_needs.torch_lacks("2.4.0") is None
    assert torch_needs.torch_lacks("2.13.0+cpu") is None
    assert torch_needs.torch_lacks("source") is None
    assert torch_needs.torch_lacks("2.3.1").startswith("PyTorch 2.3.1 is older than 2.4: ")


def test_version_of_python(monkeypatch):
    assert needs.python_lacks("PyTorch") is None
    monkeypatch.setattr(needs.sys, "version_info", (3, 9, 2))
    assert needs.python_lacks("PyTorch") == (
        "PyTorch cases need Python 3.10 or newer, found 3.9: set $BENCH_PYTHON to one"
    )


def test_declining_answers_every_request():
    program = "import needs; needs.decline('too old')"
    requests = '{"op":"hello","protocol":2}\nwhat?\n{"op":"bye"}\n'
    done = ran(
        sys.executable, "-c", program, cwd=WORKER.parents[1] / "reference_common", input=requests
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    refusal = {"status": "failed", "reason": "too old"}
    assert answers == [refusal, refusal, {"status": "ok"}]


@pytest.mark.parametrize(
    ("torch", "numpy", "reason"),
    [
        (None, None, "PyTorch is not installed for this Python: "),
        ("__version__ = '2.13.0'", None, "NumPy is not installed for this Python: "),
        ("__version__ = '2.3.0'", "", "PyTorch 2.3.0 is older than 2.4: "),
        ("raise ImportError('libcudart.so.13: gone')", "", "torch cannot be imported (libcudart"),
        ("__version__ = '2.13.0'", "raise ImportError('built for another')", "numpy cannot be"),
    ],
)
def test_missing_packages_are_answered(tmp_path, torch, numpy, reason):
    for name, text in (("torch", torch), ("numpy", numpy)):
        if text is not None:
            (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    # -S: no site-packages, so that only these exist.
    hello, only = '{"op":"hello","protocol":2}\n', {"PYTHONPATH": str(tmp_path)}
    done = ran(sys.executable, "-S", WORKER, "--device", "cpu", env=only, input=hello)
    answer = json.loads(done.stdout)
    assert answer["status"] == "failed"
    assert answer["reason"].startswith(reason)
    assert "\n" not in answer["reason"]


def test_a_bug_of_the_worker_is_not_answered(tmp_path):
    """An error inside the worker is not a missing package."""
    (tmp_path / "torch.py").write_text("__version__ = '2.13.0'", encoding="utf-8")
    (tmp_path / "numpy.py").write_text("", encoding="utf-8")
    (tmp_path / "session.py").write_text("raise KeyError('a bug')", encoding="utf-8")
    program = f"import sys; sys.path.append({str(WORKER.parent)!r}); import worker; worker.main()"
    hello, only = '{"op":"hello","protocol":2}\n', {"PYTHONPATH": str(tmp_path)}
    command = (sys.executable, "-S", "-c", program, "--device", "cpu")
    done = ran(*command, env=only, input=hello, expect=1)
    assert done.stdout == ""
    assert "KeyError: 'a bug'" in done.stderr


def test_findings_for_the_doctor():
    found = json.loads(ran(sys.executable, WORKER, "--needs").stdout)
    assert [item["what"] for item in found] == ["NumPy", "PyTorch", "torch.compile"]
    for item in found:
        assert item["detail"]
        assert item["found"] or item["install"]
