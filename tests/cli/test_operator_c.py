"""Contenders in C beside the rungs: honest ones are right, each fault has its verdict."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from operator_folders import run_operator, write_operator
from project import bench, compiler_options
from test_isolate import need_walls

pytestmark = pytest.mark.usefixtures("warm_workers")

SIGNATURE = "void run(const T *restrict x, T *restrict y, long long n)"
TWICE = "for (long long i = 0; i < n; i++) y[i] = 2 * x[i];"


def in_c(body: str, head: str = "") -> str:
    return f"{head}\n{SIGNATURE} {{\n{body}\n}}\n"


# Spoilt if another file's code has run in this process; files with one text share an object.
ALONE = (
    'if (!is_known) spoilt = getenv("MARK") != 0, is_known = 1, setenv("MARK", "1", 1);\n',
    "#include <stdlib.h>\nstatic int is_known, spoilt;",
)

# By name: the file, the status, a part of the reason.
FILES = {
    "alone": (in_c(f"{ALONE[0]}{TWICE} y[0] += spoilt;", ALONE[1]), "ok", None),
    "alone_too": (in_c(f"{ALONE[0]}{TWICE} y[0] += spoilt; ;", ALONE[1]), "ok", None),
    "leaves_output": (
        in_c(f"if (is_known) return; is_known = 1; {TWICE}", "static int is_known;"),
        "wrong",
        "y differs",
    ),
    "honest": (in_c(TWICE), "ok", None),
    "parallel": (in_c(f"#pragma omp parallel for\n{TWICE}"), "ok", None),
    "thrice": (in_c(TWICE.replace("2 *", "3 *")), "wrong", "y differs"),
    "mistyped": (
        f"void run(const T *x, T *y, int n) {{ {TWICE} }}",
        "failed",
        "mistyped.c:1:6: error: conflicting types for 'run'",
    ),
    "hidden": (f"static {in_c(TWICE)}", "failed", "hidden.c:2:6: error: static declaration"),
    "missing": (
        f"void ran(const T *x, T *y, long long n) {{ {TWICE} }}",
        "failed",
        "missing.c: error: found no function run, expected void run(const WORKLOAD_T",
    ),
    "misspelt": (in_c("y[0] = x[m];"), "failed", "misspelt.c:3:10: error: 'm' undeclared"),
    "not_here": (in_c(TWICE, "#error SKIP: not on this machine"), "skipped", "not on this machine"),
    # What it computes is right: the next call finds what this one has overwritten.
    "writes_input": (
        in_c(
            f"T *own = (T *)x; if (calls++ > 0) own[0] = was;\n{TWICE}\nwas = x[0]; own[0] = 7;",
            "static T was; static int calls;",
        ),
        "wrong",
        "input x",
    ),
    "writes_beyond": (
        in_c(f"{TWICE} ((volatile T *)y)[n] = 0;"),
        "failed",
        'run writes beyond the end of "y"',
    ),
    "stale": (
        in_c(
            "if (!is_known) memcpy(kept, x, n * sizeof *x), is_known = 1;\n"
            "for (long long i = 0; i < n; i++) y[i] = 2 * kept[i];",
            "#include <string.h>\nstatic T kept[1 << 20];\nstatic int is_known;",
        ),
        "wrong",
        "refilled",
    ),
    # Each call leaves its work to a thread, and returns what the thread has made of the call before.
    "thread_beside": (
        in_c(
            "if (calls++ == 0) { pthread_t id; pthread_create(&id, 0, work, 0);"
            " memcpy(copy, x, n * sizeof *x); count = n; sem_post(&ready); }\n"
            "sem_wait(&done); memcpy(y, kept, n * sizeof *y);\n"
            "memcpy(copy, x, n * sizeof *x); sem_post(&ready);",
            "#include <pthread.h>\n#include <semaphore.h>\n#include <string.h>\n"
            "static T copy[1 << 20], kept[1 << 20]; static long long count; static int calls;\n"
            "static sem_t ready, done;\n"
            "static void *work(void *none) { for (;;) { sem_wait(&ready);\n"
            "for (long long i = 0; i < count; i++) kept[i] = 2 * copy[i];\n"
            "sem_post(&done); } return none; }",
        ),
        "wrong",
        "refilled",
    ),
    "crash": (in_c("*(volatile int *)8 = 1;"), "failed", "signal 11"),
}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    files = {f"{name}.c": text for name, (text, _, _) in FILES.items()}
    folder = write_operator(tmp_path_factory.mktemp("c") / "twice", files)
    return run_operator(folder, [{"engine": "c", "variants": ["*"]}])


@pytest.mark.parametrize("name", FILES)
def test_verdict(name: str, cases: dict[str, dict[str, Any]]) -> None:
    _, status, reason = FILES[name]
    case = cases[name]
    assert case["status"] == status, case["reason"]
    assert (reason or "") in (case["reason"] or "")


def test_a_check_finds_random_values_in_outputs(cases: dict[str, dict[str, Any]]) -> None:
    assert cases["leaves_output"]["check"]["before"]["ok"] is False


def test_its_times_are_those_of_code_that_we_do_not_know(cases: dict[str, dict[str, Any]]) -> None:
    case = cases["honest"]
    assert case["trust"] in {"audited", "self-reported"}  # the latter on a busy machine
    assert case["claims"]["n"] > 0
    assert {"forward", "total", "residual", "host_to_host"} == case["phases"].keys()
    assert "-march=native" in case["resources"]["flags"]


def test_types_that_the_compiler_lacks_are_skipped(tmp_path: Path) -> None:
    files = {"half.c": in_c(TWICE)}
    folder = write_operator(tmp_path / "twice", files, dtypes=["f16", "bf16", "f64"])
    axes: dict[str, Any] = {"dtype": ["f16", "bf16", "f64"]}
    cases = run_operator(folder, [{"engine": "c", "variants": ["*"]}], axes=axes)
    assert cases["half/dtype=f64"]["status"] == "ok"
    for name, lacking in (("half", "no _Float16"), ("half/dtype=bf16", "no __bf16")):
        case = cases[name]
        assert case["status"] == "ok" or lacking in case["reason"]


EVERYTHING = """
void run(const T *x, T *state, T *y, float scale, long long rows) {
    for (long long i = 0; i < rows * COLS; i++) {
        y[i] = state[i] + scale * x[i];
        state[i] += 1;
    }
}
"""


def test_scalars_params_and_arrays_in_place(tmp_path: Path) -> None:
    shape = {"shape": ["rows", "cols"], "dtype": "T"}
    folder = write_operator(
        tmp_path / "many",
        {
            "reference.py": "def reference(x, state, scale): return state + 1, state + scale * x",
            "mine.c": EVERYTHING,
        },
        params={"rows": {"default": 30}, "cols": {"default": 17, "constant": True}},
        inputs=[{"name": "x", **shape}, {"name": "state", **shape, "in_place": True}],
        outputs=[{"name": "y", **shape}],
        scalars=[{"name": "scale", "dtype": "f32", "value": 0.5}],
    )
    cases = run_operator(folder, [{"engine": "c", "variants": ["mine"]}])
    assert cases["mine"]["status"] == "ok", cases["mine"]["reason"]


def test_a_file_that_changes_after_it_was_compiled(tmp_path: Path) -> None:
    """It is the run's own files that were measured, or none."""
    source = tmp_path / "twice" / "edits.c"
    edits = f'FILE *own = fopen("{source}", "a"); fputs("// more\\n", own); fclose(own);'
    folder = write_operator(
        tmp_path / "twice", {"edits.c": in_c(f"{TWICE} {edits}", "#include <stdio.h>")}
    )
    axes = {"n": [500, 1000]}
    cases = run_operator(folder, [{"engine": "c", "variants": ["*"]}], axes=axes)
    assert [case["status"] for case in cases.values()].count("failed") >= 1
    last = list(cases.values())[-1]
    assert "was changed while it was in use" in last["reason"]


