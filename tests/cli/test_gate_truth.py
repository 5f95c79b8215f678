"""The gate's error rates on three synthetic sweeps of each noise; `make gate-truth` has the rest."""

import json
from pathlib import Path
from typing import Any

import pytest
from project import built, ran

SWEEPS = 3
CELLS = 50
GATES = ("gate 5 %", "gate 5 %, floors", "gate 2 %, floors", "--against")
# All noise within a run is 1 % or less.
QUIET = (
    "normal 0.5 %",
    "normal 1 %",
    "normal 1 %, 4 rounds a pass",
    "heavy tails 1 %",
    "two clocks 2 % apart",
    "drift 1 %",
)
Rates = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="module")
def program() -> Path:
    return built("gate_truth")


def rates_of(program: Path, *options: str, sweeps: int = SWEEPS) -> Rates:
    done = ran(program, "--sweeps", sweeps, "--json", *options)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(row["rule"], row["noise"]): row for row in rows}


@pytest.fixture(scope="module")
def rates(program: Path) -> Rates:
    return rates_of(program)


@pytest.mark.parametrize("gate", GATES)
def test_gate_raises_no_false_alarms(rates: Rates, gate: str) -> None:
    alarms = [row["alarms"] for (rule, _), row in rates.items() if rule == gate]
    assert len(alarms) == 17
    assert sum(alarms) <= 0.01 * len(alarms) * SWEEPS


@pytest.mark.parametrize("gate", ["gate 5 %", "gate 5 %, floors", "--against"])
def test_gate_finds_what_was_planted(rates: Rates, gate: str) -> None:
    found = [rates[gate, noise]["found_10"] for noise in QUIET]
    assert sum(found) >= 0.99 * len(QUIET) * SWEEPS


@pytest.mark.parametrize("gate", GATES)
def test_gate_finds_what_all_cells_share(rates: Rates, gate: str) -> None:
    found = [rates[gate, noise]["found_3_of_all"] for noise in (*QUIET, "normal 3 %")]
    assert sum(found) >= 0.99 * len(found) * SWEEPS


def test_gate_finds_a_small_slowdown_with_a_small_threshold(rates: Rates) -> None:
    assert rates["gate 2 %, floors", "normal 0.5 %"]["found_5"] >= 0.95 * SWEEPS


@pytest.mark.parametrize("noise", ["two clocks 77 % apart", "processes 12 % apart, half slow"])
def test_gate_says_so_where_it_cannot_decide(rates: Rates, noise: str) -> None:
    row = rates["gate 5 %", noise]
    assert row["undecided"] >= 0.95 * CELLS * SWEEPS
    assert row["found_10"] <= 0.05 * SWEEPS


@pytest.mark.long
def test_one_pass_decides_nothing(program: Path) -> None:
    rates = rates_of(program, "--passes", "1", "--rounds", "32", sweeps=1)
    gate = [row for (rule, _), row in rates.items() if rule.startswith("gate")]
    assert {row["undecided"] for row in gate} == {CELLS}


def test_a_rule_without_correction_raises_false_alarms(rates: Rates) -> None:
    mann_whitney = [row for (rule, _), row in rates.items() if rule == "Mann-Whitney"]
    assert min(row["alarms"] for row in mann_whitney) > 0.9 * SWEEPS
