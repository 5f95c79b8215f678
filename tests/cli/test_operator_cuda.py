"""Operators on the fake GPU: rungs that a real compiler compiles, computed by kernels in C."""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_driver, compile_fake
from host_kernels import kernels_for_host, library_of
from operator_folders import X, Y, make_project, run_operator, write_operator
from project import FIXTURES, NO_PYTHON, ROOT, bench, compiler_options, ran, read_cases
from test_sanitize import RUNS, SANITIZER, SUMMARY

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

Cases = dict[str, dict[str, Any]]

HEAD = '#include "common/workload.cuh"\n'

# ---- a kernel with every kind of argument --------------------------------------------------------

# y = a x + b k and p += x, by way of a workspace.
MIXED = {
    "params": {"n": {"default": 1000, "min": 1}, "k": {"default": 3, "constant": True}},
    "inputs": [
        {"name": "p", "shape": ["n"], "dtype": "T", "fill": {"constant": 1}, "in_place": True},
        X,
    ],
    "scalars": [
        {"name": "a", "dtype": "f32", "value": "6 / k"},
        {"name": "b", "dtype": "i64", "value": "2 * k - 1"},
    ],
}
MIXED_REFERENCE = "def reference(p, x, a, b): return p + x, a * x + b * 3"
ONE = """
    WORKSPACE = "4 * n";
    LAUNCHES = {{"mixed", {"ceil_div(n, 256)"}, {"256"}}};
    KERNEL(mixed) {
        const long long i = blockIdx.x * 256LL + threadIdx.x;
        if (i >= n)
            return;
        y[i] = a * x[i] + b * K;
        p[i] += x[i];
    }
    """
TWO = """
    WORKSPACE = "4 * n";
    LAUNCHES = {{"mixed_first", {"sm_count / 2", "2"}, {"32", "4"}, "n % 7 * 4", {}, 1},
                {"mixed_second", {"2 * k", "2"}, {"min(n, 64)"}, "", {"2", "2"}}};
    KERNEL(mixed_first) { workspace[0] = 1; }
    KERNEL(mixed_second) { y[0] = a; }
    """
MIXED_IN_C = """
    static void first(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        float *workspace = AT(float *, 3);
        if (AT(float *, 1)[0] != 1)
            note("p is not as it was copied in");
        if (workspace[0] != 0 && workspace[1] != 0)
            note("the workspace has random bytes");
        for (long long i = 0; i < AT(long long, 6); i++)
            workspace[i] = AT(float, 4) * AT(const float *, 0)[i];
    }
    static void second(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        if (AT(float *, 3)[1] != AT(float, 4) * AT(const float *, 0)[1])
            note("the workspace is not what the first launch left");
        for (long long i = 0; i < AT(long long, 6); i++) {
            AT(float *, 2)[i] = AT(float *, 3)[i] + AT(long long, 5) * 3;
            AT(float *, 1)[i] += AT(const float *, 0)[i];
        }
    }
    static void both(const kernel_t *kernel, void *const *arguments) {
        first(kernel, arguments);
        second(kernel, arguments);
    }
    #define MIXED .argument_bytes = {8, 8, 8, 8, 4, 8, 8}, .n_arguments = 7
    const kernel_t mixed = {.name = "mixed", MIXED, .run = both};
    const kernel_t mixed_first = {.name = "mixed_first", MIXED, .run = first};
    const kernel_t mixed_second = {.name = "mixed_second", MIXED, .run = second};
    """

# ---- kernels that differ in their launches -------------------------------------------------------

TWICE_IN_C = """
    static void run_twice(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        if (AT(void *, 2) != 0)
            note("a workspace that the rung did not ask for");
        for (long long i = 0; i < AT(long long, 3); i++)
            AT(float *, 1)[i] = 2 * AT(const float *, 0)[i];
    }
    static double no_ns; /* whatever the machine does, it takes the time of the least work */
    const kernel_t twice = {"twice", .argument_bytes = {8, 8, 8, 8}, .n_arguments = 4,
                            .run = run_twice, .spent_ns = &no_ns};
    /* As one that reads four elements at a time. */
    static void run_aligned(const kernel_t *kernel, void *const *arguments) {
        if (AT(unsigned long long, 0) % 16 == 0 && AT(unsigned long long, 1) % 16 == 0)
            run_twice(kernel, arguments);
    }
    const kernel_t aligned = {"aligned", .argument_bytes = {8, 8, 8, 8}, .n_arguments = 4,
                              .run = run_aligned};
    """
