"""Requests to a worker before and between timed samples."""

import json
import sys
from pathlib import Path

import pytest
from project import bench, make_root, own_worker, read_lines, worker_script, write_sweep

# Logs each request for samples. A sample of variant `long` takes over 100 ms; `short` reports many in
# that time, so that a pause of the machine does not make them long.
WORKER = worker_script(
    """if op == "open":
    pause_s, runs = {"long": (0.12, 0), "short": (0.002, 5000)}[request["case"]["variant"]]
if op == "sample":
    time.sleep(pause_s)  # mood: it takes minutes to make the short samples long
    log.write(line)
    answer["warmup"] = {"samples": runs}
    answer["phases"] = {"total": [1000] * min(request["max_samples"], 6)}
""",
    first='log = here.joinpath("asked").open("w", buffering=1)',
)


@pytest.mark.parametrize(("variant", "warmup_samples"), [("long", 1), ("short", 3)])
def test_long_samples_need_one_warm_up(variant: str, warmup_samples: int, tmp_path: Path) -> None:
    """Three before each round would take longer than the round."""
    root = make_root(tmp_path / "project")
    own_worker(root, WORKER)
    mine = {"engine": "mine", "variants": [variant], "device": ["cpu"]}
    sweep = write_sweep(tmp_path / "s.json", "null", [mine])
    bench("run", sweep, "--out", tmp_path / "run", root=root, BENCH_PYTHON=sys.executable)
    (case,) = read_lines(tmp_path / "run")
    assert case["status"] == "ok"
    text = (root / "reference_mine" / "asked").read_text(encoding="utf-8")
    asked = [json.loads(line) for line in text.splitlines()]
    rounds = asked[-case["rounds"] :]
    before = asked[: -case["rounds"]]
    assert {request["warmup_samples"] for request in rounds} == {warmup_samples}
    # Warm-up: at least three samples and 10 ms, one sample per answer.
    assert variant == "short" or len(before) >= 3
    assert case["warmup_ns"] >= 10e6
    assert {(request["max_samples"], request["warmup_samples"]) for request in before} == {(1, 0)}
