"""Rungs with host code of their own, on the fake GPU: a shared object that launches what it likes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from cuda_rungs import ALLOCATES, REPEATS, SAMPLE, STEPS, Gpu, cuda, ok
from operator_folders import X, make_project, write_operator
from project import ROOT, bench, compiler_options
from test_operator_c import ALONE

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

HEAD = """
#include "common/workload.cuh"
static void twice(const kernel_t *, void *const *arguments) {
    const float *x = *(const float *const *)arguments[0];
    float *y = *(float *const *)arguments[1];
    for (long long i = 0; i < *(const long long *)arguments[2]; i++)
        y[i] = 2 * x[i];
}
"""
LAUNCH = "launch(twice, stream, x, y, n);"


def host_code(body: str, head: str = "") -> str:
    return (
        f'{HEAD}{head}\nextern "C" void run(WORKLOAD_ARGUMENTS, cudaStream_t stream) {{ {body} }}\n'
    )


# By name: the file, the status, a part of the reason.
FILES = {
    "honest": (host_code(LAUNCH), "ok", None),
    "alone": (host_code(f"{ALONE[0]}{LAUNCH} if (spoilt) last_error = 1;", ALONE[1]), "ok", None),
    "alone_too": (
        host_code(f"{ALONE[0]}{LAUNCH} if (spoilt) last_error = 2;", ALONE[1]),
        "ok",
        None,
    ),
    "waits": (host_code(f"{LAUNCH} cudaDeviceSynchronize();"), "ok", None),
    "thrice": (
        host_code(
            "launch(thrice, stream, x, y, n);",
            "static void thrice(const kernel_t *, void *const *a) { "
            "for (long long i = 0; i < *(long long *)a[2]; i++)"
            " (*(float **)a[1])[i] = 3 * (*(float **)a[0])[i]; }",
        ),
        "wrong",
        "y differs",
    ),
    # Work on another stream, or of a thread, is not in the graph.
    "beside_the_stream": (
        host_code(
            "const void *arguments[] = {&x, &y, &n}; twice(nullptr, (void *const *)arguments);"
            "launch(nothing, stream, n);",
            "static void nothing(const kernel_t *, void *const *) {}",
        ),
        "wrong",
        "kernel_graph",
    ),
    "stale": (
        host_code(
            "if (!is_known) memcpy(kept, x, n * sizeof *x), is_known = true;\n"
            "const float *from = kept; launch(twice, stream, from, y, n);",
            "static float kept[1 << 20]; static bool is_known;",
        ),
        "wrong",
        "refilled",
    ),
    "writes_input": (
        host_code(
            f"{LAUNCH} launch(zero, stream, x);",
            "static void zero(const kernel_t *, void *const *a) { **(float **)a[0] = 0; }",
        ),
        "wrong",
        "input x",
    ),
    "complains": (host_code("last_error = 1;"), "failed", "run: an error"),
    "crash": (host_code("*(volatile int *)8 = 1;"), "failed", "signal 11"),
    "misspelt": (host_code("launch(twise, stream, x, y, n);"), "failed", "misspelt.cu:"),
    "both": (
        host_code(LAUNCH) + 'LAUNCHES = {{"twice", {"n"}, {"1"}}};',
        "failed",
        "both.cu: found both LAUNCHES = {…}",
    ),
    "temporary": (
        '#define TEMPORARIES TEMPORARY(T, t, "n", "0")\n' + host_code(LAUNCH),
        "failed",
        "temporary.cu: found both TEMPORARIES",
    ),
}


def add_nvcc(gpu: Gpu, folder: Path) -> None:
    """Let the fake nvcc be the first that is found."""
    program = folder / "toolkit" / "bin" / "nvcc"
    program.parent.mkdir(parents=True)
    script = Path(__file__).with_name("fake_nvcc.py")
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    gpu.environment["CUDA_HOME"] = str(folder / "toolkit")


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    tmp_path = tmp_path_factory.mktemp("host_code")
    files = {f"{name}.cu": text for name, (text, _, _) in FILES.items()}
    folder = write_operator(tmp_path / "twice", files)
    gpu = Gpu(tmp_path / "gpu")
    add_nvcc(gpu, tmp_path)
    contenders = [
        cuda("*"),
        cuda("honest", "waits", launch=["graph"]),
        cuda("honest", alloc=["malloc"]),
    ]
    return gpu.run(folder, contenders)


@pytest.mark.parametrize("name", FILES)
def test_verdict(name: str, cases: dict[str, dict[str, Any]]) -> None:
    _, status, reason = FILES[name]
    case = cases[name]
    assert case["status"] == status, case["reason"]
    assert (reason or "") in (case["reason"] or "")


def test_it_is_captured_where_it_can_be(cases: dict[str, dict[str, Any]]) -> None:
    assert ok(cases["honest"]) == SAMPLE | REPEATS
    assert ok(cases["honest/alloc=malloc"]) == SAMPLE | REPEATS | ALLOCATES
    ok(cases["honest/launch=graph"])
    assert ok(cases["waits"]) == SAMPLE
    assert any(
        "run cannot be captured in a CUDA graph (run: not permitted when stream is capturing)"
        in flag
        for flag in cases["waits"]["flags"]
    )
    in_graph = cases["waits/launch=graph"]
    assert in_graph["status"] == "skipped"
    assert in_graph["reason"].startswith("launch=graph: run cannot be captured: run: not permitted")


def test_it_is_not_sealed(cases: dict[str, dict[str, Any]]) -> None:
    """Its code runs in our process: a call in a graph is audited like the whole."""
    assert cases["waits"]["trust"] != "sealed"
    assert cases["waits"]["claims"]["n"] > 0
    assert not cases["honest"]["claims"]["ratio"] > 10_000  # one run of a graph is 256 calls


def test_workspace_and_flags(tmp_path: Path) -> None:
    text = host_code(
        "float *half = (float *)workspace; launch(twice, stream, x, half, n);"
        "launch(copy, stream, half, y, n);",
        'WORKSPACE = "4 * n";\n#ifdef WITH_COPY\n'
        "static void copy(const kernel_t *, void *const *a) "
        "{ memcpy(*(void **)a[1], *(void **)a[0], 4 * *(long long *)a[2]); }\n#endif",
    )
    files = {"two.cu": f"// nvcc: -DWITH_COPY -O2\n{text}"}
    folder = write_operator(tmp_path / "twice", files)
    gpu = Gpu(tmp_path / "gpu")
    add_nvcc(gpu, tmp_path)
    cases = gpu.run(folder, [cuda("*")])
    ok(cases["two"])
    assert {"-DWITH_COPY", "-O2"} <= set(cases["two"]["resources"]["flags"])


def test_without_nvcc(tmp_path: Path) -> None:
    if Path("/usr/local/cuda/bin/nvcc").exists():
        pytest.skip("it is always found in /usr/local/cuda")
    folder = write_operator(tmp_path / "twice", {"mine.cu": host_code(LAUNCH)})
    gpu = Gpu(tmp_path / "gpu")
    case = gpu.run(folder, [cuda("*")])["mine"]
    assert case["status"] == "skipped"
    assert case["reason"].startswith("a rung with host code needs nvcc, which is not in $CUDA_HOME")


def test_arrays_in_place(tmp_path: Path) -> None:
    """A graph of many calls would find what the last one left: single ones are timed, with a wait."""
    add = (
        "static void add(const kernel_t *, void *const *a) { "
        "for (long long i = 0; i < *(long long *)a[2]; i++)"
        " (*(float **)a[1])[i] += (*(float **)a[0])[i]; }"
    )
    files = {
        "reference.py": "def reference(x, p): return p + x, 2 * x",
        "mine.cu": host_code(f"{LAUNCH} launch(add, stream, x, p, n);", add),
    }
    folder = write_operator(
        tmp_path / "plus", files, inputs=[X, {**X, "name": "p", "in_place": True}]
    )
    gpu = Gpu(tmp_path / "gpu")
    add_nvcc(gpu, tmp_path)
    assert ok(gpu.run(folder, [cuda("*")])["mine"]) == SAMPLE


TWO_STAGES = Path(__file__).parents[1] / "fixtures" / "operators" / "layer_norm_weight"


@pytest.mark.long
def test_two_kernels_are_right(tmp_path: Path) -> None:
    """Emulated on the fake GPU, in a graph and by single calls."""
    folder = tmp_path / "layer_norm_weight"
    shutil.copytree(TWO_STAGES, folder)
    gpu = Gpu(tmp_path / "gpu")
    add_nvcc(gpu, tmp_path)
    axes: dict[str, Any] = {"rows": [1, 70], "cols": [33]}
    cases = gpu.run(folder, [cuda("two_stages")], axes=axes)
    assert [ok(case) for case in cases.values()] == [SAMPLE | REPEATS] * 2


def test_a_real_compiler_takes_it_for_every_architecture() -> None:
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    command = ["compile", "--workload", TWO_STAGES, "--quick", "--json", *compiler_options()]
    done = json.loads(bench(*command, "--arch", "sm_75,sm_90").stdout)
    assert [program["status"] for program in done["programs"]] == ["ok", "ok"]
    assert all(program["registers"] > 0 for program in done["programs"])


@pytest.mark.parametrize("lacks", ["", "134", "512"])
def test_a_training_by_a_library(tmp_path: Path, lacks: str) -> None:
    """Also where the library has not all epilogues: a kernel does what it lacks."""
    gpu = Gpu(tmp_path / "gpu", "-DMEMORY_MIB=1024")
    add_nvcc(gpu, tmp_path)
    gpu.environment["FAKE_LT_LACKS"] = lacks or "0"
    rungs = [
        cuda("01_library"),
        cuda("02_library_graph"),
        cuda("02_library_graph", alloc=["malloc"]),
    ]
    sizes = {"hidden": [8], "steps": [2], "images": [32], "batch": [8], "rate": [0.25]}
    folder = Path(shutil.copytree(ROOT / "kernels" / "mnist_train", tmp_path / "mnist_train"))
    common = make_project(folder) / "kernels" / "common"
    common.unlink()  # by a link, headers would be outside of the project
    shutil.copytree(ROOT / "kernels" / "common", common)
    # Of so few steps, what two seeds change may be less than the tolerance of float16.
    cases = gpu.run(folder, rungs[: 1 if lacks else 3], "--seed", "1", axes=sizes)
    for name, case in cases.items():
        if "malloc" in name:
            assert case["reason"].endswith("fixed addresses: needs memory from arena or caching")
            continue
        assert ok(case) == STEPS
        assert case["results"]["accuracy"] > 0
