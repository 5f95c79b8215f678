"""How far the errors of a run's contenders are from what the checks allow, by contender.

    python3 tests/tools/margins.py RUN…

Each number is what is allowed over the largest error of any of the contender's cases: of the whole
array, of a row, of a column. Under 1 a case was wrong.
"""

import gzip
import json
import re
import sys
from collections import defaultdict
from pathlib import Path

VERIFY_C = Path(__file__).parents[2] / "bench" / "measure" / "verify.c"


def factors() -> tuple[float, ...]:
    """Return what the program multiplies the tolerance of an array, a row and a column by."""
    found = re.search(
        r"VERIFY_ROW_FACTOR = (\d+), VERIFY_COLUMN_FACTOR = (\d+)", VERIFY_C.read_text("utf-8")
    )
    assert found is not None
    return 1.0, float(found[1]), float(found[2])


def lines(run: Path) -> list[str]:
    plain = run / "cases.jsonl"
    if plain.exists():
        return plain.read_text("utf-8").splitlines()
    return gzip.decompress((run / "cases.jsonl.gz").read_bytes()).decode().splitlines()


def main() -> None:
    keys, times = ("rel_l2", "row_rel_l2", "column_rel_l2"), factors()
    margins: dict[str, list[float]] = defaultdict(lambda: [float("inf")] * len(keys))
    for run in sys.argv[1:]:
        for case in map(json.loads, lines(Path(run))):
            checks = (case.get("check") or {}).values()
            name = "/".join((*case["id"].split("/")[:3], case["dtype"]))
            for check in filter(None, checks):
                for i, key in enumerate(keys):
                    if check.get(key):
                        margin = times[i] * check["tolerance"] / check[key]
                        margins[name][i] = min(margins[name][i], margin)
    print(f"{'array':>10} {'row':>10} {'column':>10}  contender")
    for name, values in sorted(margins.items()):
        print(*(f"{value:10.3g}" for value in values), f" {name}")


if __name__ == "__main__":
    main()
