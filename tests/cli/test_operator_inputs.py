"""Inputs of CUDA rungs on the fake GPU: refilled for kernels that remember, made by a function."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from cuda_rungs import Gpu, cuda, ok, rung
from operator_folders import X, make_project, write_operator
from project import ROOT, bench, read_cases
from test_sanitize import RUNS, SANITIZER, SUMMARY

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

# Each takes 300 µs, by its own account, where it computes, and knows when it need not.
REMEMBER_IN_C = """
    #include <string.h>
    static double spent_ns;
    static void compute(float *y, const float *x, long long n) {
        spent_ns += 300000;
        for (long long i = 0; i < n; i++)
            y[i] = 2 * x[i];
    }
    #define KERNEL(name)                                                                 \\
        static void run_##name(const kernel_t *kernel, void *const *arguments);          \\
        const kernel_t name = {#name, .argument_bytes = {8, 8, 8, 8, 8},                 \\
                               .n_arguments = ARGUMENTS, .run = run_##name,              \\
                               .spent_ns = &spent_ns};                                   \\
        static void run_##name(const kernel_t *kernel, void *const *arguments)
    #define X AT(const float *, 0)
    #define Y AT(float *, 1)
    #define WORKSPACE AT(float *, 2)
    #define N AT(long long, 3)
    #define ARGUMENTS 4
    KERNEL(always) { compute(Y, X, N); }
    KERNEL(by_input) {
        static float inputs[1000], outputs[1000];
        if (memcmp(inputs, X, sizeof inputs) != 0)
            compute(outputs, X, N);
        memcpy(inputs, X, sizeof inputs);
        memcpy(Y, outputs, sizeof outputs);
    }
    KERNEL(by_output) {
        static float left;
        if (Y[0] != left)
            compute(Y, X, N);
        left = Y[0];
    }
    KERNEL(by_workspace) {
        if (WORKSPACE[0] != 12345)
            compute(Y, X, N);
        WORKSPACE[0] = 12345;
    }
    #undef ARGUMENTS
    #define ARGUMENTS 5
    KERNEL(by_temporary) {
        if (AT(float *, 4)[0] != 12345)
            compute(Y, X, N);
        AT(float *, 4)[0] = 12345;
    }
    #undef ARGUMENTS
    #define ARGUMENTS 4
    """


def test_kernels_that_remember_are_implausible(tmp_path: Path) -> None:
    variants = ["always", "by_input", "by_output", "by_workspace", "by_temporary"]
    files = {f"{name}.cu": rung(f'{{{{"{name}", {{1}}, {{1}}}}}}', name) for name in variants}
    files["by_workspace.cu"] += 'WORKSPACE = "8";\n'
    temporary = '#define TEMPORARIES TEMPORARY(float, left, "8", "by_temporary")\n'
    files["by_temporary.cu"] = temporary + files["by_temporary.cu"]
    gpu = Gpu(tmp_path / "gpu", more_in_c=REMEMBER_IN_C)
    folder = write_operator(tmp_path / "twice", files)
    cases = gpu.run(folder, [cuda(*variants), cuda(*variants, copy=["mapped"])], min_rounds=6)
    assert len(cases) == 10
    ok(cases.pop("always"))
    ok(cases.pop("always/copy=mapped"))
    for case in cases.values():
        assert case["status"] == "implausible", case["reason"]
        fresh = case["phases"]["kernel_graph"]["fresh"]
        assert min(fresh) >= 300000, fresh
        assert any("kernel_graph is slower on new inputs" in flag for flag in case["flags"])


# Each is honest in its first launches: those of the check before timing.
CHANGE_LATER_IN_C = (
    REMEMBER_IN_C
    + """
    static bool is_late(int *launches) { return ++*launches > 40; }
    KERNEL(zeroes_its_input) {
        static int launches;
        if (X[0] == 0)
            return;
        compute(Y, X, N);
        if (is_late(&launches))
            memset((float *)X, 0, 4);
    }
    KERNEL(skips_what_it_saw_first) {
        static int launches;
        static float first[1000];
        if (launches == 0)
            memcpy(first, X, sizeof first);
        if (is_late(&launches) && memcmp(first, X, sizeof first) == 0)
            return;
        compute(Y, X, N);
    }
    """
)


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        ("zeroes_its_input", "a run changes its input x; only an array that is input and output"),
        ("skips_what_it_saw_first", "a call in the middle of the graph: y differs"),
    ],
)
def test_launches_of_a_graph_are_checked(tmp_path: Path, variant: str, reason: str) -> None:
    files = {f"{variant}.cu": rung(f'{{{{"{variant}", {{1}}, {{1}}}}}}', variant)}
    gpu = Gpu(tmp_path / "gpu", more_in_c=CHANGE_LATER_IN_C)
    folder = write_operator(tmp_path / "twice", files)
    for case in gpu.run(folder, [cuda(variant)], min_rounds=4).values():
        assert case["status"] == "wrong"
        assert "the output of a timed sample of " in case["reason"]
        assert reason in case["reason"]


def test_the_last_of_many_values_of_a_file_is_compared(tmp_path: Path) -> None:
    """Those of a data set are copied back in pieces: no kernel can make them again."""
    touches = """
        static void run_touches(const kernel_t *kernel, void *const *arguments) {
            for (int i = 0; i < 1000; i++)
                AT(float *, 2)[i] = 2 * AT(float *, 0)[i];
            AT(float *, 1)[1500000 - 1] = 7;
        }
        static double no_ns;
        const kernel_t touches = {"touches", .argument_bytes = {8, 8, 8, 8, 8}, .n_arguments = 5,
                                  .run = run_touches, .spent_ns = &no_ns};
        """
    reference = """
        import torch
        def data(params, dtype):
            return [torch.ones(1500000)]
        def reference(x, set):
            return 2 * x
        """
    files = {"reference.py": reference, "touches.cu": rung('{{"touches", {1}, {1}}}', "touches")}
    given = {"name": "set", "shape": [1500000], "dtype": "T", "fill": "data", "resident": True}
    gpu = Gpu(tmp_path / "gpu", more_in_c=touches)
    folder = write_operator(tmp_path / "twice", files, inputs=[X, given])
    (case,) = gpu.run(folder, [cuda("touches")]).values()
    assert case["status"] == "wrong"
    assert case["reason"].startswith("a run changes its input set;"), "before it is timed"


def test_inputs_do_not_change_without_memory_for_a_copy(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"good.cu": rung()})
    gpu = Gpu(tmp_path / "gpu", "-DMEMORY_MIB=8")  # of which a quarter may be taken
    cases = gpu.run(folder, [cuda("good")], axes={"n": [131072, 131073]})
    flag = "check: kernel_graph was not compared on changing inputs (no memory for a copy of them)"
    found = {name: flag in case["flags"] for name, case in cases.items() if ok(case)}
    assert found == {"good/n=131072": False, "good/n=131073": True}


# ---- refills -------------------------------------------------------------------------------------

FILLED = {
    "inputs": [
        X,
        {"name": "k", "shape": ["n"], "dtype": "i32", "fill": {"integers": [-9, "n / 100"]}},
        {"name": "order", "shape": ["n"], "dtype": "i32", "fill": "permutation"},
        {"name": "one", "shape": ["n"], "dtype": "T", "fill": {"constant": "n / 1000"}},
    ]
}
FILLED_REFERENCE = "def reference(x, k, order, one): return x + k + order + one"
FILLED_IN_C = """
    static void run_filled(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        for (long long i = 0; i < AT(long long, 6); i++)
            AT(float *, 4)[i] = AT(const float *, 0)[i] + AT(const int *, 1)[i] +
                                AT(const int *, 2)[i] + AT(const float *, 3)[i];
    }
    const kernel_t filled = {"filled", .argument_bytes = {8, 8, 8, 8, 8, 8, 8}, .n_arguments = 7,
                             .run = run_filled};
    """


@pytest.mark.parametrize("by_host", [False, True])
def test_inputs_are_filled_anew_by_the_device(tmp_path: Path, by_host: bool) -> None:
    """The host's memory has the same values: host_to_host copies from there, and is checked."""
    rungs = {f"{name}.cu": rung('{{"filled", {1}, {1}}}', "filled") for name in ("one", "two")}
    folder = write_operator(
        tmp_path / "filled", {"reference.py": FILLED_REFERENCE, **rungs}, **FILLED
    )
    if by_host:
        common = make_project(folder) / "kernels" / "common"
        common.unlink()
        shutil.copytree(ROOT / "kernels" / "common", common)
        (common / "refill.cu").write_text("#error no\n", encoding="utf-8")
    gpu = Gpu(tmp_path / "gpu", more_in_c=FILLED_IN_C)
    # Cases that copy from pageable memory share it, in one process.
    contenders = [
        cuda("one", "two", alloc=["malloc"], copy=["pageable"]),
        *(cuda("one", copy=[copy]) for copy in ("pinned", "mapped")),
    ]
    cases = gpu.run(folder, contenders)
    assert len(cases) == 4
    for case in cases.values():
        ok(case)
    assert (gpu.refills() == 0) == by_host


