#!/usr/bin/env python3
"""Publish recorded reference runs: copy them to results/, draw their charts, write REPORT.md.

usage: publish.py [--bench BENCH] [--from DIR] [--to DIR] [--unfinished]

DIR of --from is where record.py recorded; every finished run there is published, the others are named
and left out. With --unfinished they are published, too: a machine went away before their last pass. A
run keeps run.json, its samples (gzipped) and the study's CSVs. Charts are drawn anew of each workload's
first boot, with the others. The report is of all reference runs in results/, so that a workload
recorded later, or anew, joins those that are there. Exit code 1: a case is wrong, failed or
implausible, or too much is kept; everything is written all the same, for a look at it.
"""

import argparse
import collections
import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

from record import BOOT_RUNS, ROOT, RUNS, header_of

REFERENCE = "h[0-9]00*"  # as in .gitignore and run_all.sh

# What git keeps, in bytes.
MOST = {"results": 12_000_000, "plots": 5_000_000}
BAD = ("wrong", "failed", "implausible")


def runs_in(folder: Path) -> list[Path]:
    """Return the reference runs in a folder, in the order of the report."""
    boots = [f"{name}_boot{boot}" for boot in range(2, 10) for name in {**RUNS, **BOOT_RUNS}]
    found = [path for name in (*RUNS, *boots) for path in sorted(folder.glob(f"h[0-9]00_{name}"))]
    return [path for path in found if (path / "run.json").exists()]


def runs_to_publish(recorded: Path, unfinished: bool) -> list[Path]:
    """Return the folders of finished runs, or of all; name the unfinished ones."""
    chosen = []
    for folder in runs_in(recorded):
        finished = header_of(folder).get("finished")
        if finished or unfinished:
            chosen.append(folder)
        if not finished:
            print(f"{folder.name}: not finished{'' if unfinished else ', left out'}", flush=True)
    return chosen


def copy_run(source: Path, to: Path) -> None:
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for path in (source / "run.json", *source.glob("mlp_timing_log*.csv")):
        shutil.copyfile(path, to / path.name)
    # Without the time, the same samples are the same file.
    packed = gzip.compress((source / "cases.jsonl").read_bytes(), 9, mtime=0)
    (to / "cases.jsonl.gz").write_bytes(packed)


def boots_of(run: Path) -> list[Path]:
    """Return the other boots of a run: its own, and those of every workload's headlines.

    But for those in which all of its workloads were described otherwise.
    """
    gpu, _, workload = run.name.partition("_")
    names = tuple(f"{gpu}_{name}_boot" for name in (workload, next(iter(BOOT_RUNS))))
    own = descriptions_of(run)
    return [
        x
        for x in runs_in(run.parent)
        if x.name.startswith(names) and (not own or own.items() & descriptions_of(x).items())
    ]


def descriptions_of(run: Path) -> dict[str, str]:
    """Return the hashes of the described workloads that a run measured."""
    found: dict[str, str] = header_of(run)["environment"].get("operators", {})
    return found


def draw(bench: Path, run: Path, to: Path) -> None:
    charts = to / "plots" / run.name
    shutil.rmtree(charts, ignore_errors=True)
    asked = [bench, "plot", run, "--out", charts, *(f"--boot={boot}" for boot in boots_of(run))]
    subprocess.run(asked, check=True, cwd=to)


def bad_cases(run: Path) -> list[str]:
    """Return the last word on each case and pass that has no valid time."""
    status: dict[tuple[str, object, object], str] = {}
    with gzip.open(run / "cases.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            key = case["id"], case["pass"], case["draw"]
            status[key] = f"{case['status']} {case['id']}: {case['reason']}"
    counts = collections.Counter(text.split()[0] for text in status.values())
    summary = ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
    print(f"{run.name}: {summary}", flush=True)
    return sorted({text for text in status.values() if text.split()[0] in BAD})


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob(f"{REFERENCE}/*"))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--bench", type=Path, default=ROOT / "build/bench")
    parser.add_argument("--from", dest="source", type=Path, default=ROOT / "build/reference")
    parser.add_argument("--to", type=Path, default=ROOT)
    parser.add_argument("--unfinished", action="store_true")
    asked = parser.parse_args()
    bench, to = asked.bench.resolve(), asked.to.resolve()
    sources = runs_to_publish(asked.source, asked.unfinished)
    if not sources:
        parser.error(f"{asked.source} has no finished run: record.py records them")
    bad = []
    for source in sources:
        run = to / "results" / source.name
        copy_run(source, run)
        bad += bad_cases(run)
    for run in runs_in(to / "results"):
        if "_boot" not in run.name:
            draw(bench, run, to)
    runs = [f"results/{run.name}" for run in runs_in(to / "results")]
    subprocess.run([bench, "report", *runs], check=True, cwd=to)
    too_large = [
        f"{name}/{REFERENCE}: {size_of(to / name):,} bytes, at most {most:,}"
        for name, most in MOST.items()
        if size_of(to / name) > most
    ]
    print("\n".join([*bad, *too_large]))
    return 1 if bad or too_large else 0


if __name__ == "__main__":
    sys.exit(main())
