#!/usr/bin/env python3
"""Print how long `bench report` takes of made-up runs with more and more sizes.

usage: report_cost.py [build/bench]

Twice the sizes should take twice as long: the last column is the exponent, about 1, or less where
starting the program counts.
"""

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZES = (500, 1000, 2000, 5000, 10_000)
REPEATS = 3
CONTENDERS = (("cpu", "cpu", "omp"), ("pytorch", "pytorch-cpu", "eager"))
SWEEP = json.dumps({"schema": 1, "name": "made_up", "workload": "mlp_infer"})


def header(passes: int) -> dict[str, object]:
    when = "2026-11-28T10:00:00+00:00"
    return {
        "schema": 2,
        "started": when,
        "finished": when,
        "argv": ["bench", "run"],
        "seed": 1,
        "sweeps": [{"path": "(command line)", "text": SWEEP, "passes": passes}],
        "environment": {"host": {"name": "h", "cpu": "Test CPU"}, "measure": {"mode": "steady"}},
        "passes": [{"pass": p, "started": when, "finished": when} for p in range(1, passes + 1)],
    }


def line(number: int, contender: int, batch: int, boot: int) -> dict[str, object]:
    """Return a pass of a case: two rounds of two samples, which no other pass has."""
    engine, label, variant = CONTENDERS[contender]
    ns = 1000 + batch + contender / 4 + number / 64 + boot / 1024
    samples = [ns, ns + 1, ns + 2, ns + 3]
    phase = {
        "clock": "host",
        "unit": "ns",
        "n": len(samples),
        "median": statistics.median(samples),
        "error_frac": 0.002,
        "q25": ns,
        "q75": ns + 2,
        "min": ns,
        "p5": ns,
        "p95": ns + 3,
        "round_starts": [0, 2, 4],
        "pass_starts": [0, 2],
        "samples": samples,
    }
    return {
        "schema": 2,
        "pass": number,
        "id": f"mlp_infer/{label}/{variant}/batch={batch}",
        "workload": "mlp_infer",
        "engine": engine,
        "variant": variant,
        "on": "cpu",
        "dtype": "f32",
        "params": {"layers": [4, 5, 1], "batch": batch},
        "status": "ok",
        "phases": {"host_to_host": phase},
        "device": {"name": "Test CPU"},
        "rounds": 2,
        "worker_ns": ns,
    }


def plant(folder: Path, n_sizes: int, boot: int = 1, passes: int = 1) -> Path:
    """Write a run of all batches from 1 on, as measured after a start of the machine."""
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(header(passes)), encoding="utf-8")
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as lines:
        for number in range(1, passes + 1):
            for batch in range(1, n_sizes + 1):
                for contender in range(len(CONTENDERS)):
                    lines.write(json.dumps(line(number, contender, batch, boot)) + "\n")
    return folder


def seconds(bench: Path, run: Path, out: Path) -> float:
    command = [bench, "report", run, "--out", out / "REPORT.md", "--pages", out]
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    bench = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/bench").resolve()
    before: tuple[int, float] | None = None
    print("sizes   seconds  exponent")
    for n in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            run = plant(Path(folder) / "run", n, passes=6)
            took = min(seconds(bench, run, Path(folder) / "out") for _ in range(REPEATS))
        slope = math.log(took / before[1]) / math.log(n / before[0]) if before else None
        print(f"{n:5}  {took:8.2f}  {'' if slope is None else f'{slope:8.2f}'}", flush=True)
        before = n, took


if __name__ == "__main__":
    main()
