"""Contenders in C beside the rungs: honest ones are right, each fault has its verdict."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from operator_folders import X, Y, run_operator, write_operator
from project import ROOT, bench, compiler_options, ran
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
        "mistyped.c: error: run: expected void run(const T *__restrict__ x, T *__restrict__ y, long",
    ),
    "hidden": (f"static {in_c(TWICE)}", "failed", "hidden.c:2:6: error: static declaration"),
    "missing": (
        f"void ran(const T *x, T *y, long long n) {{ {TWICE} }}",
        "failed",
        "missing.c: error: found no function run, expected void run(const T",
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
    "writes_beyond_a_gap": (
        in_c(f"{TWICE} ((volatile T *)y)[n + 128] = 0;"),
        "failed",
        'run writes beyond the end of "y"',
    ),
    "writes_before": (
        in_c(f"{TWICE} ((volatile T *)x)[-200] = 0;"),
        "failed",
        'run writes before the start of "x"',
    ),
    "writes_far_beyond": (in_c(f"{TWICE} ((volatile T *)y)[n + 5000] = 0;"), "failed", "signal 11"),
    "reads_before": (in_c(f"{TWICE} y[0] += ((volatile T *)x)[-5000];"), "failed", "signal 11"),
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

REWRITTEN_MOST = 6  # of each probe, in a pass

# Inputs that were written again as they are it takes for known ones, too.
REMEMBERS = in_c(
    "if (memcmp(x, copy, n * sizeof *x) != 0)\n"
    "for (long long i = 0; i < n; i++) { double a = 0;\n"
    "for (int k = 0; k < 256; k++) a += sin(x[i] + k); kept[i] = 2 * x[i] + 0 * a; }\n"
    "memcpy(copy, x, n * sizeof *x); memcpy(y, kept, n * sizeof *y);",
    "#include <math.h>\n#include <string.h>\nstatic T copy[1 << 20], kept[1 << 20];",
)


# It takes a pause before a call for a sign that inputs are new, or drawn again.
NOTICES = in_c(
    "struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);\n"  # mood: either verdict will do
    "const double now = t.tv_sec * 1e9 + t.tv_nsec;\n"
    "if (now - last > 3e3 || memcmp(x, copy, n * sizeof *x) != 0)\n"
    "for (long long i = 0; i < n; i++) { double a = 0;\n"
    "for (int k = 0; k < 256; k++) a += sin(x[i] + k); kept[i] = 2 * x[i] + 0 * a; }\n"
    "memcpy(copy, x, n * sizeof *x); memcpy(y, kept, n * sizeof *y);\n"
    "clock_gettime(CLOCK_MONOTONIC, &t); last = t.tv_sec * 1e9 + t.tv_nsec;",  # mood: likewise
    "#include <math.h>\n#include <string.h>\n#include <time.h>\n"
    "static T copy[1 << 20], kept[1 << 20]; static double last;",
)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    files = {f"{name}.c": text for name, (text, _, _) in FILES.items()}
    folder = write_operator(tmp_path_factory.mktemp("c") / "twice", files)
    return run_operator(folder, [{"engine": "cpu", "variants": ["*"]}])


@pytest.mark.parametrize("name", FILES)
def test_verdict(name: str, cases: dict[str, dict[str, Any]]) -> None:
    _, status, reason = FILES[name]
    case = cases[name]
    assert case["status"] == status, case["reason"]
    assert (reason or "") in (case["reason"] or "")


@pytest.mark.parametrize("name", ["remembers", "notices"])
def test_one_that_keeps_its_results(tmp_path: Path, name: str) -> None:
    text = {"remembers": REMEMBERS, "notices": NOTICES}[name]
    folder = write_operator(tmp_path / "twice", {f"{name}.c": text})
    contenders = [{"engine": "cpu", "variants": ["*"]}]
    (case,) = run_operator(folder, contenders, min_rounds=12).values()
    # The latter on a busy machine, where samples on new inputs may have waited for a core.
    assert case["status"] == "implausible" or case["trust"] == "self-reported", case["flags"]
    total = case["phases"]["total"]
    assert len(total["rewritten"]) <= REWRITTEN_MOST
    assert min(total["fresh"]) > 10 * total["median"]  # no input is known, whatever is checked
    if name == "remembers":
        assert min(total["rewritten"]) < min(total["fresh"]) / 10


def test_no_reference_is_computed_for_what_cannot_be_run(tmp_path: Path) -> None:
    """That of a whole training took minutes."""
    reference = f"""
        def reference(x):
            open({str(tmp_path / "ran")!r}, "w").close()
            return 2 * x
        """
    files = {"reference.py": reference, "none.c": FILES["not_here"][0]}
    folder = write_operator(tmp_path / "twice", files)
    (case,) = run_operator(folder, [{"engine": "cpu", "variants": ["*"]}]).values()
    assert (case["status"], case["reason"]) == ("skipped", "not on this machine")
    assert not (tmp_path / "ran").exists()


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
    cases = run_operator(folder, [{"engine": "cpu", "variants": ["*"]}], axes=axes)
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
    case = run_operator(folder, [{"engine": "cpu", "variants": ["mine"]}])["mine"]
    assert case["status"] == "ok", case["reason"]
    assert case["claims"]["ratio"] > 0, "it could not be audited"


# Two dtypes, arrays in place of floats and of integers, a scale, and no Python.
REFERENCE = """
#include <math.h>
_Static_assert(sizeof(T) == 8, "float64");
void run(const T *x, T *state, int *count, T *y, float half, long long n) {
    for (long long i = 0; i < n; i++) {
        y[i] = state[i] + half * x[i];
        state[i] += 1;
        count[i] *= 2;
    }
}
void scale(const T *x, T *state, int *count, T *y, float half, long long n, double *scales) {
    scales[0] = scales[1] = scales[2] = 1;
}
"""

CONTENDER = REFERENCE.split("void scale")[0].replace("sizeof(T) == 8", "1")


def reference_in_c(folder: Path, files: dict[str, str]) -> Path:
    shape = {"shape": ["n"], "dtype": "T"}
    counts = {"name": "count", "shape": ["n"], "dtype": "i32", "fill": {"integers": [1, 9]}}
    return write_operator(
        folder,
        {
            "reference.py": (
                "def reference(x, state, count, half):\n"
                "    return state + 1, count * 2, state + half * x\n"
            ),
            "reference.c": REFERENCE,
            **files,
        },
        dtypes=["f32", "f64"],
        inputs=[
            {"name": "x", **shape},
            {"name": "state", **shape, "in_place": True},
            {**counts, "in_place": True},
        ],
        outputs=[{"name": "y", **shape}],
        scalars=[{"name": "half", "dtype": "f32", "value": 0.5}],
    )


def test_a_reference_in_c_needs_no_python(tmp_path: Path) -> None:
    files = {
        "mine.c": CONTENDER,
        "halves_once_more.c": CONTENDER.replace("half * x[i]", "half * half * x[i]"),
        "counts_wrongly.c": CONTENDER.replace("*= 2", "+= 2"),
        "leaves_state.c": CONTENDER.replace("state[i] += 1;", ""),
    }
    cases = run_operator(
        reference_in_c(tmp_path / "many", files),
        [{"engine": "cpu", "variants": ["*"]}],
        axes={"dtype": ["f32", "f64"]},
        BENCH_PYTHON="no_such_python",
    )
    for name, case in cases.items():
        assert case["status"] == ("ok" if "mine" in name else "wrong"), (name, case["reason"])
    assert len(cases) == 8
    assert cases["mine"]["check"]["before"]["rel_l2"] > 0  # a reference in float32 has its rounding
    assert "count" in cases["counts_wrongly"]["reason"]
    assert "state" in cases["leaves_state"]["reason"]


# p falls by a tenth in each of 4 steps; every second one's first value is kept.
DECAY = """
void run(T *p, T *first, long long n, long long steps) {
    for (int step = 0; step < WORKLOAD_STEPS; step++) {
        if (step % 2 == 0)
            first[step / 2] = p[0];
        for (long long i = 0; i < n; i++)
            p[i] *= (T)0.9;
    }
}
"""


def decay_of(folder: Path, n: int) -> dict[str, Any]:
    curve = {"name": "first", "shape": [2], "dtype": "T", "curve": True, "every": 2}
    decay = "def step(p, step): return 0.9 * p, p[0]"
    write_operator(
        folder,
        {"reference.py": decay, "reference.c": DECAY, "mine.c": DECAY},
        params={"n": {"default": n}, "steps": {"default": 4}},
        training={"steps": "steps"},
        inputs=[{"name": "p", "shape": ["n"], "dtype": "T", "in_place": True}],
        outputs=[curve],
    )
    contenders = [{"engine": "cpu", "variants": ["mine"]}]
    return run_operator(folder, contenders, BENCH_PYTHON="no_such_python")["mine"]


def test_a_training_without_room_is_skipped_with_numbers(tmp_path: Path) -> None:
    case = decay_of(tmp_path / "decay", 10**14)
    assert (case["status"], case["reason"][:25]) == ("skipped", "needs 1.60 PB of host mem"), case


def test_what_a_training_records_is_in_the_results(tmp_path: Path) -> None:
    case = decay_of(tmp_path / "decay", 1000)
    assert case["status"] == "ok", case["reason"]
    (start, first), (end, second) = case["results"]["first"]
    assert (start, end) == (0, 2)
    assert second == pytest.approx(0.81 * first)


def test_a_reference_in_c_is_compared_with_the_one_in_python(tmp_path: Path) -> None:
    folder = reference_in_c(tmp_path / "many", {})
    assert "reference.c, in float64" in bench("workload", "check", folder).stdout
    (folder / "reference.c").write_text(REFERENCE.replace("half * x[i]", "0.5000001 * x[i]"))
    answer = bench("workload", "check", folder, expect=2)
    assert "reference.c and reference.py differ in y: relative L2 error" in answer.stdout


@pytest.mark.parametrize(
    ("found", "instead", "reason"),
    [
        ("void run", "int run", "reference.c:4:5: error: conflicting types for 'run'"),
        ("state[i] += 1", "state[i] += 1, ((T *)x)[i] = 1", 'reference.c changes its input "x"'),
        ("count[i] *= 2", "count[n] = 2", 'run writes beyond the end of "count"'),
        ("state[i] + half * x[i]", "0", "y: zeros would pass"),
    ],
)
def test_a_wrong_reference_in_c(tmp_path: Path, found: str, instead: str, reason: str) -> None:
    files = {"reference.c": REFERENCE.replace(found, instead), "mine.c": CONTENDER}
    cases = run_operator(
        reference_in_c(tmp_path / "many", files), [{"engine": "cpu", "variants": ["mine"]}]
    )
    assert cases["mine"]["status"] == "failed"
    assert cases["mine"]["reason"].startswith("reference output: ")
    assert reason in cases["mine"]["reason"]


def test_arrays_that_are_one_number(tmp_path: Path) -> None:
    text = """
        def reference(p, x): return p + 1, x.square().sum()
        def jax_reference(p, x): return p + 1, (x * x).sum()
        """
    body = (
        "double sum = 0; for (long long i = 0; i < n; i++) sum += x[i] * x[i]; *y = sum, *p += 1;"
    )
    signature = "void run(const T *restrict x, T *restrict p, T *restrict y, long long n)"
    folder = write_operator(
        tmp_path / "one",
        {"reference.py": text, "mine.c": f"{signature} {{ {body} }}"},
        inputs=[{"name": "p", "shape": [], "dtype": "T", "in_place": True}, X],
        outputs=[{"name": "y", "shape": [], "dtype": "T"}],
    )
    cpu = {"device": ["cpu"]}
    contenders = [
        {"engine": "cpu", "variants": ["mine"]},
        {"engine": "pytorch", "variants": ["inference"], **cpu},
        {"engine": "jax", "variants": ["aot"], **cpu},
    ]
    for case in run_operator(folder, contenders).values():
        assert case["status"] in ("ok", "skipped"), case["reason"]


def test_inputs_of_python_for_a_reference_in_c(tmp_path: Path) -> None:
    """Its process is asked for the inputs, as contenders are drawn others, and not for the outputs."""
    text = """
        import torch
        def inputs(params, dtype): return [torch.rand(params["n"], dtype=dtype) + 7]
        def reference(x): raise RuntimeError("called")
        """
    doubles = "for (long long i = 0; i < n; i++) y[i] = 2 * x[i];"
    folder = write_operator(
        tmp_path / "twice",
        {"reference.py": text, "reference.c": in_c(doubles), "mine.c": in_c(doubles)},
        inputs=[{**X, "fill": "function"}],
    )
    contenders = [{"engine": "cpu", "variants": ["mine"]}]
    for case in (
        *run_operator(folder, contenders).values(),
        *run_operator(folder, contenders, "--isolate").values(),
    ):
        assert case["status"] == "ok", case["reason"]
        assert case["check"]["after"]["ok"]


@pytest.mark.parametrize("options", [(), ("--isolate",)])
def test_data_stay_when_other_inputs_are_drawn_anew(tmp_path: Path, options: Any) -> None:
    """They are made once, with those of the other function, whatever is drawn between them."""
    log = tmp_path / "log"
    text = f"""
        import torch
        def note(name):
            with open({str(log)!r}, "a") as log:
                print(name, file=log)
        def data(params, dtype):
            note("data")
            return [torch.arange(params["n"], dtype=dtype)]
        def inputs(params, dtype):
            note("inputs")
            return [torch.rand(params["n"], dtype=dtype) + 7]
        def reference(a, x, b): return a * x + b
        """
    files = {
        "reference.py": text,
        "mine.c": (
            "void run(WORKLOAD_ARGUMENTS) {\n"
            "for (long long i = 0; i < n; i++) y[i] = a[i] * x[i] + b[i];\n}"
        ),
        "same.py": "def run(a, x, b): return x * a + b",
        "anew.py": "def run(a, x, b): return x * a.roll(1) + b",
    }
    names = {"a": "data", "b": "function"}
    inputs = [{**X, "name": name, "fill": fill} for name, fill in names.items()]
    folder = write_operator(tmp_path / "twice", files, inputs=[inputs[0], X, inputs[1]])
    cpu = {"device": ["cpu"]}
    contenders = [
        {"engine": "cpu", "variants": ["mine"]},
        {"engine": "python", "variants": ["same", "anew"], **cpu},
        {"engine": "pytorch", "variants": ["eager", "inference"], **cpu},
    ]
    cases = run_operator(folder, contenders, *options)
    assert cases.pop("anew")["status"] == "wrong"
    assert len(cases) == 4
    for case in cases.values():
        assert case["status"] == "ok", case["reason"]
    made = log.read_text(encoding="utf-8").split()
    assert made.count("data") == 1 < made.count("inputs")


MODEL = """
    import torch
    class Model(torch.nn.Module):
        def forward(self, x): return {} * x
    def model(): return Model()
    def reference(x): return 2 * x
    def jax_reference(x): return {} * x
    """


def checked(
    folder: Path, *options: str, expect: int = 0, **environment: str
) -> dict[str, list[str]]:
    """Return what `bench workload check` says is right, was not tried, and is wrong."""
    done = bench("workload", "check", folder, *options, expect=expect, **environment)
    found: dict[str, list[str]] = {"right": [], "not tried": [], "wrong": []}
    for what, text in re.findall(
        r"^  (right|not tried|wrong) {2,}(.*)$", done.stdout, re.MULTILINE
    ):
        found[what].append(text)
    assert ("\nok:" in done.stdout) == (expect == 0)
    return found


def test_check_compares_what_runs_on_the_cpu(tmp_path: Path) -> None:
    """Each was found in a run only, after the others had been measured."""
    files = {"reference.py": MODEL.format(2, 2), "mine.c": FILES["honest"][0]}
    files["other.c"] = FILES["not_here"][0]
    folder = write_operator(tmp_path / "twice", files)
    found = checked(folder, BENCH_JAX_PYTHON="/no/python")
    assert found["right"] == ["PyTorch eager, C mine, at small sizes"]
    jax, other = found["not tried"]
    assert jax.startswith("JAX jit: $BENCH_JAX_PYTHON is not a program (/no/python)")
    assert other == "C other: not on this machine"
    files = {"reference.py": MODEL.format(3, 4), "mine.c": FILES["thrice"][0]}
    found = checked(write_operator(tmp_path / "wrong", files), expect=1)
    says = "{}, n=1 f32: y differs from the reference output: relative L2 error {}, allowed 1e-05"
    told = [line.partition(";")[0] for line in found["wrong"]]
    wrong = [says.format("PyTorch eager", 0.5), says.format("C mine", 0.5)]
    assert told in (wrong, [wrong[0], says.format("JAX jit", 1), wrong[1]])
    assert found["right"] == []


def test_check_finds_what_is_wrong_at_some_sizes_only(tmp_path: Path) -> None:
    tail = in_c("for (long long i = 0; i < n / 4 * 4; i++) y[i] = 2 * x[i];")
    keys = {"outputs": [{**Y, "tolerance": {"rel_l2": "n / 10 ** 8"}}]}
    folder = write_operator(tmp_path / "tail", {"by4.c": tail}, **keys)
    found = checked(folder, expect=1)
    assert found["right"] == ["PyTorch eager, at small sizes"]
    assert found["wrong"][0].startswith("C by4, n=1 f32: ")
    found = checked(folder, "--set", "n=8")
    assert found["right"] == ["PyTorch eager, C by4, at small sizes"]
    printed = bench("workload", "check", folder, "--set", "n=8").stdout
    assert re.search(r"^y +output .* f32: relative L2 1e-05$", printed, re.MULTILINE), "as a number"
    keys = {"where": "n == 100000", "params": {"n": {"default": 100000}}}
    found = checked(write_operator(tmp_path / "large", {"by4.c": tail}, **keys))
    assert found["not tried"] == ['contenders: "where" allows no small sizes']


def test_check_finds_changes_that_a_second_call_undoes(tmp_path: Path) -> None:
    swap = "if (n > 1) { T *at = (T *)x, first = at[0]; at[0] = at[1]; at[1] = first; }"
    folder = write_operator(tmp_path / "twice", {"swaps.c": in_c(f"{TWICE} {swap}")})
    (wrong,) = checked(folder, expect=1)["wrong"]
    assert wrong.startswith("C swaps, n=1000 f32: a run changes its input x; ")


def test_check_of_a_folder_without_rungs(tmp_path: Path) -> None:
    files = {"twice.c": in_c(TWICE), "mine.py": "def run(x): return 2 * x"}
    folder = write_operator(tmp_path / "twice", files)
    done = bench("workload", "check", folder, expect=0)
    assert "each implementation has a function run, which was not called.\n" in done.stdout
    assert "rungs compile" not in done.stdout


def test_check_of_a_reference_with_autograd(tmp_path: Path) -> None:
    text = """
        import torch
        def reference(x):
            x = x.detach().requires_grad_()
            return torch.autograd.grad((x * x).sum(), x)[0]
        """
    folder = write_operator(tmp_path / "twice", {"reference.py": text})
    done = bench("workload", "check", folder, expect=2)
    assert "in `reference` autograd is off: use torch.func.vjp, or gradients by hand" in done.stdout


def test_check_looks_at_several_folders(tmp_path: Path) -> None:
    """It ended with the first that was wrong."""
    wrong = write_operator(tmp_path / "wrong", {"mine.c": FILES["thrice"][0]})
    right = write_operator(tmp_path / "right", {"mine.c": FILES["honest"][0]})
    done = bench("workload", "check", wrong, right, expect=1)
    assert "  right            PyTorch eager, C mine, at small sizes\nok: " in done.stdout
    assert "bench: wrong: see what is wrong above\n" in done.stderr
    assert done.stderr.endswith("bench: 1 of 2 workloads are wrong, see above\n")


def test_functions_that_only_a_reference_in_python_can_use(tmp_path: Path) -> None:
    text = "def verify(inputs, outputs): pass\ndef reference(x): return 2 * x"
    folder = write_operator(tmp_path / "twice", {"reference.py": text, "reference.c": "int x;"})
    answer = bench("workload", "check", folder, expect=2)
    assert "reference.c: found a function verify in reference.py" in answer.stderr


def test_a_file_that_changes_after_it_was_compiled(tmp_path: Path) -> None:
    """It is the run's own files that were measured, or none."""
    source = tmp_path / "twice" / "edits.c"
    edits = f'FILE *own = fopen("{source}", "a"); fputs("// more\\n", own); fclose(own);'
    folder = write_operator(
        tmp_path / "twice", {"edits.c": in_c(f"{TWICE} {edits}", "#include <stdio.h>")}
    )
    axes = {"n": [500, 1000]}
    cases = run_operator(folder, [{"engine": "cpu", "variants": ["*"]}], axes=axes)
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
    cases = run_operator(folder, [{"engine": "cpu", "variants": ["*"]}], *options)
    assert cases["looks"]["status"] == ("ok" if isolated else "wrong")