IN_C = """
    #include "kernels.h"
    #include <stdbool.h>
    #include <stdio.h>
    #include <stdlib.h>
    #define AT(type, i) (*(type *)arguments[i])
    static void note(const char *what) {
        FILE *file = fopen(getenv("FAKE_LAUNCHES"), "a");
        fprintf(file, "%s\\n", what);
        fclose(file);
    }
    /* The program that fills inputs; each launch is noted. */
    extern void refill_on_host(void *const *arguments);
    static void run_refill(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        refill_on_host(arguments);
    }
    const kernel_t refill = {.name = "refill", .argument_bytes = {8, 8, 8, 4, 4, 56, 8},
                             .n_arguments = 7, .run = run_refill};
    """


def refill_on_host(folder: Path) -> Path:
    """Return a library with kernels/common/refill.cu, compiled for the host."""
    kernels = kernels_for_host(folder)
    source = (kernels / "common" / "refill.cu").read_text("utf-8")
    program = folder / "refill.cc"
    program.write_text(
        f'#include "emulation/host_cuda.h"\n#define refill refill_kernel\n{source}\n'
        'extern "C" void refill_on_host(void **arguments) {\n'
        "unsigned long long n = *(unsigned long long *)arguments[1], a_block = THREADS * WORDS;\n"
        "launch_on_host(refill_kernel, arguments, (n + a_block - 1) / a_block, THREADS, 1); }\n",
        encoding="utf-8",
    )
    return Path(library_of(program, [kernels, kernels / "common"], {})._name)


def rung(launches: str, entry: str = "twice") -> str:
    """Return a rung that doubles with these launches."""
    lines = [f"LAUNCHES = {launches};", f"KERNEL({entry}) {{ y[0] = 2 * x[0]; }}"]
    return HEAD + "\n".join(lines) + "\n"


GOOD = '{{"twice", {"n"}, {"1"}}}'
# By name: the launches, and why the case is skipped. tests/unit/test_operator_launches.c has more.
SKIPPED = {
    "grid_zero": (
        '{{"twice", {"n / 1001"}, {"1"}}}',
        'kernel "twice": grid.x: "n / 1001" is 0, expected 1 to 2147483647',
    ),
    "resident": (
        '{{"twice", {"4 * sm_count + 1"}, {"1"}, "", {}, 1}}',
        'kernel "twice": a cooperative launch of 17 blocks, of which 1 are resident on each of 4 '
        "multiprocessors",
    ),
}


class Gpu:
    """The fake GPU with the kernels above."""

    def __init__(self, folder: Path, *flags: str, more_in_c: str = "") -> None:
        compiler_options()
        folder.mkdir(parents=True, exist_ok=True)
        library, source = folder / "rungs.so", folder / "rungs.c"
        source.write_text(IN_C + MIXED_IN_C + TWICE_IN_C + more_in_c, encoding="utf-8")
        command = [shutil.which("cc") or "gcc", "-shared", "-fPIC", f"-I{FIXTURES}/fakes"]
        refill = refill_on_host(folder)
        paths = [str(path) for path in (library, source, refill)]
        ran(*command, "-o", *paths, f"-Wl,-rpath,{refill.parent}")
        self.launched, self._state = folder / "launches", folder / "state"
        self.environment = {
            **build_driver(folder / "lib", "-DMULTIPROCESSORS=4", *flags),
            "FAKE_RUNGS": str(library),
            "FAKE_LAUNCHES": str(self.launched),
            "FAKE_CUDA": "",
            "FAKE_CUDA_STATE": str(self._state),
        }

    def run(
        self, folder: Path, contenders: list[dict[str, Any]], *options: str, **keys: Any
    ) -> Cases:
        # The measurement of the device finds that nothing is computed: the run fails.
        cases = run_operator(folder, contenders, *options, expect=1, **keys, **self.environment)
        leaked = struct.unpack("4i", self._state.read_bytes()[:16])[2]
        assert leaked == 0
        return cases

    def launches(self) -> set[str]:
        """Return those of the rungs."""
        lines = self.launched.read_text(encoding="utf-8").splitlines()
        return {line for line in lines if not line.startswith("refill ")}

    def refills(self) -> int:
        """Return how often the device filled an input."""
        return self.launched.read_text(encoding="utf-8").count("refill grid=1,1,1 threads=256,1,1")


def cuda(*variants: str, **techniques: list[str]) -> dict[str, Any]:
    return {"engine": "cuda", "variants": list(variants), "techniques": techniques}


