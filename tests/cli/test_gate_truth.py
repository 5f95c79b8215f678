"""The gate's error rates on synthetic sweeps with known differences; `make gate-truth` runs more."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from project import BENCH, ROOT

SWEEPS = 30


@pytest.fixture(scope="module")
def rates() -> list[dict[str, Any]]:
    program = BENCH.parent / "gate_truth"
    subprocess.run(
        ["make", "-s", f"BUILD={BENCH.parent}", str(program)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=240,
    )
    done = subprocess.run(
        [program, "--sweeps", str(SWEEPS), "--json"],
        text=True,
        capture_output=True,
        timeout=240,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def rows(rates: list[dict[str, Any]], rule: str, percents: set[float]) -> list[dict[str, Any]]:
    found = [row for row in rates if row["rule"] == rule and row["percent"] in percents]
    assert len(found) == 4 * len(percents)
    return found


def test_gate_raises_no_false_alarms(rates: list[dict[str, Any]]) -> None:
    for rule in ("gate 5 %, floors", "gate 2 %, floors"):
        alarms = sum(row["alarms"] for row in rows(rates, rule, {0.5, 1.0, 3.0}))
        assert alarms <= 0.01 * 12 * SWEEPS


def test_gate_finds_what_was_planted(rates: list[dict[str, Any]]) -> None:
    found = [row["found_10"] for row in rows(rates, "gate 5 %, floors", {0.5, 1.0})]
    assert sum(found) >= 0.99 * 8 * SWEEPS
    small = [row["found_5"] for row in rows(rates, "gate 2 %, floors", {0.5})]
    assert sum(small) >= 0.95 * 4 * SWEEPS


def test_rules_without_correction_fail_both_ways(rates: list[dict[str, Any]]) -> None:
    mann_whitney = rows(rates, "Mann-Whitney", {0.5, 1.0, 3.0})
    assert min(row["alarms"] for row in mann_whitney) > 0.9 * SWEEPS
    assert max(row["found_5"] for row in rows(rates, "means > 5 %", {0.5})) < 0.8 * SWEEPS
