#!/usr/bin/env python3
"""Print how often the gate is wrong on this machine for known differences.

usage: gate_real.py [--cuda] [--runs N] [--sweeps FILE…] [--threshold 5%] [--recheck 1min]
                    [--keep FOLDER] [build/bench]

N times (20) this build is measured against itself: any reported slowdown is a false alarm. N times a
build in which one C contender, or with --cuda one kernel, does a tenth more work is measured against
this one, with the noise floors of the run before, as in perf_check.sh: only that case is slower. The
patches are below; they are applied to a temporary copy. --keep keeps the runs. Ctrl-C prints the table
so far. Workers use one thread, as in perf_check.sh, unless OMP_NUM_THREADS is set.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
WORKERS = tuple(sorted(path.name for path in ROOT.glob("reference_*")))
FOLDERS = ("bench", "kernels", *WORKERS, "sweeps", "tests/tools")
PERCENT = 10


class Plant(NamedTuple):
    """A change that makes one case slower, and the sweeps that have it."""

    slower: str
    sweeps: str
    patch: str
    """Of what is compiled at run time."""


# The first parts of a batch, nearly a tenth of it, are computed twice.
IN_C = Plant(
    slower="mlp_infer/cpu/omp/batch=65536",
    sweeps="sweeps/perf_check/*.json",
    patch="""\
--- a/kernels/mlp_infer/omp.c
+++ b/kernels/mlp_infer/omp.c
@@ -77,4 +77,6 @@
 #pragma omp parallel for schedule(static) if (n > 16 * TILE)
-    for (size_t first = 0; first < n; first += PART)
+    for (size_t at = 0; at < n + n / PART / 10 * PART; at += PART) {
+        const size_t first = at % n;
         forward(x + first * N_IN, w, b, y + first * n_out, n - first < PART ? n - first : PART);
+    }
 }
""",
)
# Blocks of 256 threads start 232 samples apart: a tenth of the samples is computed twice.
IN_CUDA = Plant(
    slower="mlp_infer/cuda/02_thread_per_sample/batch=1048576",
    sweeps="tests/tools/gate_real_cuda.json",
    patch="""\
--- a/kernels/mlp_infer/02_thread_per_sample.cu
+++ b/kernels/mlp_infer/02_thread_per_sample.cu
@@ -11,3 +11,3 @@
 constexpr unsigned THREADS = 256;
-LAUNCHES = {{"mlp_infer", {{"ceil_div(batch, ", THREADS, ")"}}, {THREADS}}};
+LAUNCHES = {{"mlp_infer", {"ceil_div(batch, 232)"}, {THREADS}}};
 