def ok(case: dict[str, Any]) -> set[str]:
    """Return the phases of a case that must be right."""
    assert case["status"] == "ok", case["reason"]
    assert case["check"]["after"]["ok"] and case["deterministic"] is True
    return set(case["phases"])


SAMPLE = {"h2d", "kernel", "d2h", "total", "residual", "host_to_host", "kernel_cold"}
SAMPLE |= {"h2d_device", "d2h_device"}
ALLOCATES = {"malloc", "free", "malloc_device", "free_device"}
IN_GRAPH = {"host_to_host", "kernel", "kernel_cold"}
REPEATS = {"kernel_graph", "kernel_stream"}
STEPS = {"h2d", "train", "d2h", "total", "residual", "step", "train_device", "step_device"}


def test_arguments_workspace_and_arrays_in_place(tmp_path: Path) -> None:
    files = {"reference.py": MIXED_REFERENCE, "one.cu": HEAD + ONE, "two.cu": HEAD + TWO}
    folder = write_operator(tmp_path / "mixed", files, **MIXED)
    gpu = Gpu(tmp_path / "gpu", "-DCLUSTERS=2")
    contenders = [
        cuda("one", "two"),
        cuda("one", alloc=["malloc"], copy=["pageable"]),
        cuda("one", alloc=["async"]),
        cuda("one", launch=["graph"]),
        cuda("one", copy=["mapped"]),
    ]
    cases = gpu.run(folder, contenders)
    mapped = cases.pop("one/copy=mapped")
    reason = "copy=mapped would change the input itself, which is computed in place"
    assert (mapped["status"], mapped["reason"]) == ("skipped", reason)
    # Launched one after the other, they would find what the one before left in p.
    phases = {name: ok(case) for name, case in cases.items()}
    assert phases == {
        "one": SAMPLE,
        "two": SAMPLE | {"part_mixed_first", "part_mixed_second"},
        "one/alloc=malloc/copy=pageable": SAMPLE | ALLOCATES,
        "one/alloc=async": SAMPLE | ALLOCATES,
        "one/launch=graph": IN_GRAPH,
    }
    assert gpu.launches() == {
        "the workspace has random bytes",
        "mixed grid=4,1,1 threads=256,1,1 shared=0 cluster=1,1,1 cooperative=0",
        "mixed_first grid=2,2,1 threads=32,4,1 shared=24 cluster=1,1,1 cooperative=1",
        "mixed_second grid=6,2,1 threads=64,1,1 shared=0 cluster=2,2,1 cooperative=0",
    }


# y = 2 x in three launches; `half` and `rest` are never held together.
CHAIN_IN_C = """
    #define CHAIN .argument_bytes = {8, 8, 8, 8, 8, 8, 8}, .n_arguments = 7
    #define N AT(long long, 3)
    static float *half(void *const *arguments) { return AT(float *, 4); }
    static float *four(void *const *arguments) { return AT(float *, 5); }
    static float *rest(void *const *arguments) { return AT(float *, 6); }
    static void check_held(const char *where, void *const *arguments, bool h, bool f, bool r) {
        if (h != (half(arguments) != 0) || f != (four(arguments) != 0) || r != (rest(arguments) != 0))
            note(where);
        if (AT(void *, 2) != 0)
            note("a workspace that the rung did not ask for");
    }
    static void run_halve(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        check_held("halve: others are held", arguments, true, false, false);
        if (half(arguments)[0] != 0 && half(arguments)[0] != AT(const float *, 0)[0] / 2)
            note("half is random");
        for (long long i = 0; i < N; i++)
            half(arguments)[i] = AT(const float *, 0)[i] / 2;
    }
    static void run_eight(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        check_held("eight: others are held", arguments, true, true, false);
        for (long long i = 0; i < N; i++)
            four(arguments)[i] = half(arguments)[i] * 8;
    }
    static void run_quarter(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        check_held("quarter: others are held", arguments, false, true, true);
        memset(rest(arguments), 0, 4 * N);
        for (long long i = 0; i < N && AT(int, 7) == 1; i++)
            AT(float *, 1)[i] = four(arguments)[i] / 2;
    }
    const kernel_t halve = {"halve", CHAIN, .run = run_halve};
    const kernel_t eight = {"eight", CHAIN, .run = run_eight};
    const kernel_t quarter = {"quarter", .argument_bytes = {8, 8, 8, 8, 8, 8, 8, 4},
                              .n_arguments = 8, .run = run_quarter};
    """
