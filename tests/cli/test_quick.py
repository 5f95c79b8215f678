"""`--quick` shortens a run to one pass; other options take precedence. Passes share the time."""

import sys
from pathlib import Path

import pytest
from project import (
    QUICK_MEASURE,
    bench,
    make_root,
    own_worker,
    read_header,
    read_lines,
    worker_script,
    write_sweep,
)

# Every answer takes ROUND_S, which determines how many rounds fit into a limit.
ROUND_S = 0.2
WORKER = worker_script(
    f"""if op == "sample":
    time.sleep({ROUND_S})  # mood: longer is fewer rounds, and one is enough
    answer["phases"] = {{"total": [1000]}}
"""
)


@pytest.mark.parametrize(
    ("sweep_s", "options", "limit_s", "passes"),
    [
        (0.6, [], 0.6, 2),
        (0.6, ["--quick"], 0.6, 1),
        (60, ["--quick"], 1, 1),
        (60, ["--quick", "--passes", "3"], 1, 3),
        (60, ["--quick", "--time-limit", "600ms"], 0.6, 1),
        (60, ["--time-limit", "600ms", "--passes", "1"], 0.6, 1),
    ],
)
def test_limit_of_a_case(
    sweep_s: float, options: list[str], limit_s: float, passes: int, tmp_path: Path
) -> None:
    root = make_root(tmp_path / "project")
    own_worker(root, WORKER)
    mine = {"engine": "mine", "variants": ["slow"], "device": ["cpu"]}
    # More samples than the limit allows, so that the limit ends the case.
    measure = {**QUICK_MEASURE, "passes": 2, "time_limit_s": sweep_s, "min_samples": 5000}
    measure["min_rounds"] = 1
    sweep, run = write_sweep(tmp_path / "s.json", "null", [mine], measure=measure), tmp_path / "run"
    done = bench("run", sweep, "--out", run, *options, root=root, BENCH_PYTHON=sys.executable)
    lines = read_lines(run)
    assert [line["pass"] for line in lines] == list(range(1, passes + 1))
    for line in lines:
        assert (line["status"], line["stop"]) == ("ok", "time_limit")
        assert 1 <= line["rounds"] <= limit_s / passes / ROUND_S + 1
    spent = [each["spent_s"] for each in read_header(run)["passes"]]
    assert len(spent) == passes
    rounds_s = ROUND_S * sum(line["rounds"] for line in lines)
    assert sum(each["samples"] for each in spent) >= rounds_s * 0.999
    told = done.stderr.splitlines()[-1]
    assert told.startswith("time: ") and " in samples and warm-up" in told
