#!/usr/bin/env python3
"""How much slower fresh samples are than the others: what the bounds of rule 3 must allow.

    tests/tools/fresh_samples.py RUN…

For each phase by the device's clock, of all cases that are ok or implausible with three fresh samples
or more (docs/cheating.md): the shortest fresh sample over the median of the others, its median and
largest over the cases; and the case that needs the largest allowance beside the factor of two, for
launches on changing inputs of one and a half.
"""

import gzip
import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

LAUNCHES = ("kernel_graph", "forward_graph")


class Fresh(NamedTuple):
    """The samples of a phase of a case, in ns."""

    times: float
    fresh: list[float]
    samples: list[float]

    @property
    def ratio(self) -> float:
        return min(self.fresh) / statistics.median(self.samples)

    @property
    def allowance_ns(self) -> float:
        return min(self.fresh) - self.times * statistics.median(self.samples)


def main(runs: list[str]) -> None:
    found: dict[tuple[str, str], dict[str, Fresh]] = defaultdict(dict)
    for run in runs:
        path = Path(run) / "cases.jsonl"
        text = (
            path.read_text()
            if path.exists()
            else gzip.decompress(Path(f"{path}.gz").read_bytes()).decode()
        )
        for case in map(json.loads, text.splitlines()):
            for name, phase in case["phases"].items():
                if phase["clock"] != "device" or case["status"] not in ("ok", "implausible"):
                    continue
                of = found[case["engine"], name].setdefault(
                    f"{run} {case['id']}", Fresh(1.5 if name in LAUNCHES else 2, [], [])
                )
                of.fresh.extend(phase.get("fresh", []))
                of.samples.extend(phase["samples"])
    print(
        f"{'engine':<10} {'phase':<16} {'cases':>5} {'median':>7} {'largest':>8}  allowance, case"
    )
    for (engine, name), cases in sorted(found.items()):
        enough = {key: of for key, of in cases.items() if len(of.fresh) >= 3 and of.samples}
        if not enough:
            continue
        ratios = [of.ratio for of in enough.values()]
        worst = max(enough, key=lambda key: enough[key].allowance_ns)
        print(
            f"{engine:<10} {name:<16} {len(enough):>5} {statistics.median(ratios):>7.2f} "
            f"{max(ratios):>8.2f}  {enough[worst].allowance_ns / 1e3:.2f} µs, {worst}"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