@pytest.mark.parametrize("isolated", [True, False])
def test_behind_walls_it_finds_no_results(tmp_path: Path, isolated: bool) -> None:  # noqa: FBT001
    if isolated:
        need_walls()
    header = tmp_path / "twice_run" / "run.json"
    looks = f'{TWICE} if (access("{header}", R_OK) == 0) y[0] += 1;'
    folder = write_operator(tmp_path / "twice", {"looks.c": in_c(looks, "#include <unistd.h>")})
    options = ["--isolate"] if isolated else []
    cases = run_operator(folder, [{"engine": "c", "variants": ["*"]}], *options)
    assert cases["looks"]["status"] == ("ok" if isolated else "wrong")


def test_without_a_compiler(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"mine.c": in_c(TWICE)})
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("env", "sh", "uname"):
        (tools / name).symlink_to(str(shutil.which(name)))
    cases = run_operator(
        folder, [{"engine": "c", "variants": ["*"]}], PATH=str(tools), CC="no_such_compiler"
    )
    assert cases["mine"]["status"] == "skipped"
    assert cases["mine"]["reason"].startswith("a C compiler is needed for contenders in C: ")


def test_compile_and_list(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"mine.c": in_c(TWICE), "_part.c": ""})
    command = ["compile", "--workload", folder, "--arch", "sm_90", "--json", *compiler_options()]
    programs = json.loads(bench(*command).stdout)["programs"]
    assert [(each["variant"], each["arch"], each["status"]) for each in programs] == [
        ("mine", "host", "ok")
    ]
    assert os.path.getsize(programs[0]["cubin"]) > 0
    checked = bench("workload", "check", folder).stdout
    assert "  in C             mine\n" in checked