def test_without_a_compiler(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", {"mine.c": in_c(TWICE)})
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("env", "sh", "uname"):
        (tools / name).symlink_to(str(shutil.which(name)))
    cases = run_operator(
        folder, [{"engine": "cpu", "variants": ["*"]}], PATH=str(tools), CC="no_such_compiler"
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


def test_arrays_of_one_size_lie_at_different_places_of_their_pages(tmp_path: Path) -> None:
    """A load waits for a store to the same place of another page."""
    shape = {"shape": ["n"], "dtype": "T"}
    names = [f"x{i}" for i in range(7)]
    pointers = ", ".join(f"const T *{name}" for name in names)
    log = tmp_path / "log"
    folder = write_operator(
        tmp_path / "many",
        {
            "reference.py": f"def reference({', '.join(names)}): return x0 + x6",
            "tells.c": f"#include <stdio.h>\nvoid run({pointers}, T *y, long long n) {{\n"
            "static FILE *file;\n"
            f'if (!file && (file = fopen("{log}", "w"))) {{\n'
            f"const void *all[] = {{{', '.join(names)}, y}};\n"
            'for (int i = 0; i < 8; i++) fprintf(file, "%zu\\n", (size_t)all[i]); fflush(file);\n'
            "}\nfor (long long i = 0; i < n; i++) y[i] = x0[i] + x6[i];\n}\n",
        },
        inputs=[{"name": name, **shape} for name in names],
        outputs=[{"name": "y", **shape}],
    )
    contenders = [{"engine": "cpu", "variants": ["tells"]}]
    (case,) = run_operator(folder, contenders, axes={"n": [4096]}).values()
    assert case["status"] == "ok", case["reason"]
    places = [int(line) % 4096 for line in log.read_text("ascii").split()]
    assert len(set(places)) == len(places) == 8
    assert {place % 64 for place in places} == {0}


# OpenMP's runtime is that of the objects alone, as with a portable bench; its threads do not sleep.
OPENS = """
#include "workloads/described/host_code.h"
int main(int n, char **path) {
    for (int i = 0; i < 9; i++) {
        host_code_t code;
        error_t err = ERROR_INIT;
        if (host_code_open(path[n - 1], &code, &err) != STATUS_OK)
            return 1;
        code.run(0, 0);
        host_code_close(&code);
    }
    return 0;
}
"""
RUNS = """
int n;
const char *workload_run(void *const *arguments, void *stream) {
#pragma omp parallel num_threads(4)
    __atomic_add_fetch(&n, 1, __ATOMIC_SEQ_CST);
    return 0;
}
"""


def test_threads_of_openmp_outlast_the_object_that_started_them(tmp_path: Path) -> None:
    (tmp_path / "opens.c").write_text(OPENS, "utf-8")
    (tmp_path / "runs.c").write_text(RUNS, "utf-8")
    cc = os.environ.get("CC", "cc")
    ran(cc, "-shared", "-fPIC", "-fopenmp", "-o", tmp_path / "runs.so", tmp_path / "runs.c")
    parts = [ROOT / f"bench/{part}.c" for part in ("workloads/described/host_code", "base/error")]
    parts += [ROOT / f"bench/base/{part}.c" for part in ("text", "memory")]
    options = ["-D_GNU_SOURCE", f"-I{ROOT}/bench", "-o", tmp_path / "opens"]
    ran(cc, *options, tmp_path / "opens.c", *parts, "-lm", "-ldl")
    awake = {**os.environ, "OMP_WAIT_POLICY": "active"}
    ran(tmp_path / "opens", tmp_path / "runs.so", env=awake)
