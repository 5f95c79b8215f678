"""Every fault in every phase of a CUDA case on a fake GPU, with the expected outcomes.

A cell is a driver call (`cuMemAlloc_v2`) while the worker answers a request (`sample`). A sweep has
one case per cell, in which the fault occurs once per process: a worker that ends because of it is
started a second time. Another variant runs in the same worker and must
not be affected.
"""

import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from project import bench, read_cases, read_header, write_sweep

FAULTY = "02_thread_per_sample"
HEALTHY = "01_study"

MALLOC, H2D, KERNEL = "cuMemAlloc_v2", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel"
D2H, FREE = "cuMemcpyDtoHAsync_v2", "cuMemFree_v2"

ASYNC, PINNED, MAPPED = ("alloc=async",), ("copy=pinned",), ("copy=mapped",)
GRAPH = ("alloc=arena", "copy=pinned", "launch=graph")
OVERLAPPED = ("alloc=arena", "copy=overlapped", "launch=graph")


@dataclass(frozen=True)
class Cell:
    op: str  # the worker's request
    phase: str
    call: str
    nth: int = 1
    techniques: tuple[str, ...] = ()  # none: the defaults

    def __str__(self) -> str:
        return f"{self.op} {self.phase}"


# The tenth call is in the middle of sampling, and so is the third of a graph, which is launched once
# a sample: a second process must reach it too, with the samples that are left. The second output is
# the one after the samples.
CELLS = [
    Cell("open", "module", "cuModuleLoadData"),
    Cell("open", "malloc", MALLOC, 2),
    Cell("open", "h2d", H2D),
    Cell("open", "kernel", KERNEL),
    Cell("open", "d2h", D2H),
    Cell("open", "free", FREE),
    Cell("open", "events", "cuEventElapsedTime"),
    Cell("open", "capture", KERNEL, 6),  # after those of the first run and of three timing runs
    Cell("open", "graph", "cuGraphInstantiateWithFlags"),
    Cell("output", "malloc", MALLOC, 3),
    Cell("output", "h2d", H2D, 2),
    Cell("output", "kernel", KERNEL),
    Cell("output", "d2h", D2H),
    Cell("output", "free", FREE, 4),
    Cell("sample", "malloc", MALLOC, 10),
    Cell("sample", "h2d", H2D, 10),
    Cell("sample", "kernel", KERNEL, 10),
    Cell("sample", "d2h", D2H, 10),
    Cell("sample", "free", FREE, 10),
    Cell("sample", "events", "cuEventElapsedTime", 10),
    Cell("sample", "graph", "cuGraphLaunch", 3),
    Cell("close", "free", FREE),
    Cell("close", "graph", "cuGraphExecDestroy"),
    Cell("close", "module", "cuModuleUnload"),
    Cell("open", "pool", "cuMemPoolSetAttribute", 1, ASYNC),
    Cell("output", "async malloc", "cuMemAllocAsync", 3, ASYNC),
    Cell("sample", "async malloc", "cuMemAllocAsync", 10, ASYNC),
    Cell("sample", "async free", "cuMemFreeAsync", 10, ASYNC),
    Cell("open", "pinned", "cuMemHostAlloc", 2, PINNED),
    Cell("close", "pinned", "cuMemFreeHost", 1, PINNED),
    Cell("open", "mapped", "cuMemHostGetDevicePointer_v2", 2, MAPPED),
    Cell("open", "begin graph", "cuStreamBeginCapture_v2", 1, GRAPH),
    Cell("open", "end graph", "cuStreamEndCapture", 1, GRAPH),
    Cell("output", "graph", "cuGraphLaunch", 1, GRAPH),
    Cell("open", "stream", "cuStreamCreate", 1, OVERLAPPED),
    Cell("open", "chunk", "cuStreamWaitEvent", 3, OVERLAPPED),
]

