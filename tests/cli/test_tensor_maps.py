"""Rungs with tensor maps: a transpose on the fake GPU and on the CPU, and what is refused."""

import json
import re
import shutil
from pathlib import Path

import pytest
from cuda_rungs import Gpu, cuda, ok
from operator_folders import X, write_operator
from project import ROOT, bench, compiler_options
from test_operator_emulate import lines_of
from transposes import TRANSPOSE, copy_transpose

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

ARCHS = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"]

# It reads and writes where the maps say; and knows whether these are the arrays that it got.
IN_C = """
    #include "rungs.h"
    #include <string.h>
    static void run_transpose(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        const long long rows = AT(long long, 3), cols = AT(long long, 4);
        fake_map_t from, to;
        memcpy(&from, arguments[5], sizeof from);
        memcpy(&to, arguments[6], sizeof to);
        if (from.address != AT(char *, 0) || to.address != AT(char *, 1))
            note("a map of other memory");
        for (long long i = 0; i < rows * cols; i++)
            ((float *)to.address)[i % cols * rows + i / cols] = ((const float *)from.address)[i];
    }
    /* Of 90_same_map. */
    static fake_map_t kept;
    static void run_keep(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        memcpy(&kept, arguments[5], sizeof kept);
    }
    static void run_unless_same(const kernel_t *kernel, void *const *arguments) {
        if (memcmp(&kept, arguments[5], sizeof kept) != 0)
            run_transpose(kernel, arguments);
    }
    #define ARGUMENTS .argument_bytes = {8, 8, 8, 8, 8, 128, 128}, .n_arguments = 7
    const kernel_t transpose = {.name = "transpose", ARGUMENTS, .run = TRANSPOSE};
    const kernel_t keep = {.name = "keep", ARGUMENTS, .run = run_keep};
    """
CHEAT_IN_C = IN_C.replace("TRANSPOSE", "run_unless_same")
IN_C = IN_C.replace("TRANSPOSE", "run_transpose")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return copy_transpose(tmp_path / "transpose")


def encoded(gpu: Gpu) -> list[str]:
    """Return the calls that encoded, in order."""
    lines = gpu.launched.read_text(encoding="utf-8").splitlines()
    gpu.launched.unlink()
    assert "a map of other memory" not in lines
    return [line for line in lines if line.startswith("map ")]


def map_of(**keys: str) -> str:
    values = {"type": "7", "box": "32,32", "steps": "1,1", "swizzle": "3", **keys}
    order = ("type", "sizes", "box", "strides", "steps")
    found = " ".join(f"{key}={values[key]}" for key in order)
    return f"map {found} interleave=0 swizzle={values['swizzle']} l2=0 fill=0"


X_MAP = map_of(sizes="100,8", strides="400")
Y_MAP = map_of(sizes="8,100", strides="32")
SIZES = {"rows": [8], "cols": [100]}


def test_maps_follow_the_arrays(tmp_path: Path, folder: Path) -> None:
    """Once where addresses stay, else in samples, and again for launches on fixed arrays."""
    gpu = Gpu(tmp_path / "gpu", more_in_c=IN_C)
    fixed = [cuda("01_tma"), cuda("01_tma", launch=["graph"]), cuda("01_tma", copy=["mapped"])]
    for case in gpu.run(folder, fixed, axes=SIZES).values():
        assert "kernel_graph" in ok(case)
    assert sorted(encoded(gpu)) == [X_MAP] * 3 + [Y_MAP] * 3
    shutil.rmtree(tmp_path / "transpose_run")
    moving = [cuda("01_tma", alloc=["malloc"], copy=["pageable"]), cuda("01_tma", alloc=["async"])]
    for case in gpu.run(folder, moving, axes=SIZES).values():
        assert "kernel_graph" in ok(case)
    found = encoded(gpu)
    assert set(found) == {X_MAP, Y_MAP}
    assert len(found) > 8


def test_the_same_map_is_not_the_same_input(tmp_path: Path, folder: Path) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=CHEAT_IN_C)
    (case,) = gpu.run(folder, [cuda("90_same_map")], axes=SIZES).values()
    assert case["status"] == "wrong", case["reason"]


