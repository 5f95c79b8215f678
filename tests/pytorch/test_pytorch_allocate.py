"""`allocate`: the trace, the bookkeeping around the calls, and skipped cases. No times."""

import gc
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import WorkerProcess, needs_gpu

pytest.importorskip("torch")

from allocate import CHANGES, OUTPUTS, Allocations, Calls, Trace
from timing import no_mark
from workload import CaseError

ROOT = Path(__file__).parents[2]


class Memory:
    """An allocator of addresses that checks its arguments."""

    def __init__(self, step: int = 1 << 22) -> None:
        self._step = step
        self.live: dict[int, int] = {}
        self.n_allocated = 0

    def allocate(self, size: int, stream: int) -> int:
        assert stream == 7
        self.n_allocated += 1
        address = self.n_allocated * self._step
        self.live[address] = size
        return address

    def free(self, address: int) -> None:
        del self.live[address]


def open_case(memory: Memory, live: int = 5) -> Allocations:
    calls = Calls(memory.allocate, memory.free)
    return Allocations(Trace(live, 42), calls, 7, lambda: None, no_mark)


def test_changes_are_parts_of_one_list() -> None:
    trace = Trace(100, 42)
    whole = trace.changes(0, 300)
    assert trace.changes(100, 150) == whole[100:250]
    assert {change.block for change in whole} <= set(range(100))
    assert {change.size for change in whole} == set(OUTPUTS)
    assert set(trace.start()) <= set(OUTPUTS)
    assert Trace(100, 43).changes(0, 300) != whole


def test_sizes_match_the_cuda_side() -> None:
    source = (ROOT / "bench" / "workloads" / "allocate" / "session.c").read_text()
    table = source[source.index("OUTPUTS[] = {") : source.index("};\n\nenum { N_OUTPUTS")]
    lines = [line.split("/*")[0] for line in table.splitlines()[1:]]
    sizes = [int(word) for line in lines for word in line.split(",") if word.strip()]
    assert tuple(sizes) == OUTPUTS


def test_choices_match_the_cuda_side() -> None:
    """The same sums are in `tests/unit/test_allocate.c`."""
    changes = Trace(100, 42).changes(0, 1000)
    assert sum(change.size for change in changes) + sum(Trace(1000, 42).start()) == 840803840
    assert sum((i + 1) * change.block for i, change in enumerate(changes)) == 24291803


def test_a_sample_keeps_the_number_of_blocks() -> None:
    memory = Memory()
    case = open_case(memory)
    assert len(memory.live) == 5
    for samples in range(1, 4):
        (probe,) = case.probes
        sample = probe()
        assert memory.n_allocated == 5 + samples * 2 * CHANGES
        assert sorted(memory.live.items()) == sorted(zip(case._blocks, case._sizes, strict=True))
        assert set(sample.ns) == set(case.phases)
        assert sample.ns["allocate"] + sample.ns["free"] == pytest.approx(sample.ns["total"])
    assert case.output() == {}
    assert case.results().keys() == {"changes", "loop_ns", "clock_ns"}


def test_an_audit_runs_batches_as_they_are_timed() -> None:
    """`total` has the empty loop taken off, so the supervisor's clock is held against `batch`."""
    memory = Memory()
    case = open_case(memory)
    with case.timed() as run:
        before = memory.n_allocated
        for _ in range(20):
            run()
    assert memory.n_allocated == before + 20 * CHANGES
    assert sorted(memory.live.items()) == sorted(zip(case._blocks, case._sizes, strict=True))
    ns = case.probes[0]().ns
    assert case.audited == "batch"
    assert ns["batch"] >= CHANGES * ns["total"] >= 0


def test_blocks_are_freed_with_the_case() -> None:
    memory = Memory()
    case = open_case(memory)
    assert memory.live
    del case
    gc.collect()
    assert not memory.live


def test_overlap_is_found() -> None:
    case = open_case(Memory(step=512), live=50)
    with pytest.raises(CaseError, match=r"output: \d+ bytes at 0x[0-9a-f]+ overlap 0x"):
        case.output()


@pytest.mark.only_on("cpu")
def test_skipped_on_the_cpu(worker: WorkerProcess) -> None:
    answer = worker.open("caching", workload="allocate", params={"live": 3})
    assert answer["status"] == "skipped"
    assert "needs a GPU" in answer["reason"]
    for params, found in (({"live": 0}, "0"), ({}, "None"), ({"live": True}, "True")):
        answer = worker.open("caching", workload="allocate", params=params)
        assert answer["status"] == "failed"
        assert answer["reason"].endswith(
            f"params.live: expected an integer from 1 to 1000000, found {found}"
        )
    answer = worker.open("caching", workload="allocate", params={"live": 1, "bytes": 2})
    assert answer["reason"] == "params.bytes: unknown; known: live"


@needs_gpu
def test_on_a_gpu(start_worker: Callable) -> None:
    worker = start_worker("cuda")
    worker.hello()
    answer = worker.open("caching", workload="allocate", params={"live": 100})
    assert answer["status"] == "ok"
    sample = worker.sample(answer["id"])
    assert min(sample["phases"]["total"]) > 0
    assert worker.ask("audit", id=answer["id"], runs=2)["phase"] == "batch"
    assert worker.ask("close", id=answer["id"])["status"] == "ok"
