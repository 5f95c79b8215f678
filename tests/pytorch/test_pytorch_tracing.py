"""Traces of PyTorch's profiler on the harness's clock."""

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parents[2] / "reference_pytorch"))

import tracing

# The profiler's wall clock reads 5 s + ts; the harness's clock is 2 s behind.
BASE_NS, AHEAD_NS, ORIGIN_NS = 5_000_000_000, -2_000_000_000, 1_000_000_000


def event_of(name: str, category: str, ts: float, dur: float, tid: Any = 300, **args: Any) -> Any:
    return {
        "ph": "X",
        "name": name,
        "cat": category,
        "pid": 300,
        "tid": tid,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def converted(*events: Any) -> list[Any]:
    trace = {"baseTimeNanoseconds": BASE_NS, "traceEvents": list(events)}
    return tracing.convert(trace, ahead_ns=AHEAD_NS, origin_ns=ORIGIN_NS)


def test_times_are_since_the_origin() -> None:
    *_, event = converted(event_of("aten::add", "cpu_op", 12.345, 6.5))
    # 5 s − 2 s − 1 s is 2 s after the origin.
    assert event["ts"] == pytest.approx(2_000_012.345, abs=1e-6)
    assert event["dur"] == 6.5


def test_categories_and_rows() -> None:
    events = converted(
        event_of("forward", "user_annotation", 1, 100),
        event_of("aten::linear", "cpu_op", 2, 50),
        event_of("cudaLaunchKernel", "cuda_runtime", 3, 5, correlation=8),
        event_of("cuLaunchKernel", "cuda_driver", 9, 5, correlation=9),
        event_of("gemm", "kernel", 20, 30, tid=7, correlation=8, grid=[1, 2, 3], **{"est": 4}),
        event_of("Memcpy HtoD", "gpu_memcpy", 60, 3, tid=7, bytes=64),
        event_of("Memset", "gpu_memset", 70, 3, tid=7, bytes=4),
    )
    rows = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    slices = [event for event in events if event["ph"] == "X"]
    assert [event["cat"] for event in slices] == [
        "range",
        "op",
        "call",
        "call",
        "kernel",
        "copy",
        "set",
    ]
    assert [rows[event["tid"]] for event in slices] == [*["thread 300"] * 4, *["GPU, stream 7"] * 3]
    assert slices[4]["args"] == {"correlation": 8, "grid": [1, 2, 3]}


def test_events_of_the_profiler_itself_are_dropped() -> None:
    events = converted(
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "ts": 0, "args": {}},
        {"ph": "s", "name": "ac2g", "cat": "ac2g", "pid": 1, "tid": 1, "ts": 0, "id": 1},
        event_of("PyTorch Profiler (0)", "Trace", 0, 1000, tid="PyTorch Profiler"),
        event_of("ProfilerStep#0", "user_annotation", 0, 1000),
    )
    assert events == []


def test_the_outer_of_two_events_comes_first() -> None:
    events = converted(event_of("inner", "cpu_op", 5, 1), event_of("outer", "cpu_op", 5, 9))
    assert [event["name"] for event in events if event["ph"] == "X"] == ["outer", "inner"]


def now_ns() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)  # mood: no event is outside two readings


def test_a_case_is_traced(worker, tmp_path: Path) -> None:
    origin_ns = now_ns()
    started = worker.ask("trace_start")
    assert started["status"] == "ok"
    case_id = worker.open(profile=True)["id"]
    path = tmp_path / "trace.json"
    before_us = (now_ns() - origin_ns) / 1e3
    answer = worker.ask("trace", id=case_id, path=str(path), origin_ns=origin_ns)
    after_us = (now_ns() - origin_ns) / 1e3
    assert answer == {"status": "ok", "id": case_id, "source": started["source"]}
    slices = [
        event
        for event in json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        if event["ph"] == "X"
    ]
    ranges = [event["name"] for event in slices if event["cat"] == "range"]
    assert ranges[0] == f"{case_id} sample"
    assert {"forward", "host_to_host", "output"} <= set(ranges)
    assert all(before_us <= event["ts"] <= after_us for event in slices)
    kinds = {event["cat"] for event in slices}
    assert "op" in kinds
    if worker.device == "cuda":
        assert {"kernel", "copy", "call"} <= kinds
    worker.ask("close", id=case_id)


@pytest.mark.only_on("cuda")
def test_kernels_of_a_captured_graph_are_event_of(worker, tmp_path: Path) -> None:
    worker.ask("trace_start")
    case_id = worker.open("graph", profile=True)["id"]
    path = tmp_path / "trace.json"
    assert worker.ask("trace", id=case_id, path=str(path), origin_ns=0)["status"] == "ok"
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    sample = next(event for event in events if event["name"] == f"{case_id} sample")
    within = [
        event
        for event in events
        if event["ph"] == "X" and 0 <= event["ts"] - sample["ts"] <= sample["dur"]
    ]
    assert any(event["cat"] == "kernel" for event in within)
    worker.ask("close", id=case_id)


def test_a_trace_needs_an_open_case(worker, tmp_path: Path) -> None:
    answer = worker.ask("trace", id="nobody", path=str(tmp_path / "t.json"), origin_ns=0)
    assert answer == {
        "status": "failed",
        "id": "nobody",
        "reason": "the case nobody is not open",
    }


def test_trace_start_comes_after_hello(start_worker) -> None:
    answer = start_worker("cpu").ask("trace_start")
    assert answer == {"status": "failed", "reason": "op: expected hello first"}
