"""Operators that are wrong, as a user meets them: what is said, and that other cases go on."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from operators import COPY, write_operator
from patience import impatient
from project import bench, read_cases

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
    ),
    pytest.mark.usefixtures("warm_workers"),
]
CASTS = (
    "reference casts inside; the inputs are f64 here, and its result must be, or a function oracle "
    "beside it computes in f64"
)


def test_a_wrong_description(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine", size="deep")
    message = 'bench: mine/workload.json: $.size: unknown param "deep" (known: rows, cols)\n'
    for command in (["workload", "check", "mine"], ["run", "--workload", "mine", "--out", "r"]):
        done = bench(*command, cwd=tmp_path, expect=2)
        assert (done.stdout, done.stderr) == ("", message)
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]


REFERENCES = {
    "raises": (
        "def reference(x):\n    y = x\n    return y.no_such()\n",
        "mine/reference.py:3: AttributeError: 'Tensor' object has no attribute 'no_such'",
    ),
    "casts": (
        "def reference(x):\n    return x.float()\n",
        f"mine/reference.py:1: reference: y is f32, expected f64: {CASTS}",
    ),
    "exits": (
        "import os\ndef reference(x):\n    os._exit(3)\n",
        "reference.py ended its process, or did not return: output: worker pytorch-cpu died (exit "
        "code 3)",
    ),
}
SIZES = {"rows": {"default": 4, "min": 4}, "cols": {"default": 3, "min": 3}}


@pytest.mark.parametrize("what", REFERENCES)
def test_check_of_a_wrong_reference(tmp_path: Path, what: str) -> None:
    source, expected = REFERENCES[what]
    folder = write_operator(tmp_path / "mine", {"reference": source}, params=SIZES)
    done = bench("workload", "check", folder, expect=2)
    assert done.stderr.endswith("\nbench: mine: its reference is wrong, see above\n")
    wrong = [line for line in done.stdout.splitlines() if line.startswith("  wrong")]
    assert wrong == [f"  wrong            rows=4 cols=3 f32: {expected}"]
    assert "\nok:" not in done.stdout


SCRIPTS = {
    "no_run": ("def runs(x):\n    return x.clone()\n", "mine/no_run.py: no function run"),
    "syntax": (
        "def run(x):\n    return x.clone(\n",
        "mine/syntax.py:2: SyntaxError: '(' was never closed",
    ),
    "right": (COPY.format(name="run"), None),
    "of_a_gpu": ("import torch\nrun = torch.zeros(1, device='cuda').add\n", None),
}


def test_check_reads_implementations(tmp_path: Path) -> None:
    files = {stem: source for stem, (source, _) in SCRIPTS.items()}
    folder = write_operator(tmp_path / "mine", {**files, "_helper": "def helps(): pass\n"})
    done = bench("workload", "check", folder, expect=1)
    assert done.stderr.endswith("\nbench: mine: 2 of 4 implementations wrong, see above\n")
    wrong = [line.split(maxsplit=1)[1] for line in done.stdout.splitlines() if "wrong" in line]
    assert wrong == [said for _, said in SCRIPTS.values() if said]
    for stem in ("no_run", "syntax"):
        (folder / f"{stem}.py").unlink()
    done = bench("workload", "check", folder)
    assert (
        "default sizes; each implementation has a function run, which was not called.\n"
        in done.stdout
    )


def run(
    folder: Path, *options: str, expect: int, **environment: str
) -> dict[str, tuple[str, str | None]]:
    """Return status and reason by variant, and by rows if there are several."""
    out = folder.parent / "run"
    fixed = ["--set", "device=cpu", "--quick", "--quiet", "--time-limit", "100ms", "--out", out]
    bench("run", "--workload", folder, *options, *fixed, expect=expect, **environment)
    cases = read_cases(out).values()
    several = len({case["params"]["rows"] for case in cases}) > 1
    return {
        str(case["params"]["rows"]) if several else case["variant"]: (
            case["status"],
            case["reason"],
        )
        for case in cases
    }


def test_a_run_with_a_wrong_reference_times_nothing(tmp_path: Path) -> None:
    source, expected = REFERENCES["raises"]
    files = {"reference": source, "other": COPY.format(name="run")}
    found = run(write_operator(tmp_path / "mine", files), "--variant", "eager,other", expect=1)
    assert set(found) == {"eager", "other"}
    assert found["other"] == ("failed", f"reference output: {expected}")
    assert found["eager"][0] == "failed"


def test_a_shape_too_large_for_this_machine_is_skipped_with_numbers(tmp_path: Path) -> None:
    folder = write_operator(tmp_path / "mine")
    sizes = ["--set", "rows=4,200000000000", "--engine", "pytorch", "--variant", "eager"]
    found = run(folder, *sizes, expect=0)
    assert found["4"] == ("ok", None)
    status, reason = found["200000000000"]
    assert status == "skipped"
    assert reason is not None
    assert reason.startswith("needs 2.40 TB of host memory, ") and reason.endswith(" are free")


@pytest.mark.long
def test_implementations_that_misbehave_leave_others_alone(tmp_path: Path) -> None:
    files = {
        "changes": "def run(x):\n    return x.mul_(2).clone()\n",
        "dies": "import os\ndef run(x):\n    os._exit(3)\n",
        "fine": COPY.format(name="run"),
        "imports": "import triton_of_tomorrow\ndef run(x):\n    return x\n",
        "prints": "print('loaded')\ndef run(x):\n    print('called')\n    return x.clone()\n",
        "raises": "def run(x):\n    y = x\n    return y.no_such()\n",
        "shape": "def run(x):\n    return x[1:]\n",
    }
    found = run(write_operator(tmp_path / "mine", files), "--engine", "python", expect=1)
    assert found == {
        "changes": (
            "failed",
            "mine/changes.py:1: run changes its input x; only an array that is input and output may "
            "change",
        ),
        "dies": (
            "failed",
            "open: worker python-cpu-dies died (exit code 3); first try: the same",
        ),
        "fine": ("ok", None),
        "imports": (
            "skipped",
            "mine/imports.py:1: triton_of_tomorrow is not installed for this Python",
        ),
        "prints": ("ok", None),
        "raises": (
            "failed",
            "mine/raises.py:3: AttributeError: 'Tensor' object has no attribute 'no_such'",
        ),
        "shape": ("failed", "mine/shape.py:1: run: y has shape [3, 3], expected [4, 3]"),
    }


def test_a_wrong_implementation_is_told_where(tmp_path: Path) -> None:
    source = "def run(x):\n    y = x.clone()\n    y[2, 1] += 1\n    return y\n"
    folder = write_operator(tmp_path / "mine", {"other": source})
    status, reason = run(folder, "--engine", "python", expect=1)["other"]
    assert status == "wrong"
    assert reason is not None
    assert reason.startswith("y differs from the reference output: relative L2 error ")
    assert "; worst at element 7 (row 2, column 1): " in reason


@pytest.mark.long
def test_an_implementation_that_hangs_is_ended(tmp_path: Path) -> None:
    files = {
        "fine": COPY.format(name="run"),
        "hangs": "import time\ndef run(x):\n    time.sleep(1000)\n",
    }
    folder = write_operator(tmp_path / "mine", files)
    # What hangs must be bench's own child.
    environment = {**impatient(tmp_path), "BENCH_PYTHON": sys.executable}
    found = run(folder, "--engine", "python", expect=1, **environment)
    assert found == {
        "fine": ("ok", None),
        "hangs": (
            "failed",
            "open: worker python-cpu-hangs did not answer in time (still running, killed)",
        ),
    }