# Of another shape: 8 columns of a row and the same of two rows below it; in bytes of another type.
FOUR = """#include "common/tensor_maps.cuh"
TENSOR_MAPS = {{"x", {4, "n / 8", 2}, {4, 2, 1}, SWIZZLE_NONE, L2_256, {"8", "4"}, {1, 2}},
               {"k", {"n"}, {"64"}, SWIZZLE_64}};
LAUNCHES = {{"four", {1}, {1}}, {"plain", {1}, {1}}};
TMA_KERNEL(four, (128, 1), MAP(x_map), MAP(k_map)) { y[0] = x[0]; }
KERNEL(plain) { y[0] = x[0]; }
"""
FOUR_IN_C = """
    static void run_four(const kernel_t *kernel, void *const *arguments) {
        (void)kernel;
        for (long long i = 0; i < AT(long long, 4); i++)
            AT(float *, 2)[i] = 2 * AT(const float *, 0)[i];
    }
    #define FOUR .argument_bytes = {8, 8, 8, 8, 8, 128, 128}, .run = run_four
    const kernel_t four = {.name = "four", FOUR, .n_arguments = 7};
    const kernel_t plain = {.name = "plain", FOUR, .n_arguments = 5};
    """
K = {"name": "k", "shape": ["n"], "dtype": "u8", "fill": {"integers": [0, 9]}}
TWICE = "def reference(x, k): return 2 * x"


def test_all_that_a_map_has(tmp_path: Path) -> None:
    files = {"reference.py": TWICE, "four.cu": FOUR}
    folder = write_operator(tmp_path / "four", files, inputs=[X, K])
    gpu = Gpu(tmp_path / "gpu", more_in_c=FOUR_IN_C)
    for case in gpu.run(folder, [cuda("four")]).values():
        ok(case)
    assert encoded(gpu) == [
        "map type=7 sizes=4,125,2 box=4,2,1 strides=32,16 steps=1,2,1 "
        "interleave=0 swizzle=0 l2=3 fill=0",
        "map type=0 sizes=1000 box=64 strides= steps=1 interleave=0 swizzle=2 l2=0 fill=0",
    ]


# ---- what is refused -----------------------------------------------------------------------------

# Compiled for any GPU.
PLAIN = """#include "common/tensor_maps.cuh"
TENSOR_MAPS = {{"x", {"n"}, {BOX}}};
LAUNCHES = {{"twice", {"n"}, {"1"}}};
TMA_KERNEL(twice, (32), MAP(x_map)) { y[0] = x[0]; }
"""
BOX = PLAIN.replace("BOX", "64")
NO_FUNCTION = "this driver has no cuTensorMapEncodeTiled (CUDA 12.0), which TENSOR_MAPS need"


@pytest.mark.parametrize(
    ("flag", "environment", "status", "reason"),
    [
        ("-DWITHOUT_TENSOR_MAPS", {}, "skipped", NO_FUNCTION),
        ("-DARCH=80", {}, "skipped", "TENSOR_MAPS need sm_90; this is sm_80"),
        (
            "-DARCH=90",
            {"FAKE_CUDA": "cuTensorMapEncodeTiled error=1"},
            "failed",
            "TENSOR_MAPS[0] (x): tensor_map_encode(",
        ),
        (
            "-DARCH=90",
            {"BENCH_SHIFT_ARRAYS": "1"},
            "failed",
            "TENSOR_MAPS[0] (x): address: found 0x",
        ),
    ],
)
def test_maps_that_cannot_be_encoded(
    tmp_path: Path, flag: str, environment: dict[str, str], status: str, reason: str
) -> None:
    folder = write_operator(tmp_path / "twice", {"one.cu": BOX})
    gpu = Gpu(tmp_path / "gpu", flag)
    gpu.environment.update(environment)
    (case,) = gpu.run(folder, [cuda("one")]).values()
    assert case["status"] == status, case["reason"]
    assert case["reason"].startswith(reason)


def test_sizes_that_have_no_map_are_skipped(tmp_path: Path, folder: Path) -> None:
    gpu = Gpu(tmp_path / "gpu", more_in_c=IN_C)
    cases = gpu.run(folder, [cuda("01_tma")], axes={"rows": [8, 10], "cols": [100, 7]})
    found = {name: case["reason"] for name, case in cases.items() if case["status"] == "skipped"}
    strides = "strides[0]: found {} bytes (dense), expected a multiple of 16, less than 2^40"
    assert found == {
        "01_tma/rows=8/cols=7": "TENSOR_MAPS[0] (x): " + strides.format(28),
        "01_tma/rows=10/cols=7": "TENSOR_MAPS[0] (x): " + strides.format(28),
        "01_tma/rows=10/cols=100": "TENSOR_MAPS[1] (y): " + strides.format(40),
    }
    assert "kernel_graph" in ok(cases["01_tma/rows=8/cols=100"])


