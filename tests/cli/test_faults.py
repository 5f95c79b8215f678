"""The complete CUDA path on a fake GPU, and every fault that a script can inject.

`make faults` injects every fault in every phase, hangs included, and prints the table; here every
phase has one fault.
"""

from pathlib import Path

import pytest
from fake_driver import build_gpu
from fault_matrix import (
    CANNOT_BE_OPENED,
    CELLS,
    CRASH,
    CRASH_ONCE,
    FAULTS,
    FAULTY,
    HANG,
    HEALTHY,
    LATE,
    OUT_OF_MEMORY,
    STICKY,
    Fault,
    case_id,
    check_cell,
    check_gone,
    check_not_opened,
    check_outcome,
    run_fault,
    run_gone,
    run_script,
)
from patience import impatient
from project import bench, read_header, report_of

# The faults that apply everywhere: every cell gets one of them.
SOME_CELLS = {
    fault.name: CELLS[i::5]
    for i, fault in enumerate((OUT_OF_MEMORY, STICKY, LATE, CRASH, CRASH_ONCE))
}
HANGING = {"sample d2h"}
GOING = ["open malloc", "sample kernel"]


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment that selects the fake GPU."""
    return build_gpu(tmp_path_factory.mktemp("fake") / "gpu")


def test_correct_results_without_a_fault(gpu: dict[str, str], tmp_path: Path) -> None:
    cases, printed, (gone, clock_mhz, leaked, hits, *_) = run_script(tmp_path / "run", "", gpu, 3)
    assert (gone, clock_mhz, leaked, hits) == (0, 0, 0, 0)
    for i in range(3):
        for variant in (HEALTHY, FAULTY):
            case = cases[case_id(i, variant)]
            assert case["status"] == "ok", case["reason"]
            assert case["check"]["after"]["ok"] is True
            assert case["device"]["sm_mhz"] == [1980, 1980]
            assert case["phases"]["kernel_graph"]["n"] > 0
            assert case["flags"] == []
    assert read_header(tmp_path / "run" / "run")["environment"]["gpu"]["power_limit_w"] == 300
    assert cases["device/cuda/01_read/bytes=262144"]["status"] == "ok"
    assert cases["null/cuda/01_empty/work_ns=0"]["status"] == "ok"
    assert "wrong or failed" not in printed


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_fails_only_its_case(fault: Fault, gpu: dict[str, str], tmp_path: Path) -> None:
    cells = SOME_CELLS.get(fault.name, CELLS)
    outcome = run_fault(tmp_path / "run", fault, cells, gpu)
    for i in range(len(outcome.cells)):
        check_cell(outcome, fault, i)
    check_outcome(outcome, fault)


def test_hang_fails_only_its_case(gpu: dict[str, str], tmp_path: Path) -> None:
    cells = [cell for cell in CELLS if str(cell) in HANGING]
    assert len(cells) == len(HANGING)
    outcome = run_fault(tmp_path / "run", HANG, cells, gpu | impatient(tmp_path))
    for i in range(len(cells)):
        check_cell(outcome, HANG, i)
    check_outcome(outcome, HANG)


@pytest.mark.parametrize("where", GOING)
def test_device_that_disappears(where: str, gpu: dict[str, str], tmp_path: Path) -> None:
    (cell,) = (cell for cell in CELLS if str(cell) == where)
    check_gone(run_gone(tmp_path / "run", cell, gpu))


def test_failed_cases_are_finished_cases(gpu: dict[str, str], tmp_path: Path) -> None:
    outcome = run_fault(tmp_path / "run", FAULTS[0], CELLS[:2], gpu)
    journal = tmp_path / "run" / "run" / "cases.jsonl"
    before = journal.read_bytes()
    sweep, run = tmp_path / "run" / "s.json", journal.parent
    done = bench("run", sweep, "--out", run, "--resume", expect=1, **gpu)
    assert "2 of 12 cases were wrong or failed" in done.stderr
    assert journal.read_bytes() == before
    report = report_of(run, out=tmp_path / "REPORT.md")
    assert outcome.case(1)["reason"] in report


# ---- opening the device -------------------------------------------------------------------------


@pytest.mark.parametrize("script", CANNOT_BE_OPENED)
def test_device_that_cannot_be_opened(script: str, gpu: dict[str, str], tmp_path: Path) -> None:
    environment = gpu | impatient(tmp_path)
    check_not_opened(run_script(tmp_path / "run", script, environment, 1), script)


@pytest.mark.parametrize(
    "script",
    [
        "nvmlInit_v2 error=9",
        "nvmlDeviceGetHandleByUUID error=6",
        "nvmlDeviceGetClockInfo always error=15",
        "nvmlDeviceGetCurrentClocksThrottleReasons always error=3",
        # It dies after the last answer, which has no effect.
        "cuDevicePrimaryCtxRelease_v2 lost=719",
        "cuEventDestroy_v2 op=bye dies",
    ],
)
def test_faults_that_fail_no_case(script: str, gpu: dict[str, str], tmp_path: Path) -> None:
    cases, _, (_, _, _, hits, *_) = run_script(tmp_path / "run", script, gpu, 1)
    assert hits > 0
    for variant in (HEALTHY, FAULTY):
        assert cases[case_id(0, variant)]["status"] == "ok"


def test_compiler_out_of_memory(gpu: dict[str, str], tmp_path: Path) -> None:
    # The cache must be empty.
    own = {**gpu, "BENCH_CACHE": str(tmp_path / "cache")}
    cases, _, _ = run_script(tmp_path / "run", "nvrtcCompileProgram always error=1", own, 1)
    for variant in (HEALTHY, FAULTY):
        case = cases[case_id(0, variant)]
        assert case["status"] == "failed"
        assert "NVRTC_ERROR_OUT_OF_MEMORY" in case["reason"]
