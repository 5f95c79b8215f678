"""Rungs of operators compiled without a GPU: what is refused, and CUDA's headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from operator_folders import make_project, write_operator
from project import NO_PYTHON, bench, compiler_options, write_sweep

HEAD = '#include "common/workload.cuh"\n'
GOOD = """LAUNCHES = {{"twice", {"ceil_div(n, 256)"}, {"256"}}};
KERNEL(twice) {
    const long long i = blockIdx.x * 256LL + threadIdx.x;
    if (i < n)
        y[i] = x[i] + x[i];
}
"""
KERNEL = "KERNEL(twice) { y[0] = x[0]; }\n"


def temporaries(these: str) -> str:
    """Return a rung of two launches with these temporaries."""
    launch = '{"twice", {"n"}}'
    return f"#define TEMPORARIES {these}\n{HEAD}LAUNCHES = {{{launch}, {launch}}};\n{KERNEL}"


# By name: the rung, and what is said of it.
REFUSED = {
    "none": (
        KERNEL,
        'it has no LAUNCHES = {…}, and no host code: extern "C" void '
        "run(WORKLOAD_ARGUMENTS, cudaStream_t stream)",
    ),
    "unnamed": ("LAUNCHES = {{}};\n" + KERNEL, "its LAUNCHES[0] names no kernel"),
    "other": (
        'LAUNCHES = {{"thrice", {"1"}, {"1"}}};\n' + KERNEL,
        'it has no kernel "thrice"; found: twice',
    ),
    "unknown": (
        'LAUNCHES = {{"twice", {"1", "rows"}, {"1"}}};\n' + KERNEL,
        'kernel "twice": "rows": character 1: unknown name "rows" (known: n, sm_count)',
    ),
    "workspace": (
        'WORKSPACE = "4 * m";\n' + GOOD,
        'WORKSPACE: "4 * m": character 5: unknown name "m" (known: n, sm_count)',
    ),
    "temporary_bytes": (
        temporaries('TEMPORARY(T, t, "4 * m", "twice")'),
        'TEMPORARIES[0] (t): bytes: "4 * m": character 5: unknown name "m" (known: n, sm_count)',
    ),
    "temporary_launch": (
        temporaries('TEMPORARY(T, s, "n", "twice") TEMPORARY(T, t, "n", "twice", "thrice")'),
        'TEMPORARIES[1] (t): last: found "thrice", expected a kernel of LAUNCHES, or a number from '
        "0 to 1",
    ),
    "temporary_order": (
        temporaries('TEMPORARY(T, t, "n", "1", "0")'),
        'TEMPORARIES[0] (t): last: found "0", launch 0, expected launch 1 ("1") or a later one',
    ),
    "temporary_lists": (
        temporaries('TEMPORARY_LIST(T, t, 129, "n", "twice")'),
        "its TEMPORARIES are 129, expected at most 128 with each of a list",
    ),
    "temporary_index": (
        temporaries('TEMPORARY_LIST(T, t, 2, "n * i", "twice[j]")'),
        'TEMPORARIES[0] (t): first: "j": character 1: unknown name "j" (known: n, sm_count, i)',
    ),
    "in_turn": (
        'LAUNCHES = {{"twice", {"n"}}, in_turn({"twice", {"n"}})};\n' + KERNEL,
        "its LAUNCHES[1] is in_turn: expected no index of its own, and an indexed launch above it, "
        "not side by side",
    ),
    "temporary_many": (
        temporaries("".join(f'TEMPORARY(T, t{i}, "n", "twice") ' for i in range(33))),
        "its TEMPORARIES take 8580 bytes; expected 1 to 32 of 260 bytes",
    ),
    "threads": (
        'LAUNCHES = {{"twice", {"n"}, {"64", "32"}}};\n' + KERNEL,
        'kernel "twice": 2048 threads per block, at most 1024 are possible',
    ),
    "grid": (
        'LAUNCHES = {{"twice", {"n", "70000"}, {"256"}}};\n' + KERNEL,
        'kernel "twice": grid.y: "70000" is 70000, expected 1 to 65535',
    ),
    "shared": (
        'LAUNCHES = {{"twice", {"n"}, {"256"}, "2 ** 20"}};\n' + KERNEL,
        'kernel "twice": shared: "2 ** 20" is 1048576 bytes, expected 0 to 232448 (sm_100)',
    ),
    "overlaps": (
        'LAUNCHES = {{"twice", {"1"}, {"1"}, "", {}, 0, 1}};\n' + KERNEL,
        "its LAUNCHES[0] overlaps: found 1, expected 0: no run may start before the last one has "
        "ended",
    ),
    "every": (
        'LAUNCHES = {every("2", {"twice", {"1"}, {"1"}})};\n' + KERNEL,
        'kernel "twice": every: "2": only with "training"',
    ),
    "many": (
        "LAUNCHES = {" + '{"twice", {"1"}, {"1"}}, ' * 33 + "};\n" + KERNEL,
        "its LAUNCHES take 17952 bytes; expected 1 to 32 launches of 544 bytes",
    ),
}


def compiled(folder: Path, *options: str, **environment: str) -> dict[str, dict[str, Any]]:
    """Return the programs of an operator in the project by variant."""
    cuda = {"engine": "cuda", "variants": ["*"]}
    sweep = write_sweep(folder.parent / "s.json", folder.name, [cuda])
    root = make_project(folder)
    keys = {"BENCH_CACHE": str(folder.parent / "cache"), **environment}
    command = ["compile", sweep, "--arch", "sm_90", "--json", *options]
    done = bench(*command, root=root, expect=None, **keys)
    assert done.stdout, done.stderr
    return {program["variant"]: program for program in json.loads(done.stdout)["programs"]}


def test_tables_are_checked_with_the_file_named(tmp_path: Path) -> None:
    files = {
        f"{name}.cu": text if HEAD in text else HEAD + text for name, (text, _) in REFUSED.items()
    }
    by_type = HEAD + GOOD.replace('{"256"}', '{"1024 / itemsize(T)"}')
    held = temporaries('TEMPORARY(T, t, "itemsize(T) * n", "twice", "1")')
    held = held.replace("= x[0]", "= t[0]")
    files |= {"good.cu": HEAD + GOOD, "by_type.cu": by_type, "held.cu": held}
    folder = write_operator(tmp_path / "twice", files)
    programs = compiled(folder, *compiler_options())
    for name in ("good", "by_type", "held"):
        assert programs.pop(name)["status"] == "ok"
    for name, (_, reason) in REFUSED.items():
        assert programs[name]["status"] == "failed"
        assert programs[name]["reason"].endswith(f"twice/{name}.cu: {reason}")


def test_too_much_shared_memory_is_said_by_any_compiler(tmp_path: Path) -> None:
    body = "__shared__ float s[25000]; s[threadIdx.x] = x[0]; __syncthreads(); "
    body += "y[0] = s[31 - threadIdx.x];"
    rung = f'{HEAD}LAUNCHES = {{{{"twice", {{"1"}}, {{"32"}}}}}};\nKERNEL(twice) {{ {body} }}\n'
    folder = write_operator(tmp_path / "twice", {"01_large.cu": rung})
    program = compiled(folder, *compiler_options())["01_large"]
    assert program["status"] == "failed"
    assert "uses too much shared data" in program["reason"]


def test_only_f16_and_bf16_need_cuda_headers(tmp_path: Path) -> None:
    """Beside NVRTC there are headers that say that they were read.

    That a case is skipped where they are missing: tests/unit/test_toolchain_lacks.c.
    """
    if "nvrtc" not in compiler_options():
        pytest.skip("NVRTC is not installed")
    found = {
        item["what"]: item
        for item in json.loads(bench("doctor", "--json", expect=None, **NO_PYTHON).stdout)
    }
    library = Path(found["NVRTC"]["detail"].split("(")[1].rstrip(")"))
    (tmp_path / "lib").mkdir()
    (tmp_path / "include").mkdir()
    for path in library.parent.glob("libnvrtc*"):
        (tmp_path / "lib" / path.name).symlink_to(path.resolve())
    for name in ("cuda_fp16.h", "cuda_bf16.h"):
        (tmp_path / "include" / name).write_text(f"#error {name} is read\n", encoding="utf-8")
    environment = {"BENCH_NVRTC": str(tmp_path / "lib" / library.name)}
    headers = {"f32": None, "f16": "fp16", "bf16": "bf16"}
    for dtype in headers:
        folder = write_operator(tmp_path / f"twice_{dtype}", {"a.cu": HEAD + GOOD}, dtypes=[dtype])
        program = compiled(folder, "--compiler", "nvrtc", **environment)["a"]
        if dtype == "f32":
            assert program["status"] == "ok", program["reason"]
        else:
            assert f"cuda_{headers[dtype]}.h is read" in program["reason"]
