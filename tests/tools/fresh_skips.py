"""Skips in the output of ./run_all.sh and make check, for check_fresh.py."""

import json
import re
from collections import Counter
from pathlib import Path

LONGEST = 160


def table(title: str, reasons: Counter[str]) -> list[str]:
    lines = [f"{title}: {reasons.total()}"]
    for reason, n in reasons.most_common():
        lines.append(f"  {n:5}  {reason[:LONGEST]}{'…' if len(reason) > LONGEST else ''}")
    return lines


def read_run(text: str, project: Path) -> tuple[list[str], bool]:
    """Return the lines to print, and whether all CUDA programs compiled and cases ran."""
    programs = re.findall(r"^\d+ programs: .*$", text, re.M)
    cases = [
        json.loads(line)
        for journal in sorted(project.glob("results/*/cases.jsonl"))
        if not journal.parent.name.startswith("h200")
        for line in journal.read_text().splitlines()
    ]
    statuses = Counter(case["status"] for case in cases)
    lines = [line for line in text.splitlines() if line.startswith("set-up: ")] + programs
    lines.append("cases: " + ", ".join(f"{n} {status}" for status, n in statuses.most_common()))
    for status in sorted(set(statuses) - {"ok"}):
        reasons = Counter(case["reason"] for case in cases if case["status"] == status)
        lines += table(f"{status} cases", reasons)
    compiled = bool(programs) and all(re.search(r"\b0 failed\b", line) for line in programs)
    return lines, compiled and statuses["ok"] > 0


def read_check(text: str, _project: Path) -> tuple[list[str], bool]:
    """Return the lines to print, and whether there was a summary of the tests."""
    unit = re.findall(r"^unit: \d+ passed, .*$", text, re.M)
    pytest = re.findall(r"^(?=.*\b\d+ passed\b).* in [\d.]+s.*$", text, re.M)
    skips: Counter[str] = Counter()
    for n, where, reason in re.findall(r"^SKIPPED \[(\d+)\] (\S+?)(?::\d+)?: (.*)$", text, re.M):
        skips[f"{where}: {reason}"] += int(n)
    for name in re.findall(r"\[  SKIPPED \] (.*)$", text, re.M):
        skips[f"unit: {name}"] += 1
    lines = [line for line in text.splitlines() if line.startswith("set-up: ")] + unit + pytest
    lines += re.findall(r"^.*make check-gpu.*$", text, re.M)
    return lines + table("skipped tests", skips), bool(unit and pytest)