CHAIN = """
    #define TEMPORARIES TEMPORARY(float, half, "4 * n", "halve", "eight") \\
                        TEMPORARY(float, four, "4 * n", "eight", "quarter") \\
                        TEMPORARY(float, rest, "4 * n", "quarter")
    #include "common/workload.cuh"
    LAUNCHES = {{"halve", {1}}, {"eight", {1}}, indexed("2", {"quarter", {1}})};
    KERNEL(halve) { half[0] = x[0]; }
    KERNEL(eight) { four[0] = half[0]; }
    INDEXED_KERNEL(quarter) { y[0] = four[index]; rest[0] = 0; }
    """


def test_temporaries_are_held_during_their_launches(tmp_path: Path) -> None:
    params = {"n": {"default": 5000}}
    folder = write_operator(tmp_path / "twice", {"chain.cu": CHAIN}, params=params, splits=True)
    gpu = Gpu(tmp_path / "gpu", more_in_c="#include <string.h>\n" + CHAIN_IN_C)
    contenders = [
        cuda("chain", alloc=["arena", "malloc", "async", "caching"]),
        cuda("chain", alloc=["caching"], copy=["mapped", "overlapped"]),
        cuda("chain", launch=["graph"]),
    ]
    cases = gpu.run(folder, contenders)
    parts = {f"part_{name}" for name in ("halve", "eight", "quarter")}
    mapped = (SAMPLE | REPEATS) - {"h2d", "d2h", "h2d_device", "d2h_device"}
    assert {name: ok(case) - parts for name, case in cases.items()} == {
        "chain": SAMPLE | REPEATS,
        "chain/alloc=malloc": SAMPLE | REPEATS | ALLOCATES,
        "chain/alloc=async": SAMPLE | REPEATS | ALLOCATES,
        "chain/alloc=caching": SAMPLE | REPEATS | ALLOCATES,
        "chain/alloc=caching/copy=mapped": mapped,
        "chain/alloc=caching/copy=overlapped": SAMPLE | REPEATS | ALLOCATES,
        "chain/launch=graph": {"host_to_host", "kernel_cold"} | REPEATS,
    }
    geometry = "grid=1,1,1 threads=1,1,1 shared=0 cluster=1,1,1 cooperative=0"
    launched = {f"{name} {geometry}" for name in ("halve", "eight", "quarter")}
    assert gpu.launches() == {"half is random", *launched}


def test_temporaries_of_a_failed_call_are_given_back(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"chain.cu": CHAIN})
    gpu = Gpu(tmp_path / "gpu", more_in_c="#include <string.h>\n" + CHAIN_IN_C)
    gpu.environment["FAKE_CUDA"] = "cuLaunchKernel op=sample nth=2 always error=1"
    cases = gpu.run(folder, [cuda("chain", alloc=["malloc", "async", "caching"])])
    assert {case["status"] for case in cases.values()} == {"failed"}
    for case in cases.values():
        assert 'kernel "' in case["reason"], case["reason"]


# p grows by 6 x in each of 5 steps; every second one's first value is kept.
TRAINING_IN_C = """
    static double spent_ns;
    static void run_record(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        spent_ns += 400000;
        if (AT(int, 6) == 0 && AT(float *, 1)[0] != 1)
            note("p is not as it was copied in");
        AT(float *, 2)[AT(int, 6) / 2] = AT(float *, 1)[0];
    }
    static void run_add(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        spent_ns += 300000;
        for (long long i = 0; i < AT(long long, 4); i++)
            AT(float *, 1)[i] += (AT(int, 7) + 1) * AT(const float *, 0)[i];
    }
    #define STEP .argument_bytes = {8, 8, 8, 8, 8, 8, 4, 4}, .spent_ns = &spent_ns
    const kernel_t record = {"record", STEP, .n_arguments = 7, .run = run_record};
    const kernel_t add = {"add", STEP, .n_arguments = 8, .run = run_add};
    """
# Launched as a graph, first launches that overlap the step before, and those of an index side by side.
OTHER_TRAINING_RUNG = """
    LAUNCHED_AS_GRAPH;
    ALGORITHMIC;
    LAUNCHES = {every("2", {"record", {1}, {1}, "", {}, 0, 1}), side_by_side("3", {"add"})};
    KERNEL(record) { first[step / 2] = p[0]; }
    INDEXED_KERNEL(add) { p[0] += (index + 1) * x[0]; }
    """
TRAINING_RUNG = """
    LAUNCHES = {every("2", {"record"}), indexed("3", {"add"})};
    KERNEL(record) { first[step / 2] = p[0]; }
    INDEXED_KERNEL(add) { p[0] += (index + 1) * x[0]; }
    """