# ---- inputs that a function makes ----------------------------------------------------------------

# Sorted, which no fill gives: and who was called, and for what.
MADE = """
    import os, torch
    def inputs(params, dtype):
        x = torch.randn(params["n"], dtype=dtype).sort().values
        with open({log!r}, "a") as log:
            print(os.getpid(), x[0].item(), file=log)
        return [x]
    def reference(x): return 2 * x
    """
RUN = "def run(x): return x + x"


@pytest.mark.parametrize("options", [(), ("--isolate",)])
def test_inputs_from_a_function_reach_every_language(tmp_path: Path, options: Any) -> None:
    """One process makes them, once for each seed; they are refilled and audited as others are."""
    log = tmp_path / "log"
    folder = write_operator(
        tmp_path / "twice",
        {
            "reference.py": MADE.format(log=str(log)),
            "good.cu": rung(),
            # As if the inputs were never refilled.
            "forgets.py": "kept = []\ndef run(x):\n    kept.append(2 * x)\n    return kept[0] + 0",
            "adds.py": RUN,
        },
        inputs=[{**X, "fill": "function"}],
    )
    gpu = Gpu(tmp_path / "gpu")
    cpu = {"device": ["cpu"]}
    contenders = [
        cuda("good", copy=["pinned", "mapped"], launch=["stream", "graph"]),
        # They share what they copy from, and go back to the inputs before.
        cuda("good", copy=["pageable"], alloc=["arena", "malloc"]),
        {"engine": "python", "variants": ["adds", "forgets"], **cpu},
        {"engine": "pytorch", "variants": ["eager", "inference"], **cpu},
    ]
    cases = gpu.run(folder, contenders, *options)
    forgets = cases.pop("forgets")
    assert (forgets["status"], "inputs refilled" in forgets["reason"]) == ("wrong", True)
    assert len(cases) == 9
    for case in cases.values():
        ok(case)
    made = [line.split() for line in log.read_text(encoding="utf-8").splitlines()]
    assert len({process for process, _ in made}) == 1
    # Those as opened are made for each pass, and those of its audits, which all contenders have, too.
    times = Counter(first for _, first in made)
    assert sum(n == 1 for n in times.values()) > max(10, len(times) / 2)


