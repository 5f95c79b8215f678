"""Headers and macros in rungs: with NVRTC as with nvcc, and no file from outside of kernel folders."""

import json
from pathlib import Path
from typing import Any

import pytest
from operator_folders import write_operator
from project import NO_PYTHON, bench, compiler_options

RUNG = """{includes}
#include "common/workload.cuh"
LAUNCHES = {{{{"twice", {{"1"}}, {{"32"}}}}}};
KERNEL(twice) {{
    float v = x[threadIdx.x];
    {body};
    y[threadIdx.x] = 2 * v;
}}
"""
MMA = "wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a; "
MMA += "wmma::fill_fragment(a, __float2half(0.f)); v += (float)a.x[0]"
WARP = "auto warp = cg::tiled_partition<32>(cg::this_thread_block()); "
# By name: the header, and a statement that needs it.
WITHOUT_HEADER = {
    "infinity": "constexpr float most = INFINITY; v = fminf(v, most)",
    "nan": "if (v == 1) v = NAN",
    "huge": "if (v == 1) v = HUGE_VALF + (float)HUGE_VAL",
    "pi": "v *= M_PI",
}
STANDARD = {
    "math_constants.h": "v = fminf(v, CUDART_INF_F)",
    "float.h": "v = fminf(v, FLT_MAX)",
    "cfloat": "v = fminf(v, DBL_MAX)",
    "climits": "if (v == INT_MAX + LLONG_MIN) v = 0",
    "cstdint": "v += std::uint32_t(1) + uint8_t(1) + int64_t(INT64_MAX)",
    "stdint.h": "if ((uintptr_t)x % 16 == 0) v = 0",
    "cstddef": "v += std::size_t(1) + ptrdiff_t(1)",
    "cmath": "v = std::sqrt(v) + std::fabs(v) + INFINITY",
    "math.h": "v = sqrtf(v)",
    "cassert": "assert(v == v)",
    "cstdio": 'if (v == 1) std::printf("one")',
    "cstdlib": "v = abs((int)v)",
    "cstring": "std::memcpy(&v, x, sizeof v)",
    "cuda_runtime.h": "v += float4{1, 2, 3, 4}.x",
    "cuda_fp8.h": "v = (float)__nv_fp8_e4m3(v)",
}
# Each takes seconds to compile.
CCCL = {
    "cuda/std/cstdint": "v += cuda::std::uint32_t(1) + cuda::std::int64_t(1)",
    "cooperative_groups.h": "namespace cg = cooperative_groups; "
    + WARP
    + "v = warp.shfl_xor(v, 1)",
    "mma.h": "using namespace nvcuda; " + MMA,
    "type_traits": "static_assert(std::is_same<float, float>::value)",
}
MORE_CCCL = {
    "cuda/std/limits": "v = fminf(v, cuda::std::numeric_limits<float>::infinity())",
    "cuda/atomic": "v += 1",
    "cub/block/block_reduce.cuh": "v += 1",
    "cooperative_groups/reduce.h": "namespace cg = cooperative_groups; "
    + WARP
    + "v = cg::reduce(warp, v, cg::plus<float>())",
    "limits": "static_assert(std::numeric_limits<float>::is_iec559)",
    "utility": "v = std::move(v)",
    "array": "std::array<float, 2> a = {v, 1}; v = a[0]",
    "tuple": "v = std::get<0>(std::make_tuple(v, 1))",
}


def programs(folder: Path, *options: str) -> dict[str, dict[str, Any]]:
    """Compile an operator's rungs; return them by variant."""
    command = ["compile", "--workload", folder, "--arch", "sm_90", "--json", *options]
    done = bench(*command, "--cache", folder.parent / "cache", expect=None)
    assert done.stdout, done.stderr
    return {program["variant"]: program for program in json.loads(done.stdout)["programs"]}


def rungs(statements: dict[str, str]) -> dict[str, str]:
    files = {}
    for number, (header, body) in enumerate(statements.items()):
        included = "" if header in WITHOUT_HEADER else f"#include <{header}>"
        files[f"{number:02}.cu"] = RUNG.format(includes=included, body=body)
    return files


