#!/usr/bin/env python3
"""Compare kernel times by CUDA events with those of Nsight Compute.

usage: ncu_check.py BENCH

Measures five cases with BENCH, then runs each under `ncu --clock-control none` with warm and with
flushed caches, and prints both. Differences come from what each time includes: `kernel_graph`
a share of the gaps between the nodes of a graph, `kernel` and `kernel_cold` an event pair around
the launch, ncu's duration neither.
"""

import csv
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CASES = [
    ("01_study", 64),
    ("02_thread_per_sample", 1 << 20),
    ("03_vectorized", 1 << 22),
    ("04_four_in_flight", 1 << 22),
    ("04_four_in_flight", 1 << 24),
]
COMMON = ["--set", "alloc=arena", "--set", "copy=pinned", "--set", "weights=resident", "--quiet"]
METRIC = "gpu__time_duration.sum"
# The first launches of a case warm up and size its batch.
SKIP, COUNT = 4, 7
TO_NS = {"nsecond": 1.0, "ns": 1.0, "usecond": 1e3, "us": 1e3, "msecond": 1e6, "ms": 1e6}


def measure(bench: str, variant: str, batch: int, out: Path) -> dict[str, float]:
    """Return the medians of a case's kernel phases, in ns."""
    command = [bench, "run", "--workload", "mlp_infer", "--engine", "cuda", "--variant", variant]
    command += [
        "--set",
        f"batch={batch}",
        *COMMON,
        "--quick",
        "--time-limit",
        "1s",
        "--out",
        str(out),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    lines = (out / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    case = next(case for case in map(json.loads, lines) if case["variant"] == variant)
    return {name: phase["median"] for name, phase in case["phases"].items() if "kernel" in name}


def durations(bench: str, variant: str, batch: int, out: Path, caches: str) -> list[float]:
    """Return ncu's durations of some launches of a case, in ns."""
    command = ["ncu", "--clock-control", "none", "--cache-control", caches, "--csv"]
    command += ["--target-processes", "all", "--metrics", METRIC]
    command += ["--kernel-name", "mlp_infer"]
    command += ["--launch-skip", str(SKIP), "--launch-count", str(COUNT)]
    command += [bench, "run", "--workload", "mlp_infer", "--engine", "cuda", "--variant", variant]
    command += ["--set", f"batch={batch}", *COMMON, "--profile", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    rows = [line for line in done.stdout.splitlines() if line.startswith('"')]
    found = [
        float(row["Metric Value"].replace(",", "")) * TO_NS[row["Metric Unit"]]
        for row in csv.DictReader(rows)
        if row.get("Metric Name") == METRIC
    ]
    if not found:
        sys.exit(f"ncu printed no {METRIC}:\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}")
    return found


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    bench = str(Path(sys.argv[1]).resolve())
    names = ["kernel_graph", "ncu, warm", "kernel", "kernel_cold", "ncu, flushed"]
    print(
        "| case, batch |",
        " | ".join(f"{name}, µs" for name in names),
        "| graph/warm | cold/flushed |",
    )
    print("|---|" + "---:|" * 7)
    for variant, batch in CASES:
        with tempfile.TemporaryDirectory() as folder:
            ours = measure(bench, variant, batch, Path(folder, "ours"))
            warm = statistics.median(durations(bench, variant, batch, Path(folder, "w"), "none"))
            cold = statistics.median(durations(bench, variant, batch, Path(folder, "c"), "all"))
        times = [ours["kernel_graph"], warm, ours["kernel"], ours["kernel_cold"], cold]
        ratios = [ours["kernel_graph"] / warm, ours["kernel_cold"] / cold]
        size = f"2^{int(math.log2(batch))}" if batch > 512 else str(batch)
        cells = [
            f"{variant}, {size}",
            *(f"{t / 1e3:.2f}" for t in times),
            *(f"{r:.2f}" for r in ratios),
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
