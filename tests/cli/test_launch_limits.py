"""Kernels that compile and cannot run: `bench compile` and `bench run` refuse them, without a GPU."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, bench, compiler_options, make_root, write_sweep

HEAD = '#include "common/workload.cuh"\n'
BODY = "KERNEL(mlp_infer) { y[0] = 1.0f; }\n"
LAUNCH = 'LAUNCHES = {{{{"mlp_infer", {{"1"}}, {{"{}"}}, "{}"}}}};\n'
RIGHT = HEAD + LAUNCH.format(64, 0) + BODY
SHARED_OF = {"sm_75": 65536, "sm_80": 166912, "sm_86": 101376, "sm_90": 232448, "sm_120": 101376}


@dataclass(frozen=True)
class Bad:
    source: str
    reason: str  # after the file's name
    workload: str = "mlp_infer"


# Of what is built in.
NULL = '#include "common/launch.cuh"\nLAUNCH = {{{}, 64, 0, {}}};\n'
EMPTY = 'extern "C" __global__ void null() {}\n'

AXES = {"mlp_infer": {"batch": [64]}, "null": {"work_ns": [0]}}
BAD = {
    "no_launch": Bad(HEAD + BODY, "it has no LAUNCHES = {…}"),
    "other_entry": Bad(
        RIGHT.replace("KERNEL(mlp_infer)", 'extern "C" __global__ void mlp_infr(float *y)'),
        'it has no kernel "mlp_infer"; found: mlp_infr',
    ),
    "mangled": Bad(
        RIGHT.replace("KERNEL(mlp_infer)", "__global__ void mlp_infer(float *y)"),
        'it has no kernel "mlp_infer"; found: _Z9mlp_inferPf',
    ),
    "many_threads": Bad(
        HEAD + LAUNCH.format(2048, 0) + BODY,
        'kernel "mlp_infer": threads.x: "2048" is 2048, expected 1 to 1024',
    ),
    "much_shared": Bad(
        HEAD + LAUNCH.format(64, 300000) + BODY,
        'kernel "mlp_infer": shared: "300000" is 300000 bytes, expected 0 to 232448 (sm_100)',
    ),
    "no_launch_of_ours": Bad(EMPTY, "it has no LAUNCH = {…}", "null"),
    "absent": Bad(NULL.format(64, 0), 'it has no kernel "null"; found: none', "null"),
    "many_threads_of_ours": Bad(
        NULL.format(1025, 0) + EMPTY,
        'kernel "null" has 1025 threads per block; sm_90 allows 1024',
        "null",
    ),
}


@pytest.fixture(scope="module")
def compiler() -> list[str]:
    """Return the options that select an available compiler."""
    return compiler_options()


def compile_rung(
    folder: Path, bad: Bad, compiler: list[str], *archs: str, expect: int
) -> list[dict[str, Any]]:
    """Compile it as the only rung of its sweep; return the programs."""
    root = make_root(folder / "project", copy="kernels")
    (root / "kernels" / bad.workload / "90_mine.cu").write_text(bad.source, encoding="utf-8")
    contender = {"engine": "cuda", "variants": ["90_mine"]}
    sweep = write_sweep(folder / "s.json", bad.workload, [contender], axes=AXES[bad.workload])
    options = ["--arch", ",".join(archs), "--json", "--quiet", "--cache", folder / "cache"]
    done = bench("compile", sweep, *options, *compiler, root=root, expect=expect)
    return json.loads(done.stdout)["programs"]


@pytest.mark.parametrize("name", BAD)
def test_kernel_that_cannot_run_is_refused(name: str, tmp_path: Path, compiler: list[str]) -> None:
    bad = BAD[name]
    (program,) = compile_rung(tmp_path, bad, compiler, "sm_90", expect=1)
    assert program["status"] == "failed"
    assert program["reason"].startswith(f"kernels/{bad.workload}/90_mine.cu: {bad.reason}")


def test_refused_kernel_is_refused_again(tmp_path: Path, compiler: list[str]) -> None:
    """It must not come from the cache the second time."""
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        environment = [*compiler, "--cache", str(tmp_path / "shared")]
        (program,) = compile_rung(
            tmp_path / folder, BAD["no_launch"], environment, "sm_90", expect=1
        )
        assert program["status"] == "failed"


def test_shared_memory_is_limited_by_the_architecture(tmp_path: Path, compiler: list[str]) -> None:
    """Static and dynamic together; the most that the architecture allows is accepted."""
    static = 'extern "C" __global__ void null(float *x) { __shared__ float s[28]; '
    static += "s[threadIdx.x % 28] = x[0]; __syncthreads(); x[0] = s[(threadIdx.x + 1) % 28]; }\n"
    for more, expected in ((0, "ok"), (4, "failed")):
        folder = tmp_path / expected
        folder.mkdir()
        programs = []
        for arch, limit in SHARED_OF.items():
            (folder / arch).mkdir()
            bad = Bad(NULL.format(64, limit - 112 + more) + static, "", "null")
            programs += compile_rung(folder / arch, bad, compiler, arch, expect=int(more > 0))
        assert [program["status"] for program in programs] == [expected] * len(SHARED_OF)


def test_shared_limit_of_kernels_is_that_of_the_host() -> None:
    """`SHARED_LIMIT` of launch.cuh, evaluated by the C preprocessor, against the host's numbers."""
    header = ROOT / "kernels" / "common" / "launch.cuh"
    for arch, limit in SHARED_OF.items():
        define = f"-D__CUDA_ARCH__={arch.removeprefix('sm_')}0"
        command = ["gcc", "-E", "-P", "-dM", "-x", "c", define, str(header)]
        printed = subprocess.run(command, text=True, capture_output=True, check=True).stdout
        (text,) = re.findall(r"#define SHARED_LIMIT \((\d+) \* 1024\)", printed)
        assert int(text) * 1024 == limit, arch


def test_variants_without_source_need_no_program(tmp_path: Path, compiler: list[str]) -> None:
    contender = {"engine": "cuda", "variants": ["caching"]}
    sweep = write_sweep(tmp_path / "s.json", "allocate", [contender], axes={"live": [1]})
    done = bench("compile", sweep, "--arch", "sm_90", "--json", "--quiet", *compiler)
    assert json.loads(done.stdout)["programs"] == []