# The harness's names of the calls in reasons.
NAMES = {
    "cuModuleLoadData": "module_load",
    MALLOC: "alloc",
    H2D: "copy_in_async",
    KERNEL: "launch",
    D2H: "copy_out_async",
    FREE: "release",
    "cuEventElapsedTime": "event_elapsed",
    "cuGraphInstantiateWithFlags": "graph_instantiate",
    "cuGraphLaunch": "graph_launch",
    "cuMemPoolSetAttribute": "pool_set",
    "cuMemAllocAsync": "alloc_async",
    "cuMemFreeAsync": "release_async",
    "cuMemHostAlloc": "host_alloc",
    "cuMemHostGetDevicePointer_v2": "host_device_pointer",
    "cuStreamBeginCapture_v2": "capture_begin",
    "cuStreamCreate": "stream_create",
    "cuStreamWaitEvent": "stream_wait",
    "cuStreamEndCapture": "capture_end",
}


# How the flag of a case begins whose worker died in the first try only.
RETRIED = "worker: died, and the case was opened again in a new process ("


@dataclass(frozen=True)
class Fault:
    name: str
    effect: str  # as in fakes/script.h
    status: str = "failed"
    error: str = ""  # CUDA's name and number of the error
    names_call: bool = False  # the reason says which call failed
    reason: str = ""
    phases: tuple[str, ...] = ()  # none: all of them
    once: bool = False  # not in the second process

    @property
    def ends_worker(self) -> bool:
        return self.effect.startswith(("lost=", "later=")) or self.effect == "dies"

    def applies(self, cell: Cell) -> bool:
        return not self.phases or cell.phase in self.phases

    def expected(self, cell: Cell) -> str:
        """Return the expected status of the faulty case."""
        if self.name == "wrong result":
            return "wrong" if cell.op == "output" else "ok"
        if self.name == "slow clock":
            return "throttled" if cell.op == "sample" else "ok"
        # If a driver only fails to free something, the case is still ok.
        if self.effect.startswith("error=") and cell.op == "close":
            return "ok"
        return self.status

    def reasons(self, cell: Cell) -> list[str]:
        """Return the regular expressions that the faulty case's reason must match."""
        if self.expected(cell) == "ok":
            return []
        # Closing a case checks only whether the device is still alive, not each call.
        call = NAMES.get(cell.call, "") if cell.op != "close" else "context_sync"
        called = rf"\b{call}\b" if self.names_call else ""
        # If the worker cannot answer, the supervisor reports the request.
        asked = cell.op.removesuffix(" again")
        silent = self.effect == "hang" or self.ends_worker
        unanswered = rf"(^|\(){asked}: worker cuda " if silent else ""
        return [called, re.escape(self.error), self.reason, unanswered]


OUT_OF_MEMORY = Fault(
    "out of memory", "error=2", error="CUDA_ERROR_OUT_OF_MEMORY (2)", names_call=True
)
LAUNCH_FAILURE = Fault(
    "launch failure",
    "error=701",
    error="CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)",
    names_call=True,
    phases=("kernel", "capture", "graph"),
)
EVENTS = Fault(
    "event fails",
    "error=600",
    error="CUDA_ERROR_NOT_READY (600)",
    names_call=True,
    phases=("events",),
)
STICKY = Fault("sticky error", "lost=719", error="CUDA_ERROR_LAUNCH_FAILED (719)", names_call=True)
LATE = Fault("fault on the device", "later=700", error="CUDA_ERROR_ILLEGAL_ADDRESS (700)")
CRASH = Fault("driver crashes", "dies", reason=r"died \(signal 11 \(Segmentation fault\)\)")
CRASH_ONCE = replace(CRASH, name="crashes once", once=True)
HANG = Fault("hang", "hang", reason=r"did not answer in time \(still running, killed\)")
WRONG = Fault(
    "wrong result",
    "wrong",
    reason="y differs from the reference output: relative L2",
    phases=("kernel",),
)
SLOW = Fault(
    "slow clock",
    "always clock=900",
    reason=r"only 0 samples at full clocks \(hw_thermal_slowdown\)",
    phases=("kernel",),
)
# Each of these affects only its case, so one run has all of them.
FAULTS = [OUT_OF_MEMORY, LAUNCH_FAILURE, EVENTS, STICKY, LATE, CRASH, CRASH_ONCE, WRONG, SLOW]
# This one removes the device for all later cases: one run per cell.
GONE = Fault("device disappears", "gone=999", error="CUDA_ERROR_UNKNOWN (999)", names_call=True)
NO_DEVICE = "the CUDA driver is installed but finds no device"


