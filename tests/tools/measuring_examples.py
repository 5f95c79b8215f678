#!/usr/bin/env python3
"""Print what each rule of docs/measuring.md prevents, with numbers of the published run.

usage: measuring_examples.py RUN [--write]

--write puts the table into docs/measuring.md between its two markers.
"""

import gzip
import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Cases = dict[str, dict[str, Any]]
# At which techniques and modes are all measured.
SIZE = "batch=1"

PAGE = Path(__file__).resolve().parents[2] / "docs" / "measuring.md"
BEGIN, END = "<!-- examples: begin -->\n", "<!-- examples: end -->\n"
CUDA, TORCH = "mlp_infer/cuda", "mlp_infer/pytorch-cuda"
ARENA = "alloc=arena/copy=pinned/weights=resident"


def load_lines(run: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the lines of a run by id and pass, without draws."""
    data = gzip.decompress((run / "cases.jsonl.gz").read_bytes())
    passes = {(line["id"], line["pass"]): line for line in map(json.loads, data.splitlines())}
    return {key: line for key, line in passes.items() if key[1]}


def us(ns: float) -> str:
    """Return a time with three digits."""
    value, unit = (ns / 1e3, "µs") if ns < 1e6 else (ns / 1e6, "ms")
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def median(cases: Cases, name: str, phase: str = "host_to_host") -> float:
    return cases[name]["phases"][phase]["median"]


def fastest(cases: Cases, engine: str) -> str:
    own = [name for name in cases if name.startswith(f"{engine}/") and SIZE in name.split("/")]
    return min(own, key=lambda name: median(cases, name))


def of_one_case(cases: Cases) -> Iterator[tuple[str, str, str]]:
    """Yield (rule, without it, with it) for rules that one or two cases demonstrate."""
    study, second = f"{CUDA}/01_study/{SIZE}", f"{CUDA}/02_thread_per_sample/{SIZE}"
    phase = cases[study]["phases"]["host_to_host"]
    yield (
        "Samples",
        f"`01_study`, one sample of {phase['n']}: {us(phase['min'])} … {us(phase['max'])}",
        f"median {us(phase['median'])}",
    )
    eager = f"{TORCH}/eager/{SIZE}"
    first_ns = sum(cases[eager]["once_ns"][key] for key in ("context", "first_run"))
    yield (
        "No one-time costs",
        f"PyTorch `eager`, context and first run included: {us(first_ns)}",
        f"a sample from then on: {us(median(cases, eager))}",
    )
    own, best = (fastest(cases, engine) for engine in (CUDA, TORCH))
    factor, least = (median(cases, rival) / median(cases, own) for rival in (eager, best))
    yield (
        "The fastest PyTorch",
        f"CUDA is {factor:.1f} × as fast as `eager`",
        f"{least:.1f} × as fast as `{best.split('/')[2]}`",
    )
    own_ns = median(cases, f"{second}/{ARENA}/launch=graph")
    yield (
        "Host to host by itself",
        f"PyTorch `graph`, phase by phase: {us(median(cases, f'{TORCH}/graph/{SIZE}', 'total'))}",
        f"synchronised once, at its end: {us(median(cases, f'{TORCH}/graph/{SIZE}'))}",
    )
    yield (
        "Launches in a graph",
        f"the kernel of `01_study` between two events: {us(median(cases, study, 'kernel'))}",
        f"as one of many nodes: {us(median(cases, study, 'kernel_graph'))}",
    )
    yield (
        "Techniques in the id",
        f"`02_thread_per_sample`, as the study allocates and copies: {us(median(cases, second))}",
        f"the same kernel with `{ARENA}/launch=graph`: {us(own_ns)}",
    )
    mapped = f"{second}/alloc=arena/copy=mapped/weights=resident"
    yield (
        "Mapped memory named",
        f"its kernel with `copy=mapped`: {us(median(cases, mapped, 'kernel_graph'))}",
        f"on device memory: {us(median(cases, f'{second}/{ARENA}', 'kernel_graph'))}",
    )
    name = f"{CUDA}/04_four_in_flight/batch={2**20}"
    hot, cold = (
        cases[name]["limit"]["bytes"] / median(cases, name, phase) / 1e3
        for phase in ("kernel_graph", "kernel_cold")
    )
    copy = next(case for key, case in cases.items() if key.startswith("device/cuda/copy/"))
    copied = 2 * copy["params"]["bytes"] / median(cases, copy["id"], "kernel") / 1e3
    yield (
        "Hot and cold, and which limit",
        f"`04_four_in_flight`, 2^20 samples, again and again: {hot:.1f} TB/s; "
        f"device memory gives {copied:.1f}",
        f"`bound` is `{cases[name]['limit']['bound']}`; from device memory, with what the events "
        f"cost: {cold:.1f} TB/s",
    )


def rounds_of(case: dict[str, Any]) -> list[list[float]]:
    """Return the samples of `host_to_host`, round by round, of all passes."""
    rounds = []
    for line in case["lines"]:
        phase = line["phases"].get("host_to_host", {"samples": [], "round_starts": []})
        starts = phase["round_starts"]
        rounds += [phase["samples"][a:b] for a, b in zip(starts, starts[1:], strict=False)]
    return rounds


def drift(case: dict[str, Any]) -> float:
    """Return the relative difference between the medians of both halves of the rounds."""
    rounds = [statistics.median(samples) for samples in rounds_of(case)]
    half = len(rounds) // 2
    return abs(statistics.median(rounds[:half]) / statistics.median(rounds[half:]) - 1)


def scatter(case: dict[str, Any]) -> float:
    """Return the spread of round medians relative to that expected from the samples in rounds."""
    rounds = rounds_of(case)
    within = statistics.median(map(statistics.pstdev, rounds))
    # For normal samples, the standard error of a median is sqrt(pi / 2) times that of the mean.
    expected = 1.2533 * within / statistics.median(map(len, rounds)) ** 0.5
    return statistics.stdev(map(statistics.median, rounds)) / expected


def is_long(rounds: list[list[float]]) -> bool:
    """Return whether there are enough rounds, with enough samples each, for their spread."""
    return len(rounds) >= 16 and statistics.fmean(map(len, rounds)) >= 8


def largest_error(cases: Cases, dtype: str) -> float:
    """Return the largest error after timing in any pass; cases whose worker died have none."""
    lines = [line for case in cases.values() for line in case["lines"] if line["dtype"] == dtype]
    checks = (line["check"]["after"] for line in lines)
    return max(check["rel_l2"] for check in checks if check is not None)


def of_all_cases(cases: Cases) -> Iterator[tuple[str, str, str]]:
    """Yield the same for rules that need a complete run."""
    own = {name: case for name, case in cases.items() if "host_to_host" in case["phases"]}
    long = [case for case in own.values() if is_long(rounds_of(case))]
    factors = sorted(map(scatter, long))
    yield (
        "Many short rounds",
        "one long round: changes between rounds stay unseen",
        f"medians of rounds lie {statistics.median(factors):.1f} × as far apart as samples within "
        f"them would have it ({len(factors)} cases; a tenth over "
        f"{factors[int(0.9 * len(factors))]:.1f} ×)",
    )
    drifts = sorted(map(drift, long))
    yield (
        "Contenders in turns",
        "one contender after the other: drift shows up as a difference",
        f"first and second half of a case's rounds differ by {statistics.median(drifts):.1%} in "
        f"half of these cases, by over {drifts[int(0.9 * len(drifts))]:.1%} in a tenth",
    )
    ratio, name = max(
        (statistics.fmean(phase["samples"]) / phase["median"], name)
        for name, phase in ((name, case["phases"]["host_to_host"]) for name, case in own.items())
    )
    phase = own[name]["phases"]["host_to_host"]
    yield (
        "The median",
        f"mean of `{name}`: {us(ratio * phase['median'])}",
        f"median {us(phase['median'])}; the longest of its {phase['n']} samples took "
        f"{us(phase['max'])}",
    )
    worst = {dtype: largest_error(own, dtype) for dtype in ("f32", "f16")}
    yield (
        "Checks",
        "a rung that leaves work out is the fastest",
        f"largest error of a correct case: {worst['f32']:.1e} in f32, {worst['f16']:.1e} in f16",
    )


def main() -> int:
    """Print the table or write it into the page."""
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--write"]):
        print(__doc__, file=sys.stderr)
        return 2
    lines = load_lines(Path(sys.argv[1]))
    cases: Cases = {}
    for (case, _), line in lines.items():  # those of the first pass come first
        if line["status"] == "ok":
            cases.setdefault(case, {**line, "lines": []})["lines"].append(line)
    rows = [*of_one_case(cases), *of_all_cases(cases)]
    text = "| rule | without it | with it |\n|---|---|---|\n"
    text += "".join(f"| {' | '.join(row)} |\n" for row in rows)
    if len(sys.argv) == 2:
        print(text, end="")
        return 0
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(before + BEGIN + text + END + rest.partition(END)[2], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
