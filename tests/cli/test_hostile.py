"""Malicious sweeps and results: bench refuses them or treats their contents as text.

Nothing is written outside the requested folder, no command runs, and no control characters reach
the terminal. Tests of single readers: tests/fuzz.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from hostile_texts import CONTROL, ESCAPES, MARKDOWN, SHELL, tree
from project import ROOT, bench, make_root, own_worker, read_cases, write_sweep

PATHS = ["../../escaped", "/tmp/escaped", "..", ".", "", "a/b", "a\\b", "-rf", "~", "con\x00"]


def sweep_text(**keys: Any) -> str:
    sweep = {
        "schema": 1,
        "name": "s",
        "workload": "mlp_infer",
        "axes": {"batch": [1]},
        "contenders": [{"engine": "cpu", "variants": ["ref"]}],
    }
    return json.dumps({**sweep, **keys})


def contender(**keys: Any) -> dict[str, Any]:
    return {"contenders": [{"engine": "cpu", "variants": ["ref"], **keys}]}


# ---- sweeps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [*PATHS, SHELL, ESCAPES, MARKDOWN])
@pytest.mark.parametrize("place", ["name", "variant", "engine", "chart", "arch", "dtype", "device"])
def test_a_sweep_with_a_bad_name_is_refused(place: str, bad: str, tmp_path: Path) -> None:
    keys: dict[str, Any] = {
        "name": {"name": bad},
        "variant": contender(variants=[bad]),
        "engine": contender(engine=bad),
        "chart": {"charts": [bad]},
        "arch": {"arch": [bad]},
        "dtype": {"axes": {"batch": [1], "dtype": [bad]}},
        "device": contender(engine="pytorch", variants=["eager"], device=[bad]),
    }[place]
    sweep = tmp_path / "s.json"
    sweep.write_text(sweep_text(**keys), encoding="utf-8")
    commands: list[list[str | Path]] = [["plan", sweep]]  # by the same reader for all
    if bad == SHELL:
        commands += [["run", sweep, "--out", tmp_path / "run"], ["compile", sweep]]
    for command in commands:
        done = bench(*command, cwd=tmp_path, expect=2)
        assert "s.json:" in done.stderr
        assert not CONTROL.search(done.stderr)
    assert tree(tmp_path) == {"s.json"}


def test_a_shell_command_in_a_kernel_name_is_never_run(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project", copy="kernels")
    ladder = root / "kernels" / "mlp_infer"
    rung = next(ladder.glob("01_*.cu"))
    shutil.copy(rung, ladder / "99_$(touch PWNED);`touch PWNED`.cu")
    shutil.copy(rung, ladder / "98_-o PWNED.cu")
    sweep = tmp_path / "s.json"
    sweep.write_text(
        sweep_text(contenders=[{"engine": "cuda", "variants": ["*"]}]), encoding="utf-8"
    )
    bench("plan", sweep, root=root, cwd=tmp_path, expect=None)
    bench("compile", sweep, "--arch", "sm_90", root=root, cwd=tmp_path, expect=None)
    assert not [path for path in tmp_path.rglob("PWNED*")]


# ---- workers -------------------------------------------------------------------------------------

STEERING = """
import json, sys
for line in sys.stdin:
    print("\\x1b[2J\\x1b]0;PWNED\\x07", file=sys.stderr, flush=True)
    request = json.loads(line)
    if request["op"] == "open" and request["case"]["variant"] == "rubbish":
        print("\\x1b[2J\\x9b31m", flush=True)
    elif request["op"] == "open":
        print(json.dumps({"status": "failed", "reason": "\\x1b[2J\\x07"}), flush=True)
    else:
        print(json.dumps({"status": "ok"}), flush=True)
    if request["op"] == "bye":
        break
"""


def test_a_worker_cannot_control_the_terminal(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    own_worker(root, STEERING, "odd")
    odd = {"engine": "odd", "device": ["cpu"], "variants": ["rubbish", "reason"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [odd], axes={"batch": [1]})
    run = tmp_path / "run"
    done = bench("run", sweep, "--out", run, root=root, expect=1, BENCH_PYTHON=sys.executable)
    assert not CONTROL.search(done.stdout + done.stderr)
    for case in read_cases(run).values():
        assert case["status"] == "failed"
        assert not CONTROL.search(case["reason"])


# ---- no shell ------------------------------------------------------------------------------------


def test_no_shell_is_used() -> None:
    asks = re.compile(r'\b(system|popen|wordexp|execl|execlp|execvp|execvpe)\s*\(|"/bin/(ba)?sh"')
    for path in [*ROOT.glob("bench/**/*.[ch]"), *ROOT.glob("reference_*/*.py")]:
        found = asks.search(re.sub(r"(?m)^\s*(/?\*|//|#).*$", "", path.read_text(encoding="utf-8")))
        assert not found, path
        assert "shell=True" not in path.read_text(encoding="utf-8"), path


def test_no_chart_uses_a_shell_or_evaluates_its_data() -> None:
    for path in ROOT.glob("plots/*.gp"):
        text = re.sub(r"(?m)^\s*#.*$", "", path.read_text(encoding="utf-8"))
        assert not re.search(r"`|\bsystem\b|\beval(uate)?\b|\bshell\b|'<|\"<", text), path
        macros = re.findall(r"@(\w+)", text)  # only those that the script sets
        assert all(re.search(rf"(?m)^{name} = [^$]*'$", text) for name in macros), path