GROWING = "def step(p, x, step): return p + 6 * x, p[0]"
LEARNED = """
def data(params, dtype):
    import torch
    return [torch.ones(params["n"])]

def evaluate(p, x):
    return {"accuracy": p[0].item() / x[0].item(), "dataset": "made up"}
"""


def growing(folder: Path, rung: str, **keys: Any) -> Path:
    """Make a training with one rung, `grow`."""
    curve = {"name": "first", "shape": ["ceil_div(steps, 2)"], "dtype": "T"}
    return write_operator(
        folder,
        {
            "reference.py": GROWING + LEARNED,
            "grow.cu": HEAD + rung,
        },
        params={"n": {"default": 1000}, "steps": {"default": 5}},
        outputs=[{**curve, "curve": True, "every": 2}],
        **{"training": {"steps": "steps"}, "inputs": [MIXED["inputs"][0], X], **keys},
    )


def test_launches_of_a_training(tmp_path: Path) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    folder = growing(tmp_path / "growing", TRAINING_RUNG)
    contenders = [cuda("grow"), cuda("grow", launch=["graph"])]
    cases = gpu.run(folder, contenders, axes={"steps": [5, 20]})
    parts = {"part_record", "part_add"}
    assert {name: ok(case) for name, case in cases.items()} == {
        "grow/steps=5": SAMPLE | parts,
        "grow/steps=5/launch=graph": IN_GRAPH | parts,
        # 70 launches.
        "grow/steps=20": SAMPLE,
        "grow/steps=20/launch=graph": IN_GRAPH,
    }
    for name, case in cases.items():
        if "steps=5" not in name:
            continue
        assert [step for step, _ in case["results"]["first"]] == [0, 2, 4]
        assert "algorithmic" not in case["results"]
        ns = {phase: facts["median"] for phase, facts in case["phases"].items()}
        events = ns["kernel"] - 3 * 400000 - 15 * 300000
        assert events > 0
        assert ns["part_record"] == pytest.approx(3 * (400000 + events))
        assert ns["part_add"] == pytest.approx(15 * (300000 + events))
    assert not any(line.startswith("p is") for line in gpu.launches())


@pytest.mark.parametrize("compared", ["step", "train"])
def test_a_training_that_is_compared_by_its_steps(tmp_path: Path, compared: str) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    folder = growing(tmp_path / "growing", TRAINING_RUNG, compare=compared)
    contenders = [cuda("grow", alloc=["malloc"]), cuda("grow", launch=["graph"])]
    cases = gpu.run(folder, contenders)
    parts = {"part_record", "part_add"}
    assert {name: ok(case) for name, case in cases.items()} == {
        "grow/alloc=malloc": STEPS | {"malloc", "free"} | parts,
        "grow/launch=graph": STEPS | parts,
    }
    for case in cases.values():
        ns = {phase: facts["median"] for phase, facts in case["phases"].items()}
        assert ns["step_device"] == pytest.approx(ns["train_device"] / 5)
        assert ns["train"] > 3 * ns["step"] > 0


# As the rung, in C, which is told nothing of the steps before.
GROWING_IN_C = """
void run(T *p, const T *x, T *first, long long n, long long steps) {
    for (int s = 0; s < WORKLOAD_STEPS; s++) {
        if (s % 2 == 0)
            first[s / 2] = p[0];
        for (long long i = 0; i < n; i++)
            p[i] += 6 * x[i];
    }
}
"""


def test_a_whole_training_is_call_after_call(tmp_path: Path) -> None:
    """Each goes on where the last one ended, in every engine; the reference says what is learned."""
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    training = {"steps": "steps", "whole": "4 * steps"}
    start = {**MIXED["inputs"][0], "fill": {"uniform": [0, 1]}}
    inputs = [start, {**X, "fill": "data"}]
    keys = {"training": training, "compare": "step", "inputs": inputs}
    folder = growing(tmp_path / "growing", TRAINING_RUNG, **keys)
    (folder / "omp.c").write_text(GROWING_IN_C.replace("T *p, const T *x", "const T *x, T *p"))
    cpu = {"device": ["cpu"], "variants": ["eager"]}
    contenders = [
        cuda("grow"),
        {"engine": "cpu", "variants": ["omp"]},
        {"engine": "pytorch", **cpu},
    ]
    cases = gpu.run(folder, contenders, axes={"steps": [4]})
    assert len(cases) == 3
    for case in cases.values():
        ok(case)
        results = case["results"]
        steps, values = zip(*results["first"], strict=True)
        assert steps == tuple(range(0, 16, 2))
        assert values == pytest.approx([values[0] + 6 * step for step in steps])
        assert results["accuracy"] == pytest.approx(values[0] + 6 * 16)
        assert results["dataset"] == "made up"


