"""The error rates of `bench fleet` on made-up fleets; `make fleet-truth` runs more."""

import json
from typing import Any

import pytest
from project import built, ran

FLEETS = 3
MACHINES = 8
GROUPS = 3
Rates = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def rates() -> Rates:
    done = ran(built("fleet_truth"), "--fleets", FLEETS, "--machines", MACHINES, "--json")
    return {row["noise"]: row for row in map(json.loads, done.stdout.splitlines())}


def test_no_machine_is_named_without_cause(rates: Rates) -> None:
    assert len(rates) == 11
    assert sum(row["alarms"] + row["wrong_name"] for row in rates.values()) == 0


def test_a_memory_that_is_6_percent_slower_is_found(rates: Rates) -> None:
    quiet = ("normal 0.5 %", "the same, host's cells only")
    assert [rates[noise]["found_6"] for noise in quiet] == [FLEETS] * 2


def test_one_that_is_10_percent_slower_is_found_in_more_noise(rates: Rates) -> None:
    noisy = ("normal 1 %", "normal 3 %", "heavy tails 1 %", "two clocks 2 % apart")
    assert [rates[noise]["found_10"] for noise in noisy] == [FLEETS] * 4


def test_what_cannot_be_decided_is_undecided(rates: Rates) -> None:
    drift = rates["drift 3 %, all cells at once"]
    assert drift["found_10"] == 0
    assert drift["undecided"] >= 0.9 * FLEETS * MACHINES * GROUPS


def test_processes_on_the_host_do_not_hide_the_device(rates: Rates) -> None:
    assert rates["the same, host's cells only"]["undecided"] >= 0.9 * FLEETS * MACHINES
