"""`bench run --against`: each pass has its own processes, and a share of the least samples."""

import sys
from collections import Counter
from pathlib import Path

import pytest
from project import QUICK_MEASURE, bench, make_root, own_worker, worker_script, write_sweep

# Logs its process at every round; constant times need only the least number of rounds.
WORKER = worker_script(
    """if op == "sample":
    answer["phases"] = {"total": [1000] * (min(request["max_samples"], 8) + ("fresh" in request))}
    if request["warmup_samples"] > 0:
        with here.joinpath("rounds").open("a") as log:
            log.write(f"{os.getpid()}\\n")
"""
)
N_PASSES = 3


# A round has 8 samples, and a third of the samples are a pass's.
@pytest.mark.parametrize(
    ("min_rounds", "min_samples", "rounds"), [(1, 24, 1), (3, 24, 3), (1, 48, 2), (1, 49, 3)]
)
def test_least_rounds_of_a_pass(
    min_rounds: int, min_samples: int, rounds: int, tmp_path: Path
) -> None:
    root = make_root(tmp_path / "project")
    own_worker(root, WORKER)
    mine = {"engine": "mine", "variants": ["steady"], "device": ["cpu"]}
    measure = {**QUICK_MEASURE, "time_limit_s": 60}
    measure |= {"min_rounds": min_rounds, "min_samples": min_samples}
    sweep = write_sweep(tmp_path / "s.json", "null", [mine], measure=measure)
    command = ("run", sweep, "--against", "self", "--out", tmp_path / "run", "--quiet")
    options = ("--passes", str(N_PASSES), "--recheck-limit", "0s")
    # Its worker answers no audit: what it claims is not compared.
    bench(*command, *options, root=root, expect=3, BENCH_PYTHON=sys.executable)
    log = (root / "reference_mine" / "rounds").read_text(encoding="utf-8")
    found = Counter(log.split())
    assert len(found) == 2 * N_PASSES
    # The round that is checked may be one more.
    assert {n - rounds for n in found.values()} <= {0, 1}