# By name: the rung, and what is said of it. tests/unit/test_tensor_maps.c has more.
REFUSED = {
    "array": (
        BOX.replace('"x"', '"z"'),
        'TENSOR_MAPS[0] (z): array: found "z", expected one of x, y',
    ),
    "many": (
        PLAIN.replace("{BOX}}", "{64}}" + ', {"x", {"n"}, {64}}' * 8).replace(
            "MAP(x_map)", ", ".join(f"MAP(map{i})" for i in range(9))
        ),
        "its TENSOR_MAPS take 7992 bytes; expected 1 to 8 maps of 888 bytes",
    ),
}


def test_tables_are_checked_where_they_are_compiled(tmp_path: Path) -> None:
    files = {f"{name}.cu": text for name, (text, _) in REFUSED.items()}
    files |= {"good.cu": BOX, "fewer.cu": BOX.replace("MAP(x_map)", "MAP(a), MAP(b)")}
    # Sizes with itemsize(T) are no constants.
    files["by_type.cu"] = PLAIN.replace("BOX", '"128 / itemsize(T)"')
    folder = write_operator(tmp_path / "twice", files)
    command = ["compile", "--workload", folder, "--arch", "sm_90", "--json", *compiler_options()]
    done = bench(*command, "--cache", tmp_path / "cache", expect=1)
    programs = {p["variant"]: p for p in json.loads(done.stdout)["programs"]}
    assert programs.pop("good")["status"] == programs.pop("by_type")["status"] == "ok"
    assert "a MAP() for each of TENSOR_MAPS" in programs.pop("fewer")["reason"]
    found = {name: program["reason"] for name, program in programs.items()}
    assert found == {name: f"{folder}/{name}.cu: {reason}" for name, (_, reason) in REFUSED.items()}


# ---- the example ---------------------------------------------------------------------------------


def test_the_example_is_that_of_the_guide() -> None:
    page = (ROOT / "docs" / "tensor-maps.md").read_text("utf-8")
    shown = re.findall(r"^```(?:json|python|cuda)\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    names = ("workload.json", "reference.py", "01_tma.cu")
    assert shown == [(TRANSPOSE / name).read_text("utf-8") for name in names]


def test_the_example_compiles_for_all_that_have_tma(tmp_path: Path, folder: Path) -> None:
    command = ["compile", "--workload", folder, "--arch", ",".join(ARCHS), "--quick", "--json"]
    done = bench(*command, *compiler_options(), "--cache", tmp_path / "cache")
    programs = json.loads(done.stdout)["programs"]
    found = {p["arch"]: p["status"] for p in programs if p["variant"] == "01_tma"}
    assert found == {arch: "ok" if int(arch[3:]) >= 90 else "skipped" for arch in ARCHS}


# By name: a change of the rung, and the verdict.
CHANGED = {
    "02_unfinished": ("        wait_for_stores<0>();\n", "", "y differs from the reference output"),
    "03_unarrived": (
        "barrier_expect(barrier, sizeof in)",
        "barrier_arrive(barrier)",
        "a block ends before all that it loads is there",
    ),
    "04_wide": (
        "{TILE, TILE}, SWIZZLE_128}};",
        "{2 * TILE, TILE}, SWIZZLE_128}};",
        'TENSOR_MAPS[1] (y): box[0]: found "128", 256 bytes, expected at most 128: the span of',
    ),
}


@pytest.mark.long
def test_the_example_on_the_cpu(folder: Path) -> None:
    source = (folder / "01_tma.cu").read_text("utf-8")
    for name, (old, new, _) in CHANGED.items():
        assert source.count(old) == 1, name
        (folder / f"{name}.cu").write_text(source.replace(old, new), "utf-8")
    (folder / "90_same_map.cu").unlink()
    description = (folder / "workload.json").read_text("utf-8")
    for old, new in (("1024, ", "64, "), ('"f32", "f16"', '"f16"')):
        description = description.replace(old, new)
    (folder / "workload.json").write_text(description, "utf-8")
    sizes = ["--set", "rows=40", "--set", "cols=104"]
    done = bench("workload", "check", folder, "--emulate", *sizes, expect=1)
    found = lines_of(done.stdout)
    assert found.pop("01_tma") == "right in 1 case"
    for name, (_, _, verdict) in CHANGED.items():
        assert found[name].startswith(f"wrong at rows=40 cols=104 f16: {verdict}"), found[name]
