"""CUDA rungs of operators on the fake GPU: arguments, workspaces, temporaries, kinds of launches."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from cuda_rungs import ALLOCATES, HEAD, IN_GRAPH, REPEATS, SAMPLE, Gpu, cuda, ok, rung
from operator_folders import X, Y, write_operator
from project import NO_PYTHON, bench, compiler_options, read_cases

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

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
    "cluster": (
        '{{"twice", {"8"}, {"1"}, "", {"4"}}}',
        'kernel "twice": a cluster of 4 x 1 x 1 such blocks does not fit on this GPU',
    ),
}


def test_arguments_workspace_and_arrays_in_place(tmp_path: Path) -> None:
    files = {"reference.py": MIXED_REFERENCE, "one.cu": HEAD + ONE, "two.cu": HEAD + TWO}
    folder = write_operator(tmp_path / "mixed", files, **MIXED)
    gpu = Gpu(tmp_path / "gpu", "-DCLUSTERS=2", more_in_c=MIXED_IN_C)
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
    #include <string.h>
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
    gpu = Gpu(tmp_path / "gpu", more_in_c=CHAIN_IN_C)
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
    gpu = Gpu(tmp_path / "gpu", more_in_c=CHAIN_IN_C)
    gpu.environment["FAKE_CUDA"] = "cuLaunchKernel op=sample nth=2 always error=1"
    cases = gpu.run(folder, [cuda("chain", alloc=["malloc", "async", "caching"])])
    assert {case["status"] for case in cases.values()} == {"failed"}
    for case in cases.values():
        assert 'kernel "' in case["reason"], case["reason"]


@pytest.mark.parametrize("arch", [80, 90])
def test_launches_that_overlap_the_one_before(tmp_path: Path, arch: int) -> None:
    launches = '{{"mixed_first", {1}, {1}}, {"mixed_second", {1}, {1}, "", {}, 0, 1}}'
    two = f'WORKSPACE = "4 * n";\nLAUNCHES = {launches};\nKERNEL(mixed_first) {{}}\n'
    two += "KERNEL(mixed_second) { y[0] = a; }\n"
    files = {"reference.py": MIXED_REFERENCE, "two.cu": HEAD + two}
    folder = write_operator(tmp_path / "mixed", files, **MIXED)
    gpu = Gpu(tmp_path / "gpu", f"-DARCH={arch}", more_in_c=MIXED_IN_C)
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
    files |= {"good.cu": rung(), "static.cu": HEAD + static}
    gpu = Gpu(tmp_path / "gpu", "-DCLUSTERS=0", "-DWITHOUT_POOL")
    contenders = [cuda("*"), cuda("good", copy=["mapped"]), cuda("good", alloc=["async"])]
    cases = gpu.run(write_operator(tmp_path / "twice", files), contenders)
    assert cases["good/alloc=async"]["reason"] == "this driver has no cuMemAllocAsync"
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


def test_clusters_that_wait_for_each_other_must_all_fit(tmp_path: Path) -> None:
    launches = SKIPPED["cluster"][0].replace("}}", "}, 1}")
    folder = write_operator(tmp_path / "twice", {"cluster.cu": rung(launches)})
    (case,) = Gpu(tmp_path / "gpu", "-DCLUSTERS=1").run(folder, [cuda("cluster")]).values()
    reason = 'kernel "twice": a cooperative launch of 8 blocks in clusters of 4, of which 4 blocks '
    assert (case["status"], case["reason"]) == ("skipped", reason + "are resident")


def test_shifted_arrays_find_a_rung_that_assumes_alignment(tmp_path: Path) -> None:
    aligned = '{{"aligned", {"1"}, {"1"}}}'
    files = {"aligned.cu": rung(aligned, "aligned"), "good.cu": rung()}
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
    folder = write_operator(tmp_path / "elsewhere" / "twice", {"good.cu": rung()})
    gpu, run = Gpu(tmp_path / "gpu"), tmp_path / "run"
    options = ["--engine", "cuda", "--quick", "--time-limit", "1s", "--compiler", compiler]
    command = ["run", "--workload", folder, "--out", run, *options]
    bench(*command, cwd=tmp_path, expect=1, **gpu.environment)
    cases = [case for case in read_cases(run).values() if case["workload"] == "twice"]
    # Both ways to launch, unless --set names one.
    assert [case["techniques"]["launch"] for case in cases] == ["stream", "graph"]
    for case in cases:
        ok(case)


# The kernel doubles, and the reference says a thousandth more.
ROUGH = {
    "techniques": {"sums": ["f32", "f16"]},
    "outputs": [{**Y, "tolerance": {"rel_l2": "(1 + 99 * sums) / 10 ** 4"}}],
}


def test_a_technique_of_its_own(tmp_path: Path) -> None:
    compiler_options()
    check = "#if SUMS_F16 == SUMS_F32\n#error both\n#endif\n"
    own = rung().replace("[0]", "[blockIdx.x]")
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
