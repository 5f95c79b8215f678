"""Compiling without a GPU; a new kernel is one file."""

import json
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_driver
from project import ROOT, bench, compiler_options, make_root, read_cases, write_sweep

ARCHS = ["sm_80", "sm_90"]
BATCHES = [1, 64, 1000]


@pytest.fixture(scope="module")
def compiler() -> list[str]:
    """Return the options that select an available compiler."""
    return compiler_options()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project folder with writable kernels."""
    return make_root(tmp_path / "project", copy="kernels")


def rungs(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / "kernels" / "mlp_infer").glob("*.cu"))


def of_other_dtype(rung: str) -> bool:
    """Return whether a kernel refuses the float32 cases of these tests."""
    return "#define TAKES_F16" in (ROOT / f"kernels/mlp_infer/{rung}.cu").read_text("utf-8")


def ladder(folder: Path) -> Path:
    return write_sweep(
        folder / "ladder.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": ["*"]}],
        axes={"batch": BATCHES},
    )


def compile_json(
    sweep: Path, root: Path, *options: str | Path, expect: int = 0, **environment: str
) -> dict[str, Any]:
    done = bench(
        "compile",
        sweep,
        "--arch",
        ",".join(ARCHS),
        "--json",
        "--quiet",
        *options,
        root=root,
        expect=expect,
        **environment,
    )
    return json.loads(done.stdout)


def counts(answer: dict[str, Any]) -> tuple[int, int, int, int]:
    return tuple(answer[name] for name in ("compiled", "cached", "skipped", "failed"))


def test_every_program_is_compiled_once(tmp_path: Path, compiler: list[str]) -> None:
    sweep, cache = ladder(tmp_path), tmp_path / "cache"
    first = compile_json(sweep, ROOT, *compiler, "--cache", cache)
    refused = [p for p in first["programs"] if of_other_dtype(p["variant"])]
    assert {(p["status"], p["reason"]) for p in refused} == {("skipped", "for dtype f16 only")}
    programs = [p for p in first["programs"] if p not in refused]
    assert counts(first) == (len(programs), 0, len(refused), 0)
    assert {(p["variant"], p["arch"]) for p in first["programs"]} == {
        (rung, arch) for rung in rungs(ROOT) for arch in ARCHS
    }
    # One program per batch if the source mentions BATCH, else one for all.
    for rung in {p["variant"] for p in programs}:
        selected = [p for p in programs if (p["variant"], p["arch"]) == (rung, ARCHS[0])]
        by_batch = any(d.startswith("BATCH=") for d in selected[0]["defines"])
        assert len(selected) == (len(BATCHES) if by_batch else 1)
    for program in programs:
        assert program["status"] == "ok"
        assert program["registers"] > 0
        assert len(program["code_hash"]) == 32
        assert Path(program["cubin"]).read_bytes()[:4] == b"\x7fELF"
    second = compile_json(sweep, ROOT, *compiler, "--cache", cache)
    assert counts(second) == (0, len(programs), len(refused), 0)
    after = {p["key"]: p for p in second["programs"]}
    for before in programs:
        assert {**before, "cached": True} == after[before["key"]]


@pytest.mark.parametrize("asked", ["sm_91", "sm_75,sm_91", "sm_999"])
def test_an_unknown_architecture_is_refused(
    tmp_path: Path, compiler: list[str], asked: str
) -> None:
    done = bench("compile", ladder(tmp_path), "--arch", asked, *compiler, expect=2)
    unknown = asked.rpartition(",")[2]
    assert done.stdout == ""
    assert done.stderr.startswith(f'bench: unknown architecture "{unknown}" of ')
    assert "sm_75" in done.stderr.partition("(known: ")[2]


def test_an_architecture_that_the_compiler_is_too_old_for_is_skipped_beside_others(
    tmp_path: Path, compiler: list[str]
) -> None:
    options = ["--arch", "sm_75,sm_999", "--json", "--cache", tmp_path / "cache"]
    answer = json.loads(bench("compile", ladder(tmp_path), *options, *compiler).stdout)
    newer = [p for p in answer["programs"] if p["arch"] == "sm_999"]
    assert newer and all("does not support sm_999" in p["reason"] for p in newer)
    assert answer["compiled"] > 0


def test_table_matches_the_json(tmp_path: Path, compiler: list[str]) -> None:
    done = bench(
        "compile", ladder(tmp_path), "--arch", "sm_90", "--cache", tmp_path / "cache", *compiler
    )
    for rung in rungs(ROOT):
        assert rung in done.stdout
    refused = sum(map(of_other_dtype, rungs(ROOT)))
    assert f"{refused} skipped, 0 failed" in done.stdout


def test_no_compiler_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    done = bench(
        "compile",
        ladder(tmp_path),
        "--arch",
        "sm_90",
        expect=2,
        BENCH_NVRTC="/no/such/library",
        PATH="/no/such/folder",
    )
    assert "BENCH_NVRTC" in done.stderr


# ---- a kernel that does not compile, next to others ---------------------------------------------

BROKEN = """#include "common/workload.cuh"
LAUNCHES = {{"mlp_infer", {"1"}, {"32"}}};
KERNEL(mlp_infer) {
    y[0] = no_such_thing;
}
"""


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Return a project folder with a kernel that does not compile."""
    root = make_root(tmp_path / "project", copy="kernels")
    (root / "kernels" / "mlp_infer" / "98_broken.cu").write_text(BROKEN, encoding="utf-8")
    return root


@pytest.mark.usefixtures("compiler")
def test_run_continues_after_a_kernel_that_does_not_compile(broken: Path, tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": ["98_broken"]}, {"engine": "cpu", "variants": ["omp"]}],
    )
    environment = build_driver(tmp_path / "lib")
    run = tmp_path / "run"
    bench("run", sweep, "--out", run, root=broken, expect=1, **environment)
    cases = read_cases(run)
    failed = cases["mlp_infer/cuda/98_broken/batch=64"]
    assert failed["status"] == "failed"
    assert "98_broken.cu(4): error: " in failed["reason"]
    assert cases["mlp_infer/cpu/omp/batch=64"]["status"] == "ok"
