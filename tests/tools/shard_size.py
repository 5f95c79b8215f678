#!/usr/bin/env python3
"""Print time and memory of planning and merging a sweep of 10,000 cases in 64 shards.

usage: shard_size.py [build/bench]

Shard 1 is measured; the folders of the others are copies of it with the ids of their cases.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
N_SHARDS, N_POINTS, FIRST_NS = 64, 2500, 1000
SWEEP = {
    "schema": 1,
    "name": "size",
    "workload": "null",
    "contenders": [{"engine": "null", "variants": ["steady", "noisy", "bimodal", "drifting"]}],
    "axes": {"work_ns": list(range(FIRST_NS, FIRST_NS + N_POINTS))},
    "measure": {"time_limit_s": 0.5, "round_s": 0.001, "precision": 0.2},
}


def timed(what: str, command: list[str | Path], until: Path | None = None) -> None:
    """Run to the end, or until this file has a line; print wall time, processor time and memory."""
    began = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
    while until is not None and not (until.exists() and until.stat().st_size > 0):
        time.sleep(0.001)
    if until is not None:
        wall_s = time.monotonic() - began
        process.kill()
    usage = os.wait4(process.pid, 0)[2]
    if until is None:
        wall_s = time.monotonic() - began
    process.returncode = 0  # else Popen waits for it, too
    used_s = usage.ru_utime + usage.ru_stime
    print(f"{what}: {wall_s:.2f} s, processor {used_s:.2f} s, {usage.ru_maxrss / 1024:.0f} MiB")


def moved(line: dict[str, Any], by: int) -> dict[str, Any] | None:
    """Return the line as that of the case `by` points further, if there is one."""
    work_ns = line["params"]["work_ns"] + by
    if work_ns >= FIRST_NS + N_POINTS:
        return None
    stem = line["id"].rpartition("=")[0]
    return {**line, "id": f"{stem}={work_ns}", "params": {"work_ns": work_ns}}


def copy_shard(first: Path, out: Path, number: int) -> None:
    out.mkdir()
    header = json.loads((first / "run.json").read_text(encoding="utf-8"))
    header["shard"] = f"{number}/{N_SHARDS}"
    (out / "run.json").write_text(json.dumps(header), encoding="utf-8")
    lines = map(json.loads, (first / "cases.jsonl").read_text(encoding="utf-8").splitlines())
    with (out / "cases.jsonl").open("w", encoding="utf-8") as file:
        for line in lines:
            copy = moved(line, number - 1)
            if copy is not None:
                file.write(json.dumps(copy, separators=(",", ":")) + "\n")


def main() -> None:
    bench = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "bench").resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        sweep, first = folder / "size.json", folder / "1"
        sweep.write_text(json.dumps(SWEEP), encoding="utf-8")
        run: list[str | Path] = [
            bench,
            "run",
            sweep,
            "--quiet",
            "--shard",
            f"1/{N_SHARDS}",
            "--out",
        ]
        timed("plan", [bench, "plan", sweep])
        timed("run to its first line", [*run, folder / "begun"], folder / "begun" / "cases.jsonl")
        timed("run of shard 1", [*run, first])
        shards = [first, *(folder / str(i) for i in range(2, N_SHARDS + 1))]
        for i, shard in enumerate(shards[1:], start=2):
            copy_shard(first, shard, i)
        size = sum((shard / "cases.jsonl").stat().st_size for shard in shards)
        merged = folder / "merged"
        timed(f"merge of {size / 1e6:.0f} MB", [bench, "merge", merged, *shards])
        n_lines = (merged / "cases.jsonl").read_bytes().count(b"\n")
        print(
            f"{n_lines} lines; finished: {json.loads((merged / 'run.json').read_text())['finished']}"
        )


if __name__ == "__main__":
    main()
