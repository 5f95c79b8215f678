#!/usr/bin/env python3
"""Print the harness's overhead beyond the timed work: per sample, answer, round and case.

usage: harness_cost.py [build/bench]

The script requests few and many samples from a worker: the slope is the time of a sample, which minus
the reported median is the overhead of a sample; the rest of an answer's time is the overhead of a
request. Then `bench run` measures one case with few and with many rounds, and one case and many cases:
the differences are the times of a round and of a case.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FEW_SAMPLES, MANY_SAMPLES, ASKS = 100, 500, 61
FEW_ROUNDS, MANY_ROUNDS = 8, 64
SAMPLES_A_ROUND = 16
N_CASES = 13
REPEATS = 3

# Workload, engine, variant, parameter, its value, and its values in similar cases.
WORK = [
    ("null", "null", "noop", "work_ns", 0, range(1, N_CASES)),
    ("null", "null", "noop", "work_ns", 10_000, range(10_001, 10_000 + N_CASES)),
]


class Worker:
    """A `bench worker` that gets the requests of `bench run`."""

    def __init__(self, bench: Path, engine: str) -> None:
        self._process = subprocess.Popen(
            [str(bench), "worker", "--engine", engine],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.ask({"op": "hello", "protocol": 2})

    def ask(self, request: dict[str, Any]) -> tuple[dict[str, Any], int, int]:
        """Return the answer, its length in bytes and the time in ns."""
        assert self._process.stdin and self._process.stdout
        line = json.dumps(request, separators=(",", ":")).encode() + b"\n"
        start_ns = time.perf_counter_ns()
        self._process.stdin.write(line)
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        taken_ns = time.perf_counter_ns() - start_ns
        parsed = json.loads(answer)
        if parsed["status"] != "ok":
            raise SystemExit(f"harness_cost.py: {parsed}")
        return parsed, len(answer), taken_ns

    def end(self) -> None:
        self.ask({"op": "bye"})
        self._process.communicate()


def sample_costs(bench: Path, case: dict[str, Any]) -> dict[str, float]:
    """Request few and many samples in turns, without warm-up."""
    worker = Worker(bench, case["engine"])
    worker.ask({"op": "open", "case": case, "seed": 42})
    request = {"op": "sample", "id": case["id"], "budget_ns": 10**9, "warmup_samples": 0}
    took: dict[int, list[float]] = {FEW_SAMPLES: [], MANY_SAMPLES: []}
    size: dict[int, list[int]] = {FEW_SAMPLES: [], MANY_SAMPLES: []}
    timed: list[float] = []
    for _ in range(ASKS):
        for n in (FEW_SAMPLES, MANY_SAMPLES):
            answer, n_bytes, ns = worker.ask({**request, "max_samples": n, "warmup_ns": 0})
            took[n].append(ns)
            size[n].append(n_bytes)
        # `total` and, if it exists, `host_to_host` are separate complete runs: together they are
        # all timed work of one sample.
        whole = (answer["phases"].get(key, [0]) for key in ("total", "host_to_host"))
        timed.append(sum(map(statistics.median, whole)))
    worker.end()
    few, many = (statistics.median(took[n]) for n in (FEW_SAMPLES, MANY_SAMPLES))
    one_ns = (many - few) / (MANY_SAMPLES - FEW_SAMPLES)
    timed_ns = statistics.median(timed)
    bytes_few, bytes_many = (statistics.median(size[n]) for n in (FEW_SAMPLES, MANY_SAMPLES))
    per_sample_bytes = (bytes_many - bytes_few) / (MANY_SAMPLES - FEW_SAMPLES)
    return {
        "timed_ns": timed_ns,
        "sample_ns": one_ns - timed_ns,
        "ask_ns": few - FEW_SAMPLES * one_ns,
        "answer_bytes": bytes_few + (SAMPLES_A_ROUND - FEW_SAMPLES) * per_sample_bytes,
        "sample_bytes": per_sample_bytes,
    }


def run(bench: Path, sweep: dict[str, Any], rounds: int) -> tuple[float, list[dict[str, Any]]]:
    """Return the wall time in ns of the fastest of a few runs, and its cases."""
    # A precision that any case reaches, so that min_rounds is the number of rounds.
    measure = {"passes": 1, "precision": 0.5, "device_precision": 0.5, "time_limit_s": 60}
    measure |= {"min_rounds": rounds, "min_samples": 6}
    best: tuple[float, list[dict[str, Any]]] = (float("inf"), [])
    for _ in range(REPEATS):
        with tempfile.TemporaryDirectory() as folder:
            path, out = Path(folder, "sweep.json"), Path(folder, "run")
            path.write_text(json.dumps({**sweep, "measure": measure}), encoding="utf-8")
            start_ns = time.perf_counter_ns()
            subprocess.run(
                [str(bench), "run", str(path), "--out", str(out), "--quiet"],
                env={**os.environ, "BENCH_ROOT": str(ROOT)},
                stdout=subprocess.DEVNULL,
                check=True,
            )
            taken_ns = time.perf_counter_ns() - start_ns
            lines = (out / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        if taken_ns < best[0]:
            best = taken_ns, [json.loads(line) for line in lines]
    return best


def run_costs(bench: Path, sweep: dict[str, Any], axis: str, values: list[int]) -> dict[str, float]:
    one = {**sweep, "axes": {axis: values[:1]}}
    many = {**sweep, "axes": {axis: values}}
    few_ns, few = run(bench, one, FEW_ROUNDS)
    more_ns, more = run(bench, one, MANY_ROUNDS)
    many_ns, cases = run(bench, many, FEW_ROUNDS)
    n_rounds = more[0]["rounds"] - few[0]["rounds"]
    # What warming up took differs from run to run: it is known, and no part of a round.
    round_ns = (more_ns - few_ns - (more[0]["warmup_ns"] - few[0]["warmup_ns"])) / n_rounds
    new = cases[1:]
    measured_ns = sum(case["warmup_ns"] + case["rounds"] * round_ns for case in new)
    return {
        "round_ns": round_ns,
        "warmup_ns": statistics.median(case["warmup_ns"] for case in new),
        "case_ns": (many_ns - few_ns - measured_ns) / len(new),
        "run_ns": few_ns - few[0]["warmup_ns"] - few[0]["rounds"] * round_ns,
    }


def main() -> int:
    if len(sys.argv) > 2 or sys.argv[1:2] == ["--help"]:
        print(__doc__)
        return 0 if len(sys.argv) == 2 else 2
    bench = Path(sys.argv[1] if len(sys.argv) == 2 else ROOT / "build" / "bench").resolve()
    print("| case | timed, a sample | beyond it | asking once | answer of 16 | a sample's bytes |")
    print("|---|---:|---:|---:|---:|---:|")
    rows = []
    for workload, engine, variant, axis, value, others in WORK:
        params: dict[str, Any] = {axis: value}
        case = {
            "id": f"{workload}/{engine}/{variant}/{axis}={value}",
            "workload": workload,
            "engine": engine,
            "device": "cpu",
            "variant": variant,
            "dtype": "f32",
            "params": params,
            "techniques": {},
        }
        cost = sample_costs(bench, case)
        print(
            f"| `{case['id']}` | {cost['timed_ns'] / 1e3:.2f} µs | {cost['sample_ns']:.0f} ns "
            f"| {cost['ask_ns'] / 1e3:.0f} µs | {cost['answer_bytes']:.0f} B "
            f"| {cost['sample_bytes']:.1f} |",
            flush=True,
        )
        sweep = {
            "schema": 1,
            "name": "cost",
            "workload": workload,
            "contenders": [{"engine": engine, "variants": [variant]}],
        }
        rows.append((case["id"], run_costs(bench, sweep, axis, [value, *others])))
    print("\n| case | a round | warm-up | a case beyond them | a run beyond its cases |")
    print("|---|---:|---:|---:|---:|")
    for name, cost in rows:
        print(
            f"| `{name}` | {cost['round_ns'] / 1e6:.2f} ms | {cost['warmup_ns'] / 1e6:.1f} ms "
            f"| {cost['case_ns'] / 1e6:.2f} ms | {cost['run_ns'] / 1e6:.1f} ms |"
        )
    print(
        "\nA round is 16 samples of each phase after at least 3 untimed ones and 2 ms; warm-up is at\n"
        "least 20 ms a case. Both are rules of the method (docs/measuring.md), no loss here.\n"
        "A case beyond them: opening it and its oracle, two checks, its line in the journal."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
