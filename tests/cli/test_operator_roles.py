"""Weights, also by value, lists, resident inputs, and parts of the size, on the fake GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from cuda_rungs import ALLOCATES, HEAD, REPEATS, SAMPLE, Gpu, cuda, ok
from operator_folders import X, Y, make_project, write_operator
from project import bench, write_sweep
from test_operator_host_code import add_nvcc

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

FILL = {"uniform": [0.5, 1.5]}
ROLES: dict[str, Any] = {
    "params": {
        "n": {"default": 1000, "constant": "optional"},
        "k": {"default": 3, "constant": True},
    },
    "inputs": [
        X,
        {
            **{"name": "w", "repeat": 2, "shape": ["k - i"], "dtype": "T", "fill": FILL},
            "weights": True,
        },
        {"name": "t", "shape": ["k"], "dtype": "T", "fill": FILL, "resident": True},
        {"name": "u", "repeat": 2, "shape": ["k"], "dtype": "T"},
    ],
    "size": "n",
    "splits": True,
}
REFERENCE = "def reference(x, w, t, u): return x * (w[0][0] + t[1]) + w[1][1] + u[1][0]"
RUNG = """LAUNCHES = {{{{"{0}", {{"ceil_div(n, 256)"}}, {{"256"}}}}}};
KERNEL({0}) {{ y[0] = x[0] * (w[0][0] + t[1]) + w[1][1] + u[1][0]{1}; }}
"""
# Each spends 300 µs, by its own account, where it does work; all but `honest` know when they need
# not. Those whose name ends with _v take the weights by value.
IN_C = """
    #include <string.h>
    static double spent_ns;
    typedef struct list { const float *at[2]; } list_t;
    typedef struct values { float at[5]; } values_t;
    #define W AT(list_t, 1).at
    #define V AT(values_t, 1).at
    #define T AT(const float *, 2)
    static void compute(void *const *arguments, float w, float v, float t) {
        for (long long i = 0; i < AT(long long, 6); i++)
            AT(float *, 4)[i] = AT(const float *, 0)[i] * (w + t) + v + AT(list_t, 3).at[1][0];
    }
    #define KERNEL(name, weight_bytes)                                                     \\
        static void run_##name(const kernel_t *kernel, void *const *arguments);            \\
        const kernel_t name = {#name, .argument_bytes = {8, weight_bytes, 8, 16, 8, 8, 8}, \\
                               .n_arguments = 7, .run = run_##name, .spent_ns = &spent_ns}; \\
        static void run_##name(const kernel_t *kernel, void *const *arguments)
    #define IN_BUFFERS 16
    #define BY_VALUE 20
    #define HONEST(name, weight_bytes, w, v)                                               \\
        KERNEL(name, weight_bytes) {                                                       \\
            spent_ns += 300000;                                                            \\
            compute(arguments, w, v, T[1]);                                                \\
        }
    HONEST(honest, IN_BUFFERS, W[0][0], W[1][1])
    HONEST(sized, IN_BUFFERS, W[0][0], W[1][1])
    HONEST(honest_v, BY_VALUE, V[0], V[4])
    #define KEEPS(name, weight_bytes, first, w, v, t)                                      \\
        KERNEL(name, weight_bytes) {                                                       \\
            static int launches;                                                           \\
            static float kept;                                                             \\
            const float now = first;                                                       \\
            spent_ns += 300000;                                                            \\
            if (launches++ == 0)                                                           \\
                kept = now;                                                                \\
            compute(arguments, w, v, t);                                                   \\
        }
    KEEPS(keeps_w, IN_BUFFERS, W[1][1], W[0][0], kept, T[1])
    KEEPS(keeps_v, BY_VALUE, V[0], kept, V[4], T[1])
    KEEPS(keeps_t, IN_BUFFERS, T[1], W[0][0], W[1][1], kept)
    #define PREPARES(name, weight_bytes, from, w, v)                                       \\
        KERNEL(name, weight_bytes) {                                                       \\
            static float last[2];                                                          \\
            if (memcmp(last, from, sizeof last) != 0)                                      \\
                spent_ns += 300000;                                                        \\
            memcpy(last, from, sizeof last);                                               \\
            compute(arguments, w, v, T[1]);                                                \\
        }
    PREPARES(prepares_w, IN_BUFFERS, W[1], W[0][0], W[1][1])
    PREPARES(prepares_v, BY_VALUE, V, V[0], V[4])
    PREPARES(prepares_t, IN_BUFFERS, T, W[0][0], W[1][1])
    """


def rung(name: str) -> str:
    head = HEAD.replace("workload", "by_value") if name.endswith("_v") else HEAD
    return head + RUNG.format(name, " + 0 * N" if name == "sized" else "")


def project(folder: Path, *variants: str, **keys: Any) -> tuple[Gpu, Path]:
    files = {f"{name}.cu": rung(name) for name in variants}
    folder_of = write_operator(
        folder / "roles", {"reference.py": REFERENCE, **files}, **{**ROLES, **keys}
    )
    return Gpu(folder / "gpu", more_in_c=IN_C), folder_of


COPIES_IN = {"h2d", "h2d_device"}
COPIES_OUT = {"d2h", "d2h_device"}


def test_phases_and_results_with_every_technique(tmp_path: Path) -> None:
    gpu, folder = project(tmp_path, "honest")
    graph = {"launch": ["graph"], "weights": ["resident", "upload"]}
    contenders = [
        cuda("honest", weights=["resident", "upload"]),
        cuda("honest", weights=["upload"], copy=["pageable"], alloc=["malloc", "async"]),
        cuda("honest", copy=["mapped"], weights=["resident", "upload"], wait=["sync", "poll"]),
        cuda("honest", **graph),
        cuda("honest", copy=["overlapped"], **graph),
        cuda("honest", copy=["overlapped"], weights=["upload"], alloc=["malloc"]),
    ]
    phases = {name: ok(case) for name, case in gpu.run(folder, contenders, min_rounds=4).items()}
    every = SAMPLE | REPEATS
    mapped, whole = every - COPIES_IN - COPIES_OUT, {"host_to_host", "kernel_cold"} | REPEATS
    assert phases == {
        "honest": every,
        "honest/weights=upload": every,
        "honest/alloc=malloc/copy=pageable/weights=upload": every | ALLOCATES,
        "honest/alloc=async/copy=pageable/weights=upload": every | ALLOCATES,
        "honest/copy=mapped": mapped,
        "honest/copy=mapped/wait=poll": mapped,
        "honest/copy=mapped/weights=upload": mapped | COPIES_IN,
        "honest/copy=mapped/weights=upload/wait=poll": mapped | COPIES_IN,
        "honest/launch=graph": whole,
        "honest/weights=upload/launch=graph": whole,
        "honest/alloc=malloc/copy=overlapped/weights=upload": every | ALLOCATES,
        "honest/copy=overlapped/launch=graph": whole,
        "honest/copy=overlapped/weights=upload/launch=graph": whole,
    }


@pytest.mark.parametrize("launch", ["stream", "graph"])
def test_kernels_that_keep_old_values_are_wrong(tmp_path: Path, launch: str) -> None:
    variants = ["keeps_w", "keeps_v", "keeps_t"]
    gpu, folder = project(tmp_path, *variants)
    for case in gpu.run(folder, [cuda(*variants, launch=[launch])], min_rounds=4).values():
        assert case["status"] == "wrong", case["id"]
        assert "y differs from the reference output" in case["reason"]


@pytest.mark.long
def test_kernels_that_prepare_weights_are_implausible(tmp_path: Path) -> None:
    variants = ["honest", "prepares_w", "prepares_v", "prepares_t"]
    gpu, folder = project(tmp_path, *variants)
    cases = gpu.run(folder, [cuda(*variants)], min_rounds=6)
    ok(cases.pop("honest"))
    assert len(cases) == 3
    for case in cases.values():
        assert case["status"] == "implausible", case["reason"]
        assert any("kernel_graph is slower on new inputs" in flag for flag in case["flags"])


def test_parts_are_launched_with_their_size(tmp_path: Path) -> None:
    gpu, folder = project(tmp_path, "honest")
    cases = gpu.run(
        folder,
        [cuda("honest", copy=["overlapped"])],
        axes={"n": [300001, 100]},
    )
    assert [ok(case) for case in cases.values()] == [SAMPLE | REPEATS] * 2
    # The output is as large as the input: a chunk of 5/9 of the rows, in units of 1024, and the rest.
    sizes = [300001, 165888, 300001 - 165888, 100]
    rest = "threads=256,1,1 shared=0 cluster=1,1,1 cooperative=0"
    assert gpu.launches() == {f"honest grid={-(-n // 256)},1,1 {rest}" for n in sizes}


HOST = """
#include "common/workload.cuh"
static void all(const kernel_t *, void *const *a) {
    const float *x = *(const float **)a[0], *const *w = (const float **)a[1];
    const float *t = *(const float **)a[2], *const *u = (const float **)a[3];
    for (long long i = 0; i < *(long long *)a[5]; i++)
        (*(float **)a[4])[i] = x[i] * (w[0][0] + t[1]) + w[1][1] + u[1][0];
}
extern "C" void run(WORKLOAD_ARGUMENTS, cudaStream_t stream) {
    launch(all, stream, x, w, t, u, y, n);
}
"""


@pytest.mark.long
def test_host_code_gets_them_too(tmp_path: Path) -> None:
    folder = write_operator(
        tmp_path / "roles", {"reference.py": REFERENCE, "code.cu": HOST}, **ROLES
    )
    gpu = Gpu(tmp_path / "gpu", more_in_c=IN_C)
    add_nvcc(gpu, tmp_path)
    contenders = [cuda("code"), cuda("code", copy=["overlapped"], launch=["graph"])]
    cases = gpu.run(folder, contenders, axes={"n": [300001]}, min_rounds=4)
    assert len(cases) == 2
    for case in cases.values():
        ok(case)


def test_parts_that_cannot_be_launched(tmp_path: Path) -> None:
    gpu, folder = project(tmp_path, "honest", where="n % 3 == 1 || n == 1000")
    cases = gpu.run(folder, [cuda("honest", copy=["overlapped"])], axes={"n": [300001]})
    [case] = cases.values()
    reason = 'copy=overlapped, n = 165888: where: "n % 3 == 1 || n == 1000" is false'
    assert (case["status"], case["reason"]) == ("skipped", reason)


INTEGERS = [{**Y, "dtype": "i32"}]


@pytest.mark.parametrize(
    ("technique", "choice", "keys", "said"),
    [
        (
            "weights",
            "upload",
            {"inputs": [X]},
            'weights=upload: no input of roles has "weights": true',
        ),
        ("copy", "overlapped", {"splits": False}, 'copy=overlapped: roles has no "splits": true'),
        (
            "wait",
            "poll",
            {"outputs": INTEGERS},
            "wait=poll: found the output y of i32, expected f32 or f16",
        ),
    ],
)
def test_techniques_that_a_description_does_not_allow(
    tmp_path: Path, technique: str, choice: str, keys: dict[str, Any], said: str
) -> None:
    files = {"reference.py": REFERENCE, "honest.cu": rung("honest")}
    folder = write_operator(tmp_path / "roles", files, **{**ROLES, **keys})
    contenders = [cuda("honest", **{technique: [choice]})]
    sweep = write_sweep(tmp_path / "s.json", "roles", contenders)
    done = bench("run", sweep, "--out", tmp_path / "run", root=make_project(folder), expect=2)
    assert f"roles/cuda/honest/n=1000/k=3/{technique}={choice}: {said}" in done.stderr


def test_what_a_case_of_a_rung_cannot_be(tmp_path: Path) -> None:
    """Weights that do not fit into the parameters, and a part of a size that is compiled in."""
    gpu, folder = project(tmp_path, "honest_v", "sized")
    contenders = [cuda("honest_v"), cuda("sized", copy=["pinned", "overlapped"])]
    cases = gpu.run(folder, contenders, axes={"k": [3, 481]}, min_rounds=4)
    found = {name: case["reason"] or ok(case) for name, case in cases.items()}
    large = "the weights are over 3840 bytes, so they are not passed by value"
    parts = (
        "copy=overlapped launches kernels for parts of n, and this one is compiled for all of it: "
        "it mentions N"
    )
    every = SAMPLE | REPEATS
    assert found == {
        "honest_v/k=3": every,
        "honest_v/k=481": large,
        "sized/k=3": every,
        "sized/k=3/copy=overlapped": parts,
        "sized/k=481": every,
        "sized/k=481/copy=overlapped": parts,
    }
