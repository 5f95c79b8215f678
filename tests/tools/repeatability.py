#!/usr/bin/env python3
"""Print how well two runs of the same sweep agree: the distribution of the differences.

usage: repeatability.py RUN1 RUN2

For every case that is ok in both runs: the relative difference of the two medians,
|a - b| / min(a, b), of the phases on the device's clock above twice their floor, and of those on the
host's clock. The floor of a way to time kernels is its time for an empty kernel in these runs (workload
`null`): up to twice that, a median depends more on the launch than on the kernel. Then the share of
cases that have all such phases within a bound, and the ten medians that differ most.
"""

import gzip
import itertools
import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

# Phases on the device's clock, and the phase of an empty kernel that is their floor.
DEVICE = {
    "kernel_graph": "kernel_graph",
    "kernel_stream": "kernel_stream",
    "kernel": "kernel",
    "kernel_cold": "kernel",
    "forward_device": "kernel",
}
HOST = ("host_to_host", "total", "forward", "malloc", "h2d", "d2h", "free")
WITHIN = (0.005, 0.01, 0.02, 0.05, 0.10)
QUANTILES = (0.5, 0.9, 0.95, 0.99)
N_WORST = 10


def centre(medians: list[float]) -> float:
    """Return the Hodges-Lehmann centre of the passes' medians, which bench shows."""
    if min(medians) <= 0:
        return statistics.median(medians)
    pairs = itertools.combinations_with_replacement(map(math.log, medians), 2)
    return math.exp(statistics.median(map(statistics.mean, pairs)))


def load_lines(run: Path) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the lines of a run by id and pass, without draws."""
    plain, packed = run / "cases.jsonl", run / "cases.jsonl.gz"
    if not plain.exists() and not packed.exists():
        raise SystemExit(f"repeatability.py: {run}: holds neither {plain.name} nor {packed.name}")
    data = plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
    lines = map(json.loads, data.decode().splitlines())
    # A later line of a pass replaces an earlier one, whatever its status. Schema 1 has no passes.
    passes = {(line["id"], line.get("pass", 1)): line for line in lines}
    return {key: line for key, line in passes.items() if key[1]}


def load(run: Path) -> dict[str, dict[str, Any]]:
    """Return the cases that are ok in all passes, by id."""
    passes = load_lines(run)
    bad = {case_id for (case_id, _), line in passes.items() if line["status"] != "ok"}
    medians: dict[str, dict[str, list[float]]] = {}
    for (case_id, _), line in passes.items():
        case = medians.setdefault(case_id, {}) if case_id not in bad else {}
        for name, phase in line["phases"].items():
            if phase["median"] is not None:
                case.setdefault(name, []).append(phase["median"])
    return {
        case_id: {"phases": {name: {"median": centre(found)} for name, found in phases.items()}}
        for case_id, phases in medians.items()
    }


def median(case: dict[str, Any], phase: str) -> float | None:
    """Return the median of a phase in ns; None: no such phase, or no samples."""
    return case["phases"].get(phase, {}).get("median")


def floors(*runs: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Return the largest time of an empty kernel by phase, in ns; 0: not measured."""
    empty = [case for run in runs for name, case in run.items() if name.startswith("null/cuda/")]
    return {
        phase: max(filter(None, (median(case, of_empty) for case in empty)), default=0.0)
        for phase, of_empty in DEVICE.items()
    }


def differences(
    one: dict[str, dict[str, Any]],
    two: dict[str, dict[str, Any]],
    least_ns: dict[str, float],
) -> list[tuple[float, str, str]]:
    """Return (relative difference, id, phase) of the medians above their least in both runs."""
    found = []
    for case_id in sorted(one.keys() & two.keys()):
        for name, least in least_ns.items():
            a, b = (median(run[case_id], name) for run in (one, two))
            if a is not None and b is not None and min(a, b) > least:
                found.append((abs(a - b) / min(a, b), case_id, name))
    return sorted(found, reverse=True)


def worst_of_each_case(found: list[tuple[float, str, str]]) -> list[float]:
    worst: dict[str, float] = {}
    for value, case_id, _ in found:
        worst[case_id] = max(value, worst.get(case_id, 0.0))
    return list(worst.values())


def row(name: str, values: list[float]) -> str:
    """Return a row of the table: number, share within each bound, quantiles."""
    values = sorted(values)
    shares = [sum(value <= bound for value in values) / len(values) for bound in WITHIN]
    at = [values[min(len(values) - 1, int(q * len(values)))] for q in QUANTILES]
    cells = [name, str(len(values)), *(f"{v:.1%}" for v in shares), *(f"{v:.2%}" for v in at)]
    return "| " + " | ".join([*cells, f"{values[-1]:.2%}"]) + " |"


def main() -> int:
    """Print the tables."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    one, two = (load(Path(run)) for run in sys.argv[1:])
    least_ns = {phase: 2 * floor for phase, floor in floors(one, two).items()}
    device = differences(one, two, least_ns)
    host = differences(one, two, dict.fromkeys(HOST, 0.0))
    mapped = {case_id for case_id in one if "/copy=mapped" in case_id}
    rows = {
        "device clock, above the floor": [value for value, _, _ in device],
        **{
            f"`{name}` alone": [v for v, i, phase in device if phase == name and i not in mapped]
            for name in DEVICE
        },
        "of these, all but `forward_device`": [
            v for v, i, phase in device if phase != "forward_device" and i not in mapped
        ],
        "kernels on mapped host memory": [v for v, i, _ in device if i in mapped],
        "cases by their worst such phase": worst_of_each_case(device),
        "host clock": [value for value, _, _ in host],
        "`host_to_host` alone": [v for v, _, phase in host if phase == "host_to_host"],
        "cases by their worst phase on the host": worst_of_each_case(host),
    }
    print(f"{len(one.keys() & two.keys())} cases are ok in both runs\n")
    bounds = [f"within {bound:.1%}" for bound in WITHIN]
    quantiles = [f"{q:.0%} quantile" for q in QUANTILES]
    print("| " + " | ".join(["medians of", "n", *bounds, *quantiles, "largest"]) + " |")
    print("|---|" + "---:|" * (len(WITHIN) + len(QUANTILES) + 2))
    for name, values in rows.items():
        if values:
            print(row(name, values))
    for name, found in (("device", device), ("host", host)):
        worst = [item for item in found[:N_WORST] if item[0] > 0]
        if worst:
            print(
                f"\n| furthest apart on the {name}'s clock | phase | difference |\n|---|---|---:|"
            )
        for value, case_id, phase in worst:
            print(f"| `{case_id}` | `{phase}` | {value:.2%} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