@@ -23,3 +23,3 @@ constexpr int LARGEST = largest();
 KERNEL(mlp_infer) {
-    const unsigned sample = blockIdx.x * THREADS + threadIdx.x;
+    const unsigned sample = blockIdx.x * 232 + threadIdx.x;
     if (sample >= (unsigned)batch)
""",
)


def build_slower(plant: Plant, program: Path, folder: Path) -> Path:
    """Make a copy of this tree with the patch; return its program."""
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / name)
    subprocess.run(["git", "apply", "-"], cwd=folder, input=plant.patch, text=True, check=True)
    slower = folder / "build" / "bench"
    slower.parent.mkdir()
    shutil.copy(program, slower)
    return slower


def measure(program: Path, against: str, out: Path, options: list[str]) -> dict[str, Any]:
    """Measure both in turns; return the comparison."""
    root = program.parents[1]
    command = [program, "run", *options, "--against", against, "--out", out, "--json", "--quiet"]
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "BENCH_ROOT": str(root)},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"gate_real.py: bench run ended with exit code {done.returncode}")
    return json.loads(done.stdout)


def ratios_of(answer: dict[str, Any], case: str) -> str:
    """Return the change of each phase of a case: "kernel_graph +9.1 %"."""
    cells = next(found["cells"] for found in answer["cases"] if found["id"] == case)
    return ", ".join(f"{cell['phase']} {(cell['ratio'] - 1) * 100:+.1f} %" for cell in cells)


class Tally:
    """Runs of one kind and the verdicts on their cases."""

    def __init__(self, kind: str) -> None:
        self.kind, self.runs, self.cases = kind, 0, 0
        self.alarms = self.found = self.undecided = 0
        self.alarmed: Counter[str] = Counter()
        self.seconds = 0.0

    def add(self, answer: dict[str, Any], slower: str | None, start: float) -> None:
        verdicts = {case["id"]: case["verdict"] for case in answer["cases"]}
        if slower is not None and slower not in verdicts:
            raise SystemExit(f"gate_real.py: {slower} is not in the sweeps")
        slow = {case for case, verdict in verdicts.items() if verdict == "regressed"}
        false = [case for case in verdicts if case in slow and case != slower]
        self.runs += 1
        self.seconds += time.monotonic() - start
        self.cases += len(verdicts)
        self.alarms += bool(false)
        self.alarmed.update(false)
        for case in false:
            print(f"false alarm: {case}: {ratios_of(answer, case)}", file=sys.stderr)
        self.found += slower in slow
        self.undecided += list(verdicts.values()).count("undecided")

    def so_far(self) -> str:
        return f"{self.found} found, {self.alarms} alarms, {self.seconds:.0f} s"

    def row(self, *, plants: bool) -> str:
        found = f"{self.found} of {self.runs}" if plants else "–"
        cells = [
            self.kind,
            str(self.runs),
            str(self.alarms),
            found,
            f"{self.undecided} of {self.cases}",
            f"{self.seconds / max(self.runs, 1):.0f} s",
        ]
        return "| " + " | ".join(cells) + " |"


def use_one_data_set() -> None:
    """Make both builds read the same images."""
    for folder in (ROOT / "data" / "mnist", ROOT.parent / "shared" / "data" / "mnist"):
        if folder.is_dir():
            os.environ.setdefault("MNIST_DIR", str(folder))


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("bench", nargs="?", type=Path, default=ROOT / "build" / "bench")
    parser.add_argument("--cuda", action="store_true", help="slow down a kernel; needs a GPU")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--sweeps", nargs="+", type=Path)
    parser.add_argument("--threshold", default="5%")
    parser.add_argument("--recheck", default="1min")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="a new folder for all runs")
    arguments = parser.parse_args()
    if arguments.runs < 1:
        parser.error("--runs: expected at least 1")
    arguments.plant = IN_CUDA if arguments.cuda else IN_C
    arguments.sweeps = arguments.sweeps or sorted(ROOT.glob(arguments.plant.sweeps))
    return arguments


def measure_pairs(arguments: argparse.Namespace, runs: Path, slower: Path) -> list[Tally]:
    """Measure the build against itself and the slower one against it, N times or until Ctrl-C."""
    plant, program = arguments.plant, arguments.bench.resolve()
    options = [str(path.resolve()) for path in arguments.sweeps]
    options += ["--threshold", arguments.threshold, "--recheck-limit", arguments.recheck]
    same, planted = Tally("the same build"), Tally(f"{PERCENT} % more work in one case")
    try:
        for run in range(1, arguments.runs + 1):
            floor, out = runs / f"{run}-same", runs / f"{run}-slower"
            start = time.monotonic()
            same.add(measure(program, "self", floor, options), None, start)
            with_floor = [*options, "--floor", str(floor)]
            start = time.monotonic()
            answer = measure(slower, str(ROOT), out, with_floor)
            planted.add(answer, plant.slower, start)
            counts = f"same build: {same.so_far()}; slower: {planted.so_far()}"
            ratios = ratios_of(answer, plant.slower)
            print(f"{run} of {arguments.runs}: {counts}; {ratios}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    return [same, planted]


def main() -> None:
    arguments = read_arguments()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    use_one_data_set()
    with tempfile.TemporaryDirectory() as name:
        runs = arguments.keep.resolve() if arguments.keep else Path(name) / "runs"
        runs.mkdir(parents=True)
        slower = build_slower(arguments.plant, arguments.bench.resolve(), Path(name) / "slower")
        same, planted = measure_pairs(arguments, runs, slower)
    print("| | runs | with a false alarm | slowdown found | cases undecided | time of a run |")
    print("|---|---:|---:|---:|---:|---:|")
    print(same.row(plants=False))
    print(planted.row(plants=True))
    for case, n in (same.alarmed + planted.alarmed).most_common():
        print(f"\nfalse alarm, {n} times: {case}")


if __name__ == "__main__":
    main()