# Cases by id, the run's stderr, and the shared state of the processes (see fakes/script.h): four
# words, then how often each line of the script took effect.
STATE, MOST_FAULTS = 4, 256
Run = tuple[dict[str, dict[str, Any]], str, tuple[int, ...]]


@dataclass
class Outcome:
    cases: dict[str, dict[str, Any]]
    cells: list[Cell]
    printed: str
    hits: list[int]  # how often each cell's fault occurred
    leaked: int

    def case(self, index: int) -> dict[str, Any]:
        """Return the faulty case."""
        return self.cases[faulty_id(self.cells[index], index)]


def case_id(index: int, variant: str = FAULTY) -> str:
    return f"mlp_infer/cuda/{variant}/batch={index + 1}"


def faulty_id(cell: Cell, index: int) -> str:
    return "/".join([case_id(index), *cell.techniques])


def faulty_contender(cell: Cell, index: int) -> dict[str, Any]:
    pairs = (technique.split("=") for technique in cell.techniques)
    return {
        "engine": "cuda",
        "variants": [FAULTY],
        "techniques": {name: [choice] for name, choice in pairs},
        "axes": {"batch": [index + 1]},
    }


def fault_line(fault: Fault, cell: Cell, index: int) -> str:
    op = cell.op.removesuffix(" again")
    once = "once " if fault.once else ""
    return f"{cell.call} op={op} case={faulty_id(cell, index)} nth={cell.nth} {once}{fault.effect}"


def run_script(
    folder: Path,
    script: str,
    gpu: dict[str, str],
    n: int,
    *options: str,
    special: dict[int, Cell] | None = None,
) -> Run:
    """Run a sweep of n batches and check what holds for any script.

    A special cell adds a case with its techniques to its batch.
    """
    special = special or {}
    folder.mkdir()
    batches = list(range(1, n + 1))
    contenders = [
        {"engine": "cuda", "variants": [HEALTHY, FAULTY]},
        *(faulty_contender(cell, i) for i, cell in special.items()),
        {"engine": "cpu", "variants": ["omp"], "axes": {"batch": [1, n] if n > 1 else [1]}},
    ]
    sweep = write_sweep(folder / "s.json", "mlp_infer", contenders, axes={"batch": batches})
    run, state = folder / "run", folder / "state"
    environment = {**gpu, "FAKE_CUDA": script, "FAKE_CUDA_STATE": str(state)}
    done = bench("run", sweep, "--out", run, *options, expect=None, **environment)
    cases = read_cases(run)
    bad = [case for case in cases.values() if case["status"] in {"wrong", "failed"}]
    assert done.returncode == (1 if bad else 0), done.stderr
    if bad:
        assert f"{len(bad)} of {len(cases)} cases were wrong or failed" in done.stderr
    assert read_header(run)["finished"]
    own = {name for name in cases if name.startswith("mlp_infer/")}
    assert own == {
        *(case_id(i, variant) for i in range(n) for variant in (HEALTHY, FAULTY)),
        *(faulty_id(cell, i) for i, cell in special.items()),
        *(f"mlp_infer/cpu/omp/batch={batch}" for batch in {1, n}),
    }
    for case in cases.values():
        assert (case["reason"] is None) == (case["status"] == "ok")
    for batch in (1, n):
        assert cases[f"mlp_infer/cpu/omp/batch={batch}"]["status"] == "ok"
    return cases, done.stderr, struct.unpack(f"{STATE + MOST_FAULTS}i", state.read_bytes())


def run_fault(
    folder: Path, fault: Fault, cells: list[Cell], gpu: dict[str, str], *options: str
) -> Outcome:
    """Inject the fault once in each cell, in one run."""
    cells = [cell for cell in cells if fault.applies(cell)]
    script = "\n".join(fault_line(fault, cell, i) for i, cell in enumerate(cells))
    special = {i: cell for i, cell in enumerate(cells) if cell.techniques}
    cases, printed, state = run_script(folder, script, gpu, len(cells), *options, special=special)
    hits = list(state[STATE : STATE + len(cells)])
    return Outcome(cases, cells, printed, hits, leaked=state[2])