# Of two arrays: t[i] is 6 x, or 12 x, then added to p[i]. A launch takes long enough for a trace.
LISTS = """
    #define TEMPORARIES TEMPORARY_LIST(float, t, 2, "4 * n", "grow[i]", "add[i]")
    #include "common/workload.cuh"
    LAUNCHES = {indexed("2", {"grow"}), in_turn({"add"})};
    INDEXED_KERNEL(grow) { t[index][0] = 6 * (index + 1) * x[0]; }
    INDEXED_KERNEL(add) { p[index][0] += t[index][0]; first[step / 2] = p[0][0]; }
    """
LISTS_IN_C = """
    #include <unistd.h>
    static void run_grow(const kernel_t *kernel, void *const *arguments) {
        usleep(50); // # mood: the fake trace has a kernel in every 20 µs
        float *const *p = arguments[1], *const *t = arguments[7];
        const int index = AT(int, 8);
        const bool adds = kernel->name[0] == 'a';
        if (t[index] == NULL || t[1 - index] != NULL)
            note("another is held");
        if (adds && AT(int, 6) % 2 == 0 && index == 0)
            AT(float *, 2)[AT(int, 6) / 2] = p[0][0];
        for (long long i = 0; i < AT(long long, 4) && adds; i++)
            p[index][i] += t[index][i];
        for (long long i = 0; i < AT(long long, 4) && !adds; i++)
            t[index][i] = 6 * (index + 1) * AT(const float *, 0)[i];
    }
    #define LISTS .argument_bytes = {8, 16, 8, 8, 8, 8, 4, 16, 4}, .n_arguments = 9, .run = run_grow
    const kernel_t grow = {"grow", LISTS}, add = {"add", LISTS};
    """
LISTS_OMP = """
void run(const T *x, T *const *p, T *first, long long n, long long steps) {
    for (int s = 0; s < WORKLOAD_STEPS; s++) {
        if (s % 2 == 0)
            first[s / 2] = p[0][0];
        for (long long i = 0; i < n; i++)
            p[0][i] += 6 * x[i], p[1][i] += 12 * x[i];
    }
}
"""


def test_lists_in_place_and_of_temporaries(tmp_path: Path) -> None:
    """Two launches take turns, and each has of a list what its index has taken."""
    gpu = Gpu(tmp_path / "gpu", more_in_c=LISTS_IN_C)
    cupti = tmp_path / "libcupti.so.13"
    compile_fake(cupti, ["cupti"])
    gpu.environment["BENCH_CUPTI"] = str(cupti)
    inputs = [{**MIXED["inputs"][0], "repeat": 2}, X]
    keys = {"compare": "step", "techniques": {"allocator": "caching"}}
    folder = growing(tmp_path / "growing", "", inputs=inputs, **keys)
    step = "def step(p, x, step): return [p[i] + 6 * (i + 1) * x for i in range(2)], p[0][0]"
    for name, text in {"reference.py": step, "grow.cu": LISTS, "omp.c": LISTS_OMP}.items():
        (folder / name).write_text(text)
    contenders = [
        cuda("grow", allocator=["arena", "malloc", "caching"]),
        cuda("grow", launch=["graph"], allocator=["caching", "malloc"]),
        {"engine": "cpu", "variants": ["omp"]},
        {"engine": "pytorch", "device": ["cpu"], "variants": ["eager", "compile"]},
    ]
    cases = gpu.run(folder, contenders)
    returns = cases.pop("grow/allocator=malloc/launch=graph")
    reason = "launch=graph replays fixed addresses: needs memory from arena or caching"
    assert (returns["status"], returns["reason"]) == ("skipped", reason)
    assert len(cases) == 7
    for name, case in cases.items():
        ok(case)
        assert ("split" in case["results"]) == name.startswith("grow"), name
    assert not {line for line in gpu.launches() if "held" in line}
    # The fake CUPTI reports a kernel of 1 µs every 20 µs, and no calls.
    split = cases["grow"]["results"]["split"]
    assert 0 < split["kernels_ns"] <= split["epoch_ns"] / 20 + 1000
    assert split["driver_ns"] == 0
    calls = {
        name: [call["driver_calls"] for call in case["results"]["epochs"]]
        for name, case in cases.items()
        if name.startswith("grow")
    }
    # Four arrays, and in each of five steps two temporaries: all of it taken and given back.
    assert calls["grow/allocator=malloc"] == [28, 28]
    assert calls["grow/allocator=arena"] == calls["grow/launch=graph"] == [0, 0]
    first, later = calls["grow"]
    assert first > 0 and later == 0