def test_a_function_makes_inputs_for_traces_and_sanitizers(tmp_path: Path) -> None:
    reference = MADE.format(log=str(tmp_path / "log"))
    files = {"reference.py": reference, "good.cu": rung()}
    folder = write_operator(tmp_path / "made", files, inputs=[{**X, "fill": "function"}])
    gpu, tools = Gpu(tmp_path / "gpu"), tmp_path / "bin"
    options = ["--workload", folder, "--engine", "cuda"]
    traced = bench("run", *options, "--trace", "--out", tmp_path / "trace", **gpu.environment)
    assert "no file was handed over" not in traced.stdout + traced.stderr
    assert "made/cuda/good" in (tmp_path / "trace" / "trace.json").read_text(encoding="utf-8")

    tools.mkdir()
    (tools / "compute-sanitizer").write_text(SANITIZER + RUNS + SUMMARY, encoding="utf-8")
    (tools / "compute-sanitizer").chmod(0o755)
    environment = {
        **gpu.environment,
        "BENCH_CACHE": str(tmp_path / "cache"),
        "PATH": f"{tools}:{os.environ['PATH']}",
        "CUDA_HOME": "",
        "CUDA_PATH": "",
        "CALLS": str(tmp_path / "calls"),
        "VERSION": "2030.1.0",
    }
    out = ["--sanitize", "--profile", "--out", tmp_path / "run"]
    bench("run", *options, *out, expect=None, **environment)
    cases = [c for c in read_cases(tmp_path / "run").values() if c["workload"] == "made"]
    assert cases
    for case in cases:
        assert set(case["sanitize"]["tools"].values()) == {"clean"}, case["sanitize"]