def check_cell(outcome: Outcome, fault: Fault, index: int) -> None:
    """Check the faulty case and the healthy one of its batch."""
    cell, case = outcome.cells[index], outcome.case(index)
    hits = outcome.hits[index]
    told = case["reason"] or "".join(case["flags"])
    died = "worker cuda died" in told
    again = died and not fault.once
    assert hits >= 1 if fault.effect.startswith("always") else hits == 1 + again, f"{cell}: {hits}"
    expected = "ok" if died and not again else fault.expected(cell)
    assert case["status"] == expected, f"{cell}: {told}"
    assert ("; first try: " in told) == again, f"{cell}: {told}"
    assert told.startswith(RETRIED) == (died and not again), f"{cell}: {told}"
    for reason in fault.reasons(cell):
        assert re.search(reason, told), f"{cell}: {told}"
    for variant in (HEALTHY, FAULTY):
        beside = outcome.cases[case_id(index, variant)]
        if beside is not case:
            assert beside["status"] == "ok", f"{cell}: {beside['reason']}"


def check_outcome(outcome: Outcome, fault: Fault) -> None:
    """Check what concerns all cells."""
    # What a driver fails to free is leaked.
    refused = [
        cell
        for cell in outcome.cells
        if fault.effect.startswith("error=")
        and cell.op == "close"
        and cell.phase in {"free", "pinned"}
    ]
    assert outcome.leaked == len(refused)


def run_gone(folder: Path, cell: Cell, gpu: dict[str, str]) -> Outcome:
    """Remove the device while the second of three batches is measured."""
    script = fault_line(GONE, cell, 1)
    special = {1: cell} if cell.techniques else {}
    cases, printed, state = run_script(folder, script, gpu, 3, special=special)
    return Outcome(cases, [cell] * 3, printed, list(state[STATE : STATE + 1]), leaked=state[2])


def check_gone(outcome: Outcome) -> None:
    cell = outcome.cells[1]
    for variant in (HEALTHY, FAULTY):
        assert outcome.cases[case_id(0, variant)]["status"] == "ok"
        after = outcome.cases[case_id(2, variant)]
        assert (after["status"], after["reason"]) == ("failed", NO_DEVICE)
    case = outcome.case(1)
    assert case["status"] == "failed", f"{cell}: {case['reason']}"
    for reason in GONE.reasons(cell):
        assert re.search(reason, case["reason"]), f"{cell}: {case['reason']}"
    assert outcome.hits == [1]


# ---- device cannot be opened: no CUDA case runs ------------------------------------------------------

CANNOT_BE_OPENED = {
    "cuInit error=100": NO_DEVICE,
    "cuDeviceGetCount value=0": NO_DEVICE,
    "cuInit error=999": "init: CUDA_ERROR_UNKNOWN (999)",
    "cuDeviceGetName error=46": "CUDA_ERROR_DEVICE_UNAVAILABLE (46)",
    "cuDevicePrimaryCtxRetain error=2": "CUDA_ERROR_OUT_OF_MEMORY (2)",
    "cuStreamCreate error=2": "CUDA_ERROR_OUT_OF_MEMORY (2)",
    "cuEventCreate nth=3 error=2": "CUDA_ERROR_OUT_OF_MEMORY (2)",
    "cuCtxSynchronize lost=719": "CUDA_ERROR_LAUNCH_FAILED (719)",
    "cuInit dies": "died (signal 11 (Segmentation fault))",
    "cuStreamCreate hang": "did not answer in time (still running, killed)",
}


# A worker that ends before its answer does not report that something is missing.
BREAKS_AS_IT_OPENS = {"cuInit dies", "cuStreamCreate hang"}


def check_not_opened(run: Run, script: str) -> None:
    cases, printed, _ = run
    reason, breaks = CANNOT_BE_OPENED[script], script in BREAKS_AS_IT_OPENS
    for case in cases.values():
        if case["engine"] == "cuda":
            assert case["status"] == ("failed" if breaks else "skipped")
            assert reason in case["reason"], case["reason"]
    assert f"CUDA cases {'fail' if breaks else 'are skipped'}: " in printed
    assert reason in printed
