#!/usr/bin/env python3
"""How well do two runs of the same sweep agree? Prints the distribution of the differences.

usage: repeatability.py RUN1 RUN2

For every case that is ok in both runs: the relative difference of the two medians,
|a - b| / min(a, b), of the phases on the device's clock that lie above twice the event floor, and of
those on the host's clock.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

DEVICE = ("kernel", "kernel_stream", "kernel_graph", "kernel_cold", "forward_device")
HOST = ("host_to_host", "total", "forward", "malloc", "h2d", "d2h", "free")
WITHIN = (0.005, 0.01, 0.02, 0.05, 0.10)


def load(run: Path) -> dict[str, dict[str, Any]]:
    """Return the ok cases of a run by id."""
    plain = run / "cases.jsonl"
    text = (
        plain.read_text(encoding="utf-8")
        if plain.exists()
        else gzip.decompress((run / "cases.jsonl.gz").read_bytes()).decode()
    )
    cases = map(json.loads, text.splitlines())
    return {case["id"]: case for case in cases if case["status"] == "ok"}


def event_floor(cases: dict[str, dict[str, Any]]) -> float:
    """Return what two events with nothing between them read, in ns; 0 where it was not measured."""
    pairs = [case["phases"].get("event_pair") for case in cases.values()]
    return max((pair["median"] for pair in pairs if pair), default=0.0)


def differences(
    one: dict[str, dict[str, Any]],
    two: dict[str, dict[str, Any]],
    phases: tuple[str, ...],
    floor_ns: float,
) -> list[tuple[float, str]]:
    """Return (relative difference, "id phase") of every median that both runs have."""
    found = []
    for case_id in one.keys() & two.keys():
        for name in phases:
            pair = [run[case_id]["phases"].get(name) for run in (one, two)]
            if None in pair or min(phase["median"] for phase in pair) <= floor_ns:
                continue
            a, b = (phase["median"] for phase in pair)
            found.append((abs(a - b) / min(a, b), f"{case_id} {name}"))
    return sorted(found)


def row(name: str, found: list[tuple[float, str]]) -> str:
    """Return a line of the table: how many, the share within each bound, median and 95 % quantile."""
    values = [value for value, _ in found]
    shares = [sum(value <= bound for value in values) / len(values) for bound in WITHIN]
    at = [values[min(len(values) - 1, int(q * len(values)))] for q in (0.5, 0.95)]
    cells = [
        name,
        str(len(values)),
        *(f"{share:.1%}" for share in shares),
        *(f"{v:.2%}" for v in at),
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """Print the tables."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    one, two = (load(Path(run)) for run in sys.argv[1:])
    floor_ns = 2 * max(event_floor(one), event_floor(two))
    classes = {
        "device clock, above the event floor": differences(one, two, DEVICE, floor_ns),
        "`kernel_graph` alone": differences(one, two, ("kernel_graph",), 0.0),
        "host clock": differences(one, two, HOST, 0.0),
        "`host_to_host` alone": differences(one, two, ("host_to_host",), 0.0),
    }
    bounds = " | ".join(f"within {bound:.1%}" for bound in WITHIN)
    print(f"{len(one.keys() & two.keys())} cases are ok in both runs\n")
    print(f"| medians of | n | {bounds} | median difference | 95 % quantile |")
    print("|---|" + "---:|" * (len(WITHIN) + 3))
    for name, found in classes.items():
        if found:
            print(row(name, found))
    for name, found in list(classes.items())[::2]:
        print(f"\nfurthest apart, {name}:")
        for value, what in reversed(found[-5:]):
            print(f"  {value:.1%}  {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