def test_a_whole_training_has_whole_calls(tmp_path: Path) -> None:
    folder = growing(tmp_path / "growing", "", training={"steps": "steps", "whole": 12})
    refused = bench(
        "run", "--workload", folder, "--set", "steps=5", "--set", "device=cpu", expect=2
    ).stderr
    assert "training.whole: 12, expected a multiple of the 5 steps of a call" in refused


def test_what_a_rung_says_of_its_launches(tmp_path: Path) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=TRAINING_IN_C)
    cases = gpu.run(growing(tmp_path / "growing", OTHER_TRAINING_RUNG), [cuda("grow")])
    assert ok(cases["grow"]) == IN_GRAPH | {"part_record", "part_add"}
    assert cases["grow"]["results"]["algorithmic"] is True
    same = "grid=1,1,1 threads=1,1,1 shared=0 cluster=1,1,1 cooperative=0"
    # No run overlaps the one before.
    assert gpu.launches() == {f"record {same}", f"record {same} overlaps=1", f"add {same}"}


@pytest.mark.parametrize("arch", [80, 90])
def test_launches_that_overlap_the_one_before(tmp_path: Path, arch: int) -> None:
    launches = '{{"mixed_first", {1}, {1}}, {"mixed_second", {1}, {1}, "", {}, 0, 1}}'
    two = f'WORKSPACE = "4 * n";\nLAUNCHES = {launches};\nKERNEL(mixed_first) {{}}\n'
    two += "KERNEL(mixed_second) { y[0] = a; }\n"
    files = {"reference.py": MIXED_REFERENCE, "two.cu": HEAD + two}
    folder = write_operator(tmp_path / "mixed", files, **MIXED)
    gpu = Gpu(tmp_path / "gpu", f"-DARCH={arch}")
    for case in gpu.run(folder, [cuda("two")]).values():
        ok(case)
    same = "grid=1,1,1 threads=1,1,1 shared=0 cluster=1,1,1 cooperative=0"
    assert gpu.launches() == {
        "the workspace has random bytes",
        f"mixed_first {same}",
        f"mixed_second {same}",  # as a part, alone
        *([f"mixed_second {same} overlaps=1"] if arch >= 90 else []),
    }


def test_launches_that_are_not_possible_are_skipped(tmp_path: Path) -> None:
    files = {f"{name}.cu": rung(launches) for name, (launches, _) in SKIPPED.items()}
    static = 'LAUNCHES = {{"twice", {"1"}, {"1"}, "200000"}};\nKERNEL(twice) {'
    static += " __shared__ float a[10000]; a[n] = x[0]; __syncthreads(); y[0] = a[0]; }\n"
    files |= {"good.cu": rung(GOOD), "static.cu": HEAD + static}
    gpu = Gpu(tmp_path / "gpu")
    cases = gpu.run(
        write_operator(tmp_path / "twice", files), [cuda("*"), cuda("good", copy=["mapped"])]
    )
    assert ok(cases.pop("good")) == SAMPLE | REPEATS
    copied = {"h2d", "d2h", "h2d_device", "d2h_device"}
    assert ok(cases.pop("good/copy=mapped")) == (SAMPLE | REPEATS) - copied
    expected = {name: reason for name, (_, reason) in SKIPPED.items()}
    expected["static"] = 'kernel "twice": 40000 bytes of static and 200000 of dynamic shared memory'
    assert {case["status"] for case in cases.values()} == {"skipped"}
    for name, reason in expected.items():
        assert cases[name]["reason"].startswith(reason), cases[name]["reason"]
    assert gpu.launches() == {
        "twice grid=1000,1,1 threads=1,1,1 shared=0 cluster=1,1,1 cooperative=0"
    }


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


def test_inputs_do_not_change_without_memory_for_a_copy(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"good.cu": rung(GOOD)})
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


CLUSTER = '{{"twice", {"8"}, {"1"}, "", {"4"}}}'