@pytest.fixture
def nvrtc() -> list[str]:
    options = compiler_options()
    if "nvrtc" not in options:
        pytest.skip("NVRTC is not installed")
    return options


def all_compile(folder: Path, options: list[str], statements: dict[str, str]) -> None:
    found = programs(write_operator(folder / "twice", rungs(statements)), *options)
    reasons = {
        list(statements)[int(variant)]: program["reason"]
        for variant, program in found.items()
        if program["status"] != "ok"
    }
    assert not reasons
    assert len(found) == len(statements)


def test_what_nvcc_includes_by_itself_is_there(tmp_path: Path, nvrtc: list[str]) -> None:
    all_compile(tmp_path, nvrtc, WITHOUT_HEADER)


def test_headers_of_c_and_cuda(tmp_path: Path, nvrtc: list[str]) -> None:
    all_compile(tmp_path, nvrtc, STANDARD)


@pytest.mark.parametrize("statements", [CCCL, pytest.param(MORE_CCCL, marks=pytest.mark.long)])
def test_headers_of_cccl(tmp_path: Path, nvrtc: list[str], statements: dict[str, str]) -> None:
    found = {
        item["what"]: item["detail"]
        for item in json.loads(bench("doctor", "--json", expect=None, **NO_PYTHON).stdout)
    }
    headers = Path(found["CUDA headers"])
    if not (headers / "cccl").exists() or not (headers / "crt").exists():
        pytest.skip("nvidia-cuda-cccl and nvidia-cuda-crt are not installed beside NVRTC")
    all_compile(tmp_path, nvrtc, statements)


@pytest.mark.parametrize(
    ("include", "body", "said"),
    [
        ("#include <vector>", "", "NVRTC has no C++ standard library: use <cuda/std/vector> if it"),
        ("", "v = FLT_MAX", "FLT_MAX is in <cfloat>"),
        ("", "v = CUDART_INF_F", "CUDART_INF_F is in <math_constants.h>"),
        ("", "v = uint32_t(v)", "uint32_t is in <cstdint>"),
    ],
)
def test_the_error_says_how(
    tmp_path: Path, nvrtc: list[str], include: str, body: str, said: str
) -> None:
    files = {"a.cu": RUNG.format(includes=include, body=body)}
    program = programs(write_operator(tmp_path / "twice", files), *nvrtc)["a"]
    assert program["status"] == "failed"
    assert said in program["reason"]


def refused(folder: Path, text: str) -> str:
    """Return what is said of a rung with a line at its top, and not of what it includes."""
    operator = write_operator(folder / "twice", {"a.cu": text + RUNG.format(includes="", body="")})
    command = ["compile", "--workload", operator, "--arch", "sm_90", *compiler_options()]
    done = bench(*command, "--cache", folder / "cache", expect=2)
    assert "s3cret" not in done.stdout + done.stderr
    return done.stderr


@pytest.mark.parametrize(
    "line",
    [
        '#include "{path}"',
        '#include "../secret.txt"',
        "#include <{path}>",
        '%:include "{path}"',
        '#in\\\nclude "{path}"',
        '#define FILE_NAME "{path}"\n#include FILE_NAME',
        '#include "link.h"',
        '#include "header.h"',
    ],
)
def test_files_from_elsewhere_are_not_printed(tmp_path: Path, line: str) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret\n", encoding="utf-8")
    folder = tmp_path / "twice"
    folder.mkdir()
    (folder / "link.h").symlink_to(secret)
    (folder / "header.h").write_text('#include "../secret.txt"\n', encoding="utf-8")
    said = refused(tmp_path, line.format(path=secret) + "\n")
    assert f"twice/{'header.h' if 'header' in line else 'a.cu'}:" in said


def test_a_rung_that_is_a_link_to_elsewhere(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("s3cret\n", encoding="utf-8")
    folder = write_operator(tmp_path / "twice", {})
    (folder / "b.cu").symlink_to(secret)
    assert "twice/b.cu: a link to " in refused(tmp_path, "")
