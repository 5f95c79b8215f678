"""`bench workload check --emulate`: rungs on the CPU, right or wrong without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from operator_folders import X, Y, write_operator
from project import bench, compiler_options

pytestmark = pytest.mark.usefixtures("warm_workers")

HEAD = '#include "common/workload.cuh"\nLAUNCHES = {{"twice", {"ceil_div(n, 256)"}, {"256"}}};\n'
BODY = """KERNEL(twice) {{
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    {first}
    if (i < n)
        y[i] = 2 * x[i];
    {last}
}}
"""


def rung(first: str = "", last: str = "", head: str = "") -> str:
    return head + HEAD + BODY.format(first=first, last=last)


# Threads in two dimensions, of which some leave before a barrier; dynamic shared memory by a name of
# its own; parts of a warp; a sum over the grid.
MANY = """
#include <cooperative_groups.h>
#include <cfloat>
#include "common/workload.cuh"
namespace cg = cooperative_groups;
LAUNCHES = {{"sums", {"2"}, {"8", "4"}, "128", {}, 1},
            {"twice", {"2", "ceil_div(n, 64)"}, {"8", "4"}}};
WORKSPACE = "8";
KERNEL(sums) {
    if (blockIdx.x == 0 && threadIdx.x + threadIdx.y == 0)
        ((float *)workspace)[0] = 0;
    cg::this_grid().sync();
    extern __shared__ __align__(16) float of_rows[];
    const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
    const float eight = cg::reduce(tile, 1.0f, cg::plus<float>());
    if (tile.thread_rank() != 0)
        return;
    const float none = __shfl_up_sync(0x01010101, 0.0f, 8) + (INFINITY > FLT_MAX ? 0 : 1);
    of_rows[tile.meta_group_rank()] = eight + none;
    __syncthreads();
    if (tile.meta_group_rank() == 0)
        atomicAdd((float *)workspace, of_rows[0] + of_rows[1] + of_rows[2] + of_rows[3]);
}
KERNEL(twice) {
    const unsigned in_block = threadIdx.y * blockDim.x + threadIdx.x;
    const long long i = (blockIdx.y * gridDim.x + blockIdx.x) * 32LL + in_block;
    if (i < n)
        y[i] = x[i] * (*(float *)workspace == 64 ? 2 : 3);
}
"""
# Four launches, each of a quarter.
INDEXED = """
#include "common/workload.cuh"
LAUNCHES = {indexed("4", {"twice", {"ceil_div(n, 256)"}, {"64"}})};
INDEXED_KERNEL(twice) {
    const long long i = blockIdx.x * 256LL + index * 64 + threadIdx.x;
    if (i < n)
        y[i] = 2 * x[i];
}
"""
# Two that are never held together, one without bytes, one of the last launch, by its number.
TEMPORARIES = """
#define TEMPORARIES TEMPORARY(T, half, "4 * n", "halve", "eight") \\
                    TEMPORARY(float, four, "4 * n", "eight", "quarter") \\
                    TEMPORARY(int, none, "n - n", "0", "quarter") \\
                    TEMPORARY(char, last, "4", "2")