def test_clusters_that_this_gpu_has_not(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"cluster.cu": rung(CLUSTER)})
    (case,) = Gpu(tmp_path / "gpu", "-DCLUSTERS=0").run(folder, [cuda("cluster")]).values()
    reason = 'kernel "twice": a cluster of 4 x 1 x 1 such blocks does not fit on this GPU'
    assert (case["status"], case["reason"]) == ("skipped", reason)


def test_clusters_that_wait_for_each_other_must_all_fit(tmp_path: Path) -> None:
    launches = CLUSTER.replace("}}", "}, 1}")
    folder = write_operator(tmp_path / "twice", {"cluster.cu": rung(launches)})
    (case,) = Gpu(tmp_path / "gpu", "-DCLUSTERS=1").run(folder, [cuda("cluster")]).values()
    reason = 'kernel "twice": a cooperative launch of 8 blocks in clusters of 4, of which 4 blocks '
    assert (case["status"], case["reason"]) == ("skipped", reason + "are resident")


def test_a_driver_without_a_pool(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"good.cu": rung(GOOD)})
    gpu = Gpu(tmp_path / "gpu", "-DWITHOUT_POOL")
    (case,) = gpu.run(folder, [cuda("good", alloc=["async"])]).values()
    assert (case["status"], case["reason"]) == ("skipped", "this driver has no cuMemAllocAsync")


def test_shifted_arrays_find_a_rung_that_assumes_alignment(tmp_path: Path) -> None:
    aligned = '{{"aligned", {"1"}, {"1"}}}'
    files = {"aligned.cu": rung(aligned, "aligned"), "good.cu": rung(GOOD)}
    folder = write_operator(tmp_path / "twice", files)
    contenders = [
        cuda("aligned", "good"),
        cuda("good", alloc=["async"]),
        cuda("good", alloc=["malloc"]),
    ]
    gpu = Gpu(tmp_path / "gpu")
    for case in gpu.run(folder, [cuda("aligned")]).values():
        ok(case)
    shutil.rmtree(tmp_path / "twice_run")
    cases = gpu.run(folder, contenders, BENCH_SHIFT_ARRAYS="1")
    assert cases.pop("aligned")["status"] == "wrong"
    for case in cases.values():
        ok(case)


@pytest.mark.parametrize("compiler", ["nvrtc", pytest.param("nvcc", marks=pytest.mark.long)])
def test_a_folder_outside_the_project(tmp_path: Path, compiler: str) -> None:
    found = {
        item["what"]: item["found"]
        for item in json.loads(bench("doctor", "--json", **NO_PYTHON).stdout)
    }
    if not found[{"nvrtc": "NVRTC"}.get(compiler, compiler)]:
        pytest.skip(f"{compiler} is not installed")
    folder = write_operator(tmp_path / "elsewhere" / "twice", {"good.cu": rung(GOOD)})
    gpu, run = Gpu(tmp_path / "gpu"), tmp_path / "run"
    options = ["--engine", "cuda", "--quick", "--time-limit", "1s", "--compiler", compiler]
    command = ["run", "--workload", folder, "--out", run, *options]
    bench(*command, cwd=tmp_path, expect=1, **gpu.environment)
    cases = [case for case in read_cases(run).values() if case["workload"] == "twice"]
    # Both ways to launch, unless --set names one.
    assert [case["techniques"]["launch"] for case in cases] == ["stream", "graph"]
    for case in cases:
        ok(case)


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
            "good.cu": rung(GOOD),
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
    files = {"reference.py": reference, "good.cu": rung(GOOD)}
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


# The kernel doubles, and the reference says a thousandth more.
ROUGH = {
    "techniques": {"sums": ["f32", "f16"]},
    "outputs": [{**Y, "tolerance": {"rel_l2": "(1 + 99 * sums) / 10 ** 4"}}],
}


def test_a_technique_of_its_own(tmp_path: Path) -> None:
    compiler_options()
    check = "#if SUMS_F16 == SUMS_F32\n#error both\n#endif\n"
    own = rung(GOOD).replace("[0]", "[blockIdx.x]")
    files = {"reference.py": "def reference(x): return 2.002 * x", "good.cu": check + own}
    folder = write_operator(tmp_path / "rough", files, **ROUGH)
    cases = Gpu(tmp_path / "gpu").run(folder, [cuda("good", sums=["f32", "f16"])])
    assert cases["good"]["status"] == "wrong"
    assert ok(cases["good/sums=f16"])
    for sums, code in (("f32", 1), ("f16", 0)):
        found = bench(
            "workload", "check", folder, "--emulate", "--set", f"sums={sums}", expect=code
        )
        assert ("allowed 0.0001" in found.stdout) == (code == 1)
