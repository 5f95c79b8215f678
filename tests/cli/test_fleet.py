"""`bench fleet`: machines with planted differences are named."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from make_fleet import make_fleet, slow_memory
from make_pair import Run, renamed
from project import bench

GOLDEN = Path(__file__).parent / "golden_compare" / "fleet.txt"
SLOW = 4
NAME = "node05 GPU-00000005"
FASTEST = "mlp_infer/cuda/03_vectorized/batch=4"


@pytest.fixture
def fleet(tmp_path: Path) -> list[Run]:
    return make_fleet(tmp_path)


def run_fleet(fleet: list[Run], *options: str, expect: int = 0) -> str:
    folders = [run.write() for run in fleet]
    done = bench("fleet", *folders, *options, expect=expect)
    return done.stdout if expect < 2 else done.stderr


def answer_of(fleet: list[Run], *options: str, expect: int = 0) -> dict[str, Any]:
    return json.loads(run_fleet(fleet, "--json", *options, expect=expect))


def outliers(answer: dict[str, Any]) -> list[str]:
    return [machine["name"] for machine in answer["machines"] if machine["outlier"]]


def group_of(answer: dict[str, Any], bound: str) -> dict[str, Any]:
    (found,) = [group for group in answer["groups"] if group["bound"] == bound]
    return found


# ---- verdicts ------------------------------------------------------------------------------------


def test_like_machines_have_no_outlier(fleet: list[Run]) -> None:
    answer = answer_of(fleet)
    assert outliers(answer) == answer["sentences"] == []
    assert answer["headline"] == "no outliers found (8 machines: 0 outliers)"
    assert {group["bound"] for group in answer["groups"]} == {"dram", "launch", "host", "cpu"}
    for group in answer["groups"]:
        assert {machine["verdict"] for machine in group["machines"]} == {"as the fleet"}


def test_a_slow_memory_is_named(fleet: list[Run]) -> None:
    slow_memory(fleet[SLOW], 1.06)
    answer = answer_of(fleet, expect=1)
    assert outliers(answer) == [NAME]
    (sentence,) = answer["sentences"]
    assert sentence.startswith(f"{NAME}: 6.")
    assert "slower" in sentence
    assert "in memory-bound cases (dram), 6 of 6 by more than 5 %" in sentence
    assert sentence.endswith("; others as the fleet")
    dram = group_of(answer, "dram")
    assert dram["clock"] == "device"
    assert dram["cells"] == dram["cells_beyond_threshold"][SLOW] == 6
    assert dram["machines"][SLOW]["verdict"] == "slower"
    low, high = dram["machines"][SLOW]["ci95"]
    assert 1.05 < low < dram["machines"][SLOW]["ratio"] < high < 1.07
    assert dram["machines"][SLOW]["p_slower"] < 0.01
    assert group_of(answer, "launch")["machines"][SLOW]["verdict"] == "as the fleet"
    # The median machine is no outlier, and is compared with itself.
    assert dram["machines"][0]["verdict"] == "as the fleet"


def test_a_faster_machine_is_named_too(fleet: list[Run]) -> None:
    slow_memory(fleet[SLOW], 1 / 1.08)
    answer = answer_of(fleet, expect=1)
    assert outliers(answer) == [NAME]
    assert "7.4 % faster (" in answer["sentences"][0]


def test_the_threshold_is_an_option(fleet: list[Run]) -> None:
    slow_memory(fleet[SLOW], 1.03)
    assert outliers(answer_of(fleet)) == []
    assert outliers(answer_of(fleet, "--threshold", "2%", expect=1)) == [NAME]
    slow_memory(fleet[SLOW], 1.06)
    assert outliers(answer_of(fleet, "--threshold", "20%")) == []


def test_two_of_four_that_are_slow_are_named(tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path, 4)
    slow_memory(fleet[1], 1.1)
    slow_memory(fleet[2], 1.1)
    answer = answer_of(fleet, expect=1)
    assert outliers(answer) == ["node02 GPU-00000002", "node03 GPU-00000003"]


def test_a_single_slow_case_is_named(fleet: list[Run]) -> None:
    fleet[SLOW].scale(FASTEST, 1.2)
    answer = answer_of(fleet, expect=1)
    assert outliers(answer) == [NAME]
    assert re.search(r": (19\.[5-9]|20\.[0-5]) % slower \(\+1\d", answer["sentences"][0])
    assert f"in {FASTEST}, kernel_graph" in answer["sentences"][0]
    (cell,) = [
        cell for cell in answer["cells"] if (cell["id"], cell["phase"]) == (FASTEST, "kernel_graph")
    ]
    assert cell["bound"] == "dram"
    assert cell["machines"][SLOW]["verdict"] == "slower"
    assert group_of(answer, "dram")["machines"][SLOW]["verdict"] == "as the fleet"


def test_of_many_slow_cases_three_are_named(fleet: list[Run]) -> None:
    slow = [name for name in fleet[SLOW].cases if "/cpu/omp/" in name]
    for name in slow:
        fleet[SLOW].scale(name, 1.2)
    answer = answer_of(fleet, expect=1)
    (sentence,) = answer["sentences"]
    assert sentence.count("% slower") == sentence.count("in mlp_infer/cpu/omp/") == 3
    assert f"; and in {2 * len(slow) - 3} more; others as the fleet" in sentence


def test_what_else_differs_is_told(fleet: list[Run]) -> None:
    slow = fleet[0]
    slow_memory(slow, 1.08)
    slow.environment["gpu"]["power_limit_w"] = 600
    slow.cases[FASTEST]["phases"]["kernel_graph"]["n_throttled"] = 3
    slow.cases[FASTEST]["device"].update(throttle=["sw_power_cap"], sm_mhz=[1400, 1500])
    slow.cases[FASTEST]["flags"] = ["clock: at the board's power limit (SM 1400 to 1500 MHz)"]
    answer = answer_of(fleet, expect=1)
    (sentence,) = answer["sentences"]
    assert sentence.endswith(
        "; throttled samples in 1 case (sw_power_cap)"
        "; unlike node02 GPU-00000002: at the power limit in 1 case, not 0, "
        "SM clock down to 1400 MHz, not 1980 MHz, gpu.power_limit_w: 700 → 600"
    )
    told = [(machine["power_limited"], machine["lowest_sm_mhz"]) for machine in answer["machines"]]
    assert told == [(1, 1400)] + [(0, 1980)] * 7


# ---- without times -------------------------------------------------------------------------------


def test_cases_that_only_one_machine_cannot_measure_are_told(fleet: list[Run]) -> None:
    wrong, throttled = list(fleet[SLOW].cases)[:2]
    fleet[SLOW].cases[wrong].update(status="wrong", reason="error 0.3", phases={})
    fleet[SLOW].cases[throttled].update(status="throttled", reason="throttled")
    (sentence,) = answer_of(fleet, expect=1)["sentences"]
    assert sentence == (
        f"{NAME}: 1 case throttled ({throttled}); 1 case wrong ({wrong}); others as the fleet; "
        "throttled samples in 1 case"
    )
    for run in fleet[:5]:  # a fault of the case, not of the machine
        run.cases[wrong].update(status="wrong", reason="error 0.3", phases={})
        run.cases[throttled].update(status="throttled", reason="throttled")
    assert outliers(answer_of(fleet)) == []


def test_missing_cases_are_told_and_are_no_outlier(fleet: list[Run]) -> None:
    del fleet[SLOW].cases[FASTEST]
    answer = answer_of(fleet)
    assert outliers(answer) == []
    assert answer["sentences"] == [f"{NAME}: 1 case missing"]
    assert answer["machines"][SLOW]["cases"] == answer["machines"][0]["cases"] - 1


def test_cases_of_few_machines_are_left_out(fleet: list[Run]) -> None:
    for run in fleet[2:]:
        del run.cases[FASTEST]
    answer = answer_of(fleet)
    assert answer["sentences"] == []
    assert FASTEST not in {cell["id"] for cell in answer["cells"]}


def test_calibrations_are_left_out(fleet: list[Run]) -> None:
    for run in fleet:
        case = renamed(run.cases[FASTEST], workload="device")
        run.cases[case["id"]] = case
    cells = {cell["id"] for cell in answer_of(fleet)["cells"]}
    assert FASTEST in cells
    assert FASTEST.replace("mlp_infer", "device") not in cells


def test_one_pass_decides_nothing(fleet: list[Run]) -> None:
    slow_memory(fleet[SLOW], 1.5)
    for run in fleet:
        run.passes = 1
    table = run_fleet(fleet)
    assert re.search(r"\+(49\.[89]|50\.[012]) % \?", table)
    assert "Fewer than 5 passes" in table
    assert table.endswith("no outliers found (8 machines: 0 outliers, 8 partly undecided)\n")


# ---- machines ------------------------------------------------------------------------------------


def test_machines_without_a_gpu_are_named_by_their_host(fleet: list[Run]) -> None:
    for run in fleet:
        del run.environment["gpu"]
        run.cases = {name: case for name, case in run.cases.items() if case["on"] == "cpu"}
    for name in fleet[SLOW].cases:
        fleet[SLOW].scale(name, 1.1)
    answer = answer_of(fleet, expect=1)
    assert outliers(answer) == ["node05"]
    assert "in cases on the CPU" in answer["sentences"][0]
    assert answer["machines"][0]["gpu"] is None


def test_gpus_of_one_host_have_as_much_of_the_uuid_as_they_need(fleet: list[Run]) -> None:
    for i, run in enumerate(fleet):
        run.environment["host"]["name"] = "node"
        run.environment["gpu"]["uuid"] = f"GPU-00000000-000{i}"
    assert answer_of(fleet)["machines"][1]["name"] == "node GPU-00000000-0001"


@pytest.mark.parametrize(
    ("part", "key", "value", "message"),
    [
        ("gpu", "name", "NVIDIA H100", "gpu: NVIDIA H200 in BASE, NVIDIA H100 in CANDIDATE"),
        ("gpu", "driver", "590.1", "--allow driver"),
        ("host", "cpu", "another", "--allow cpu"),
    ],
)
def test_other_kinds_of_machines_are_refused(
    fleet: list[Run], part: str, key: str, value: str, message: str
) -> None:
    fleet[SLOW].environment[part][key] = value
    assert message in run_fleet(fleet, expect=3)


def test_allowed_differences_are_listed(fleet: list[Run]) -> None:
    fleet[SLOW].environment["gpu"]["driver"] = "590.1"
    table = run_fleet(fleet, "--allow", "driver")
    assert "Allowed to differ from the first run: driver: 580.159 in BASE, 590.1" in table


def test_other_sweeps_are_refused(fleet: list[Run]) -> None:
    sweep = fleet[SLOW].header["sweeps"][0]
    other = {**sweep, "path": "sweeps/other.json", "text": "{}"}
    for index, sweeps in ((SLOW, [other]), (SLOW, [sweep, other]), (0, [sweep, other])):
        fleet[index].header["sweeps"] = sweeps
        message = run_fleet(fleet, expect=3)
        assert "sweeps/other.json is not in both with the same text: expected runs of" in message
        fleet[index].header["sweeps"] = [sweep]


def test_other_cases_of_the_same_id_are_refused(fleet: list[Run]) -> None:
    fleet[SLOW].cases[FASTEST]["params"]["layers"] = [4, 6, 1]
    message = run_fleet(fleet, expect=3)
    assert f"machine5 cannot be compared: {FASTEST}: different set of params under" in message


def test_two_runs_of_a_machine_are_refused(fleet: list[Run]) -> None:
    fleet[SLOW].header["environment"] = fleet[1].header["environment"]
    message = run_fleet(fleet, expect=2)
    assert "machine2 and " in message
    assert "machine5 are of the same machine (node02 GPU-00000002-" in message


def test_a_run_of_several_machines_is_refused(fleet: list[Run]) -> None:
    gpu = fleet[SLOW].environment["gpu"]["uuid"]
    here = [{"pass": n, "host": "node05", "gpu": gpu} for n in range(1, 7)]
    fleet[SLOW].header["passes"] = here
    run_fleet(fleet)
    fleet[SLOW].header["passes"] = [*here[:5], {"pass": 6, "host": "node99", "gpu": gpu}]
    message = run_fleet(fleet, expect=3)
    assert "machine5: has passes of several machines (node05 GPU-00000005-" in message
    assert "node99 GPU-00000005-" in message


def test_two_runs_are_too_few(tmp_path: Path) -> None:
    fleet = make_fleet(tmp_path, 2)
    message = run_fleet(fleet, expect=2)
    assert "found 2 runs, expected at least 3" in message
    assert "bench compare" in message


# ---- the table -----------------------------------------------------------------------------------


def test_table(fleet: list[Run]) -> None:
    """The complete output; UPDATE_GOLDEN=1 rewrites it."""
    slow_memory(fleet[SLOW], 1.06)
    found = run_fleet(fleet, expect=1)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(found, encoding="utf-8")
    assert found == GOLDEN.read_text(encoding="utf-8")