#include "common/workload.cuh"
LAUNCHES = {{{{"halve", {{"n"}}}}, {{"eight", {{"n"}}}}, indexed("2", {{"quarter", {{"n"}}}})}};
KERNEL(halve) {{ half[blockIdx.x{past}] = x[blockIdx.x] / 2; }}
KERNEL(eight) {{ four[blockIdx.x] = {also}half[blockIdx.x] * 8; }}
INDEXED_KERNEL(quarter) {{
    const bool is_right = none == nullptr && half == nullptr && last != nullptr;
    {first}
    if (index == 1)
        y[blockIdx.x] = is_right ? four[blockIdx.x] / 2 : 0;
}}
"""


def temporaries(also: str = "", past: str = "", first: str = "") -> str:
    return TEMPORARIES.format(also=also, past=past, first=first)


# By name: the rung, and what is said of it.
RUNGS = {
    "temporaries": (temporaries(), "right in 3 cases"),
    "taken_late": (
        temporaries(also="last[0] + "),
        "wrong at n=1 f32: signal 11 (Segmentation fault)",
    ),
    "given_back": (
        temporaries(first="four[0] = half[0];"),
        "wrong at n=1 f32: signal 11 (Segmentation fault)",
    ),
    "zeros": (temporaries(also="four[blockIdx.x] + "), "wrong at n=1000 f32: y differs from the"),
    "past_a_temporary": (
        temporaries(past=" + 1"),
        "wrong at n=1 f32: half is written past its end",
    ),
    "no_launch": (
        temporaries().replace('"0", "quarter"', '"3", "quarter"'),
        'wrong at n=1 f32: TEMPORARIES[2] (none): first: found "3", expected a kernel of LAUNCHES, '
        "or a number from 0 to 2",
    ),
    "many": (MANY, "right in 3 cases"),
    "indexed": (INDEXED, "right in 3 cases"),
    "wrong": (
        rung("if (i == n - 1) { y[i] = 3 * x[i]; return; }"),
        "wrong at n=1 f32: y differs from the reference output: relative L2 error 0.5, allowed "
        "1e-05; worst at element 0: ",
    ),
    "unwritten": (
        rung("if (i == 999) return;"),
        "wrong at n=1000 f32: y differs from the reference output: relative L2 error NaN, ",
    ),
    "crash": (
        rung("if (i == 5) *(volatile int *)8 = 0;"),
        "wrong at n=1 f32: signal 11 (Segmentation fault)",
    ),
    "past": (rung("if (i == 5) y[n] = 0;"), "wrong at n=1 f32: y is written past its end"),
    "far_past": (
        rung("if (i == 5) y[n + 9000] = 0;"),
        "wrong at n=1 f32: y is written past its end",
    ),
    "no_guard": (
        rung("if (i >= n) { y[i] = 2 * x[i]; return; }"),
        "wrong at n=1 f32: y is written past its end",
    ),
    "far_before": (
        rung("if (i == 5) y[-9000] = 0;"),
        "wrong at n=1 f32: y is written before its beginning",
    ),
    "input": (
        rung(last="if (i == 5 && i < n) ((float *)x)[i] = 0;"),
        "wrong at n=1000 f32: x is an input, and changed",
    ),
    "misaligned": (
        rung("if (i == 5) y[0] = __ldg((const float2 *)(x + 1)).x;"),
        "wrong at n=1 f32: a misaligned address",
    ),
    "other": (
        HEAD.replace("twice", "thrice", 1) + BODY.format(first="", last=""),
        'wrong at n=1 f32: LAUNCHES has "thrice", which is no kernel of this rung',
    ),
    "ptx": (
        rung('asm volatile("bar.sync 0;");'),
        "not tried: at n=1 f32: cannot be emulated: {folder}/ptx.cu has inline PTX (asm)",
    ),
    "mma": (
        rung(head="#include <mma.h>\n"),
        "not tried: at n=1 f32: cannot be emulated: <mma.h> is not emulated",
    ),
    "skips": (rung(head="#error SKIP: needs more\n"), "not tried: at n=1 f32: skipped: needs more"),
    "syntax": (rung("return; (;"), "wrong at n=1 f32: does not compile: {folder}/syntax.cu:5:"),
    "grid": (
        rung().replace('"ceil_div(n, 256)"', '"rows"'),
        'wrong at n=1 f32: kernel "twice": grid.x: "rows": character 1: unknown name "rows"',
    ),
    "unknown": (
        rung("no_such_function();"),
        "not tried: at n=1 f32: cannot be emulated: {folder}/unknown.cu:5:",
    ),
}


def lines_of(output: str) -> dict[str, str]:
    """Return what is said of each rung."""
    _, found, rest = output.partition("rungs on the CPU, at small sizes:\n")
    assert found, output
    lines = [line.split(None, 1) for line in rest.splitlines() if line.startswith("  ")]
    return {line[0]: line[1] for line in lines}


def test_each_rung_has_a_verdict(tmp_path: Path) -> None:
    files = {f"{name}.cu": text for name, (text, _) in RUNGS.items()}
    folder = write_operator(tmp_path / "twice", files)
    done = bench("workload", "check", folder, "--emulate", expect=1, BENCH_NVRTC="/no/nvrtc.so")
    found = lines_of(done.stdout)
    assert set(found) == set(RUNGS)
    for name, (_, said) in RUNGS.items():
        assert found[name].startswith(said.format(folder=folder)), found[name]
    assert "bench: twice: 17 of 24 rungs wrong, see above" in done.stderr


@pytest.mark.parametrize(
    "text", [rung("no_such_function();"), rung().replace("LAUNCHES", "// LAUNCHES")]
)
def test_what_no_compiler_takes_is_wrong(tmp_path: Path, text: str) -> None:
    """CUDA's compiler knows the calls that the emulation lacks, if it is there."""
    if compiler_options() != ["--compiler", "nvrtc"]:
        pytest.skip("NVRTC is not installed")
    folder = write_operator(tmp_path / "twice", {"mine.cu": text})
    done = bench("workload", "check", folder, "--emulate", expect=1)
    assert f"wrong at n=1 f32: does not compile for sm_90: {folder}/mine.cu" in done.stdout


