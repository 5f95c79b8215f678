"""What is said of an operator's contenders: right, wrong, the same twice, refused by verify()."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from operator_folders import run_operator, write_operator
from project import bench, read_passes, report_of

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

PYTHON = [{"engine": "python", "device": ["cpu"], "variants": ["*"]}]
EQUAL = {"equal.py": "def run(x): return 2 * x"}
# Differs in the last bits, which no tolerance sees.
DIFFERS = {
    "differs.py": """
        calls = 0
        def run(x):
            global calls
            calls += 1
            y = 2 * x
            y[7] *= 1 + calls % 100 * 2.0**-22
            return y
        """
}


def test_an_operator_may_require_two_equal_runs(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "twice", EQUAL | DIFFERS, deterministic="required")
    cases = run_operator(folder, PYTHON, expect=1)
    case = cases["equal"]
    assert (case["status"], case["deterministic"], case["flags"]) == ("ok", True, [])
    case = cases["differs"]
    assert (case["status"], case["deterministic"]) == ("wrong", False)
    assert case["reason"].startswith("two runs on the same inputs differ: y, element 7: ")
    assert case["reason"].endswith('; workload.json has "deterministic": "required"')


def test_a_difference_is_shown_where_it_is_allowed(tmp_path: Path) -> None:
    folder, run = write_operator(tmp_path / "twice", DIFFERS), tmp_path / "run"
    options = ("--engine", "python", "--set", "device=cpu", "--quick", "--out", run)
    printed = bench("run", "--workload", folder, *options).stdout
    assert "  two runs     differ (not deterministic)\n" in printed
    report = report_of(run, out=tmp_path / "REPORT.md")
    heading, _, *rows = re.findall(r"^\|.*$", report.partition("### Contenders")[2], re.MULTILINE)
    column = [cell.strip() for cell in heading.split("|")].index("two runs")
    assert [row.split("|")[column].strip() for row in rows] == ["differ"]


# ---- verify() ------------------------------------------------------------------------------------


TOP = """
    def reference(x):
        return x.argmax(-1)
    def verify(inputs, outputs):
        (x,), (y,) = inputs, outputs
        if y.dtype != __import__("torch").int64:
            return f"y is {y.dtype}"
        if (x.gather(-1, y[:, None])[:, 0] == x.amax(-1)).all():
            return None
        return "y is not where x is largest"
    """
TIES = {"name": "x", "shape": ["n", 16], "dtype": "T", "fill": {"integers": [0, 4]}}
INDEX = {"name": "y", "shape": ["n"], "dtype": "i64"}
CANDIDATES = {
    "last.py": "def run(x): return 15 - x.flip(-1).argmax(-1)",
    "smallest.py": "def run(x): return x.argmin(-1)",
    "outside.py": "def run(x): return x.argmax(-1) + 16",
    # Right for the inputs that the case is opened with.
    "kept.py": """
        y = None
        def run(x):
            global y
            y = x.argmax(-1) if y is None else y
            return y.clone()
        """,
}


def run_top(folder: Path, files: dict[str, str]) -> dict[str, dict[str, Any]]:
    write_operator(folder, files, dtypes=["i32"], inputs=[TIES], outputs=[INDEX])
    return run_operator(folder, PYTHON, expect=1)


def test_verify_decides_in_place_of_a_comparison(tmp_path: Path) -> None:
    cases = run_top(tmp_path / "top", {"reference.py": TOP, **CANDIDATES})
    last = cases["last"]
    assert last["status"] == "ok", last["reason"]
    assert last["check"]["after"]["ok"] and last["check"]["before"]["max_abs"] > 0
    smallest = cases["smallest"]
    assert (smallest["status"], smallest["reason"]) == (
        "wrong",
        "verify: y is not where x is largest",
    )
    assert smallest["check"]["before"]["ok"] is False
    outside = cases["outside"]
    assert outside["status"] == "wrong"
    assert outside["reason"].startswith("verify: raised at top/reference.py:8: RuntimeError: index")
    kept = cases["kept"]
    assert kept["status"] == "wrong"
    assert kept["reason"].startswith("the output of a timed sample of ")
    assert ", inputs refilled with seed " in kept["reason"]
    assert kept["reason"].endswith(": verify: y is not where x is largest")


def test_a_verify_that_refuses_the_reference_is_an_error(tmp_path: Path) -> None:
    files = {
        "reference.py": TOP + "\n    def verify(inputs, outputs): return 'never'\n",
        "last.py": CANDIDATES["last.py"],
    }
    (case,) = run_top(tmp_path / "top", files).values()
    reason = "reference output: verify refuses what reference returns: never"
    assert (case["status"], case["reason"]) == ("failed", reason)


def test_a_verify_that_dies_fails_cases_one_by_one(tmp_path: Path) -> None:
    dies = """
        import os
        def reference(x):
            return 2 * x
        def verify(inputs, outputs):
            more = outputs[0] - 2 * inputs[0]
            if more.std() > 0.1:
                return "not of these inputs"
            if more.mean() > 0.5:
                os._exit(3)
        """
    files = {
        "reference.py": dies,
        "a_kills.py": "def run(x): return 2 * x + 1",
        "b_other.py": "def run(x): return 2 * x - 1",
        "c_nan.py": "def run(x): return x * float('nan')",
    }
    cases = run_operator(write_operator(tmp_path / "dies", files), PYTHON, expect=1)
    kills, other, nan = cases["a_kills"], cases["b_other"], cases["c_nan"]
    assert kills["status"] == "failed"
    assert "verify: worker pytorch-cpu-oracle died (exit code 3)" in kills["reason"]
    assert other["status"] == "ok", other["reason"]
    assert nan["status"] == "wrong"
    assert "relative L2 error NaN" in nan["reason"]


def test_a_pass_sees_no_inputs_of_another_but_those_as_opened(tmp_path: Path) -> None:
    """Outputs kept on disk by the inputs' content are of no use in the next pass."""
    seen = tmp_path / "seen"
    keeps = f"""
        import hashlib, os

        def run(x):
            with open({str(seen)!r}, "a") as file:
                print(os.getpid(), hashlib.sha256(x.numpy().tobytes()).hexdigest(), file=file)
            return 2 * x
        """
    folder = write_operator(tmp_path / "twice", {"keeps.py": keeps})
    options = (
        "--engine",
        "python",
        "--set",
        "device=cpu",
        "--passes",
        "2",
        "--time-limit",
        "100ms",
    )
    bench("run", "--workload", folder, *options, "--out", tmp_path / "run")
    assert {case["status"] for case in read_passes(tmp_path / "run").values()} == {"ok"}
    inputs: dict[str, set[str]] = {}
    for line in seen.read_text(encoding="utf-8").splitlines():
        process, content = line.split()
        inputs.setdefault(process, set()).add(content)
    first, second = inputs.values()
    assert min(len(first), len(second)) >= 3
    assert len(first & second) == 1


def test_no_reference_is_computed_for_what_has_no_device(tmp_path: Path) -> None:
    """That of a wide training took minutes on a machine without a GPU."""
    called = tmp_path / "called"
    reference = f"def reference(x):\n    open({str(called)!r}, 'a').close()\n    return 2 * x\n"
    for device, status in (("cuda", "skipped"), ("cpu", "ok")):
        folder = write_operator(tmp_path / device / "twice", {"reference.py": reference})
        mode = {"engine": "pytorch", "device": [device], "variants": ["eager"]}
        (case,) = run_operator(folder, [mode], CUDA_VISIBLE_DEVICES="").values()
        assert case["status"] == status, case["reason"]
        assert called.exists() == (device == "cpu")
