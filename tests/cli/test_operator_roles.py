"""Weights, inputs by value, resident ones, and parts of the size, on the fake GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from operator_folders import X, Y, make_project, write_operator
from project import FIXTURES, bench, write_sweep
from test_operator_cuda import ALLOCATES, HEAD, REPEATS, SAMPLE, Gpu, cuda, ok
from test_operator_host_code import add_nvcc

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

FILL = {"uniform": [0.5, 1.5]}
ROLES: dict[str, Any] = {
    "params": {"n": {"default": 1000}, "k": {"default": 3, "constant": True}},
    "inputs": [
        X,
        {"name": "w", "shape": ["k"], "dtype": "T", "fill": FILL, "weights": True},
        {"name": "v", "shape": ["k"], "dtype": "T", "fill": FILL, "by_value": True},
        {"name": "t", "shape": ["k"], "dtype": "T", "fill": FILL, "resident": True},
        {"name": "u", "shape": ["k"], "dtype": "T"},
    ],
    "size": "n",
    "splits": True,
}
REFERENCE = "def reference(x, w, v, t, u): return x * (w[0] + t[1]) + v[2] + u[0]"
RUNG = """LAUNCHES = {{{{"{0}", {{"ceil_div(n, 256)"}}, {{"256"}}}}}};
KERNEL({0}) {{ y[0] = x[0] * (w[0] + t[1]) + v[2] + u[0]; }}
"""
# Each spends 300 µs, by its own account, where it does work; all but `honest` know when they need not.
IN_C = """
    #include <string.h>
    static double spent_ns;
    #define X AT(const float *, 0)
    #define W AT(const float *, 1)
    #define V (AT(three_t, 2).at)
    #define T AT(const float *, 3)
    typedef struct three { float at[3]; } three_t;
    static void compute(void *const *arguments, float w, float v, float t) {
        for (long long i = 0; i < AT(long long, 7); i++)
            AT(float *, 5)[i] = AT(const float *, 0)[i] * (w + t) + v + AT(const float *, 4)[0];
    }
    #define KERNEL(name)                                                                   \\
        static void run_##name(const kernel_t *kernel, void *const *arguments);            \\
        const kernel_t name = {#name, .argument_bytes = {8, 8, 12, 8, 8, 8, 8, 8},         \\
                               .n_arguments = 8, .run = run_##name, .spent_ns = &spent_ns}; \\
        static void run_##name(const kernel_t *kernel, void *const *arguments)
    KERNEL(honest) {
        spent_ns += 300000;
        compute(arguments, W[0], V[2], T[1]);
    }
    #define KEEPS(name, w, v, t)                                                           \\
        KERNEL(name) {                                                                     \\
            static int launches;                                                           \\
            static float kept[3];                                                          \\
            const float now[3] = {W[0], V[2], T[1]};                                       \\
            spent_ns += 300000;                                                            \\
            if (launches++ == 0)                                                           \\
                memcpy(kept, now, sizeof kept);                                            \\
            compute(arguments, w, v, t);                                                   \\
        }
    KEEPS(keeps_w, kept[0], V[2], T[1])
    KEEPS(keeps_v, W[0], kept[1], T[1])
    KEEPS(keeps_t, W[0], V[2], kept[2])
    #define PREPARES(name, from)                                                           \\
        KERNEL(name) {                                                                     \\
            static float last[3];                                                          \\
            if (memcmp(last, from, sizeof last) != 0)                                      \\
                spent_ns += 300000;                                                        \\
            memcpy(last, from, sizeof last);                                               \\
            compute(arguments, W[0], V[2], T[1]);                                          \\
        }
    PREPARES(prepares_w, W)
    PREPARES(prepares_v, V)
    PREPARES(prepares_t, T)
    """


def project(folder: Path, *variants: str, **keys: Any) -> tuple[Gpu, Path]:
    files = {f"{name}.cu": HEAD + RUNG.format(name) for name in variants}
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
    const float *x = *(const float **)a[0], *w = *(const float **)a[1], *v = (const float *)a[2];
    const float *t = *(const float **)a[3], *u = *(const float **)a[4];
    for (long long i = 0; i < *(long long *)a[6]; i++)
        (*(float **)a[5])[i] = x[i] * (w[0] + t[1]) + v[2] + u[0];
}
extern "C" void run(WORKLOAD_ARGUMENTS, cudaStream_t stream) {
    launch(all, stream, x, w, v, t, u, y, n);
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
    files = {"reference.py": REFERENCE, "honest.cu": HEAD + RUNG.format("honest")}
    folder = write_operator(tmp_path / "roles", files, **{**ROLES, **keys})
    contenders = [cuda("honest", **{technique: [choice]})]
    sweep = write_sweep(tmp_path / "s.json", "roles", contenders)
    done = bench("run", sweep, "--out", tmp_path / "run", root=make_project(folder), expect=2)
    assert f"roles/cuda/honest/n=1000/k=3/{technique}={choice}: {said}" in done.stderr


def test_too_much_by_value_at_a_size(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "roles", {"reference.py": REFERENCE}, **ROLES)
    sizes = ["--set", "k=960,961", "--set", "device=cpu"]
    done = bench("run", "--workload", folder, *sizes, "--quick", expect=2)
    assert (
        "k=961: v: by_value: found 3844 bytes, expected at most 3840 (3840 in all)" in done.stderr
    )


def test_forward_pass_of_mlp_infer_as_a_description() -> None:
    sizes = [f"--set={name}" for name in ("batch=300", "inputs=4", "hidden=5", "outputs=1")]
    mlp = FIXTURES / "operators" / "mlp"
    printed = bench("workload", "check", mlp, "--emulate", *sizes).stdout
    assert "03_vectorized  right in 1 case\n" in printed
    assert "w1     weights by value  f32    5 × 4" in printed