# In place, scalars, constants, two dtypes, a verify().
MIXED = {
    "params": {"n": {"default": 600}, "width": {"default": 3, "constant": True}},
    "dtypes": ["f32", "bf16"],
    "inputs": [{"name": "p", "shape": ["n", "width"], "dtype": "T", "in_place": True}, X],
    "outputs": [{"name": "k", "shape": ["n"], "dtype": "i32"}],
    "scalars": [
        {"name": "a", "dtype": "f32", "value": 0.5},
        {"name": "b", "dtype": "i64", "value": 3},
    ],
}
MIXED_REFERENCE = """
import torch
def reference(p, x, a=0.5, b=3):
    return p * a + x[:, None], (x > 0).to(torch.int32) * b
def verify(inputs, outputs):
    if (outputs[1] % 3 != 0).any():
        return "k is no multiple of 3"
    if not torch.allclose(outputs[0].double(), reference(*inputs)[0].double(), 0.01, 0.01):
        return "p is wrong"
    if (outputs[1] != reference(*inputs)[1]).any():
        return "k is wrong"
"""
MIXED_RUNG = """
#include "common/workload.cuh"
LAUNCHES = {{{{"mixed", {{"n"}}, {{WIDTH}}}}}};
KERNEL(mixed) {{
    const size_t i = blockIdx.x * (size_t)WIDTH + threadIdx.x;
    p[i] = (T)((float)p[i] * a + (float)x[blockIdx.x]);
    if (threadIdx.x == 0)
        k[blockIdx.x] = (float)x[blockIdx.x] > 0 ? (int)b{wrong} : 0;
}}
"""


@pytest.mark.long
def test_verify_decides_and_sizes_can_be_set(tmp_path: Path) -> None:
    files = {
        "reference.py": MIXED_REFERENCE,
        "a.cu": MIXED_RUNG.format(wrong=""),
        "b.cu": MIXED_RUNG.format(wrong=" + 1"),
    }
    folder = write_operator(tmp_path / "mixed", files, **MIXED)
    check = ["workload", "check", folder, "--emulate"]
    right = bench(*check, "--variant", "a", "--set", "width=2")
    assert lines_of(right.stdout) == {"a": "right in 6 cases"}
    wrong = lines_of(bench(*check, "--variant", "b", "--set", "n=40", expect=1).stdout)
    assert wrong == {"b": "wrong at n=40 width=1 f32: verify: k is no multiple of 3"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--variant", "a"], "--variant is for --emulate"),
        (["--emulate", "--variant", "b"], '--variant: unknown rung "b" (known: a)'),
        (["--emulate", "--set", "n=0"], "--set n=0: expected n=INTEGER from 1 to 9"),
        (["--emulate", "--set", "n=99"], "no case at these sizes: n != 99"),
    ],
)
def test_refused(tmp_path: Path, options: list[str], said: str) -> None:
    folder = write_operator(tmp_path / "twice", {"a.cu": rung()}, where="n != 99")
    done = bench("workload", "check", folder, *options, expect=2)
    assert said in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--variant", "01_cpy"],
            'unknown rung "01_cpy"; did you mean "01_copy"? (known: 01_copy)',
        ),
        (["--set", "sizes=1"], 'unknown param "sizes"; did you mean "size"? (known: size)'),
    ],
)
def test_unknown_names_are_found_before_the_reference_runs(
    tmp_path: Path, options: list[str], said: str
) -> None:
    params = {"size": {"default": 1000}}
    arrays = {"inputs": [{**X, "shape": ["size"]}], "outputs": [{**Y, "shape": ["size"]}]}
    folder = write_operator(tmp_path / "mine", {"01_copy.cu": rung()}, params=params, **arrays)
    done = bench("workload", "check", folder, "--emulate", *options, expect=2)
    assert (done.stdout, done.stderr) == ("", f"bench: {options[0]}: {said}\n")


def test_a_compiler_is_needed(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"a.cu": rung()})
    done = bench("workload", "check", folder, "--emulate", expect=2, CXX="", PATH=str(tmp_path))
    assert "a C++ compiler is needed to emulate rungs: " in done.stderr


def test_inputs_that_a_function_makes(tmp_path: Path) -> None:
    made = """
        import torch
        def inputs(params, dtype): return [torch.arange(params["n"], dtype=dtype) + torch.rand(1)]
        def reference(x): return 2 * x
        """
    files = {
        "reference.py": made,
        "01_twice.cu": rung(),
        "02_wrong.cu": rung("if (i == 3) return;"),
    }
    folder = write_operator(tmp_path / "made", files, inputs=[{**X, "fill": "function"}])
    printed = bench("operator", "check", folder, "--emulate", expect=1).stdout
    assert "01_twice  right in 3 cases" in printed
    assert "02_wrong  wrong at n=" in printed
