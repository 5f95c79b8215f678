#!/usr/bin/env python3
"""Record the reference runs on a GPU that is lent for minutes: call it until all are finished.

usage: record.py [--bench BENCH] [--out DIR] [--gpu NAME] [--minutes N] [--boot N] [--passes N]
                 [--list] [--options OPTIONS] [RUN…]

Each call continues where the last one ended, with `bench run --resume --budget`: no pass is begun that
would not end in time, and one that was cut off on another machine is measured again whole. Runs are in
DIR/GPU_RUN, with the NAME of --gpu, say h100. Between calls, DIR/GPU_RUN must be kept with all its
files, of which compiled/ is large and needed until the run is finished. --boot N records the cases of
the headlines again in DIR/GPU_headlines_bootN: the range over boots. RUN, say mlp_infer, records
only this one, with --boot in DIR/GPU_RUN_bootN. With fewer than 5 of --passes (6) there are no
intervals. OPTIONS go to `bench run`: '--devices 0,1', say. The exit code is 0 when all runs are
finished, 3 when another call is needed, 1 when a case was wrong or failed.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FINISHED, FAILED, AGAIN = 0, 1, 3

OPERATORS = ("softmax", "rms_norm", "reduce_sum", "gemm")

# A run of each workload, and one of all operators. The cheap and most asked for first.
RUNS = {
    "mlp_infer": ["sweeps/mlp_infer.json", "sweeps/mlp_infer_f16.json"],
    "linreg_train": ["sweeps/linreg_train.json", "sweeps/linreg_train_operations.json"],
    "mnist_train": [
        "sweeps/mnist_train.json",
        "sweeps/mnist_train_mixed.json",
        "sweeps/mnist_train_stages.json",
    ],
    "mlp_train": ["sweeps/mlp_train.json", "sweeps/allocate.json"],
    "operators": [f"sweeps/{name}.json" for name in (*OPERATORS, "gemm_shapes", "gemm_bf16")],
}

# Of each other boot: the cases of the headlines, in one run: runs of a workload each would leave GPUs
# idle, but need less time at once.
HEADLINES = {
    workload: [f"sweeps/{workload}_headline.json"]
    for workload in ("mlp_infer", "linreg_train", "mnist_train", "mlp_train", *OPERATORS)
}
BOOT_RUNS = {"headlines": [sweep for sweeps in HEADLINES.values() for sweep in sweeps], **HEADLINES}


def header_of(folder: Path) -> dict[str, Any]:
    path = folder / "run.json"
    header: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return header


def seconds_of(facts: dict[str, Any]) -> float:
    begun, ended = (datetime.fromisoformat(facts[key]) for key in ("started", "finished"))
    return (ended - begun).total_seconds()


def parts_of(folder: Path) -> list[Path]:
    """Return the folders of a run's GPUs, or its own; none: it is not begun."""
    parts = sorted(folder.glob("devices/*")) or [folder]  # GPUs are merged when all have ended
    return [part for part in parts if header_of(part)]


def state_of(folder: Path, passes: int) -> str:
    if header_of(folder).get("finished"):
        return "finished"
    return "; ".join(passes_left(part, passes) for part in parts_of(folder)) or "not begun"


def passes_left(folder: Path, passes: int) -> str:
    ended = [facts for facts in header_of(folder).get("passes", []) if facts.get("finished")]
    if not ended:
        return "no pass ended yet"
    measured = [seconds_of(facts) for facts in ended if "started" in facts]
    if not measured:
        return "no cases"
    shortest = min(measured)  # another may have been cut off and resumed
    left = passes - len({facts["pass"] for facts in ended})
    return f"{left} passes left, of about {shortest:.0f} s"


def record(command: list[str], folder: Path, sweeps: list[str], left_s: float) -> int:
    """Continue one run for at most so many seconds; return its exit code."""
    resume = ["--resume"] if parts_of(folder) else []
    # Relative: run.json has them, and another machine has other folders.
    out = os.path.relpath(folder, ROOT)
    command = [*command, *sweeps, "--out", out, "--budget", f"{left_s:.0f}s", "--quiet", *resume]
    return subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False).returncode


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--bench", type=Path, default=ROOT / "build/bench")
    parser.add_argument("--out", type=Path, default=ROOT / "build/reference")
    parser.add_argument("--gpu", metavar="NAME", default="h200")
    parser.add_argument("--minutes", type=float, default=9)
    parser.add_argument("--boot", type=int, default=1)
    parser.add_argument("--passes", type=int, default=6)
    parser.add_argument(
        "--list", action="store_true", help="print what is there, and measure nothing"
    )
    parser.add_argument("--options", type=shlex.split, default=[])
    parser.add_argument("names", nargs="*", metavar="RUN")
    asked = parser.parse_args()
    runs = BOOT_RUNS if asked.boot > 1 else RUNS
    default = list(runs)[:1] if asked.boot > 1 else list(runs)
    if unknown := set(asked.names) - set(runs):
        parser.error(f"{', '.join(sorted(unknown))}: expected some of {', '.join(runs)}")
    command = [os.path.relpath(asked.bench, ROOT), "run", *asked.options]
    command += ["--passes", str(asked.passes)]
    ends = time.monotonic() + 60 * asked.minutes
    suffix = f"_boot{asked.boot}" if asked.boot > 1 else ""
    code = FINISHED
    for run in asked.names or default:
        name = f"{asked.gpu}_{run}{suffix}"
        folder = asked.out / name
        left_s = ends - time.monotonic()
        if not asked.list and not header_of(folder).get("finished") and left_s >= 1:
            ended = record(command, folder, runs[run], left_s)
            if ended not in (FINISHED, FAILED):
                return ended
            if ended == FAILED and header_of(folder).get("finished"):
                code = FAILED
        if not header_of(folder).get("finished"):
            code = max(code, AGAIN)
        print(f"{name:24} {state_of(folder, asked.passes)}", flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
