"""A training may not be faster than its passes over the data, unless it declares another algorithm.

A worker between the supervisor and the program's own CPU worker, which answers all but the times.
"""

import sys
from pathlib import Path

import pytest
from project import BENCH, bench, make_root, own_worker, read_cases, write_sweep

CLAIMED_NS = 10
WORKER = f"""
import json, subprocess, sys

own = subprocess.Popen([{str(BENCH)!r}, "worker", "--engine", "cpu"], text=True, bufsize=1,
                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
declared = set()
for line in sys.stdin:
    request = json.loads(line)
    if "case" in request:
        spec = request["case"]
        if spec["variant"] == "declared":
            declared.add(spec["id"])
        spec.update(engine="cpu", variant="omp", on="cpu")
    own.stdin.write(json.dumps(request) + "\\n")
    answer = json.loads(own.stdout.readline())
    if request["op"] == "hello":
        answer["engine"] = "mine"
    if request["op"] == "sample":
        answer["phases"] = {{name: [{CLAIMED_NS}] * len(times)
                            for name, times in answer["phases"].items()}}
    if request["op"] == "close":
        answer.setdefault("results", {{}})["algorithmic"] = request["id"] in declared
    print(json.dumps(answer), flush=True)
    if request["op"] == "bye":
        break
"""


@pytest.mark.parametrize("variant", ["declared", "undeclared"])
def test_a_training_without_its_passes_must_say_so(variant: str, tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    own_worker(root, WORKER)
    mine = {"engine": "mine", "variants": [variant], "device": ["cpu"]}
    measure = {"passes": 1, "time_limit_s": 0.05}
    sweep = write_sweep(
        tmp_path / "s.json", "linreg_train", [mine], axes={"points": [1000]}, measure=measure
    )
    expect = 0 if variant == "declared" else 1
    run = tmp_path / "run"
    bench("run", sweep, "--out", run, root=root, expect=expect, BENCH_PYTHON=sys.executable)
    (case,) = read_cases(run).values()
    if variant == "declared":
        assert (case["status"], case["flags"]) == ("ok", [])
    else:
        assert case["status"] == "implausible"
        assert case["reason"].startswith("faster than the arithmetic limit (")
