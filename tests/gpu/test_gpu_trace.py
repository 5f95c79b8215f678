"""A trace of real kernels: every kernel of every rung is in it, by CUPTI's word."""

import json
import re
from typing import Any

import pytest
from project import ROOT, bench
from test_gpu_faults import REASON

pytestmark = pytest.mark.gpu(REASON)

LADDER = ROOT / "kernels" / "linreg_train"
RUNGS = sorted(path.stem for path in LADDER.glob("[0-9]*.cu"))
LAUNCH = re.compile(
    r'^(?:LAUNCHES = |    )\{*(?:(?:every|side_by_side)\("\w+", )?\{"(\w+)"', re.MULTILINE
)

Event = dict[str, Any]


def kernels_of(rung: str) -> set[str]:
    """Return the kernels that a rung lists."""
    texts = [(LADDER / f"{rung}.cu").read_text(encoding="utf-8")]
    # Some rungs are another one, with other settings.
    texts += [
        (LADDER / name).read_text(encoding="utf-8")
        for name in re.findall(r'#include "(\d\d_\w+\.cu)"', texts[0])
    ]
    return set(LAUNCH.findall("\n".join(texts)))


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, int]]:
    """Return the trace of all CUDA rungs and the process of each case."""
    run = tmp_path_factory.mktemp("trace") / "run"
    options = ("--set", "epochs=1", "--set", "points=400000")  # rung 08 does not take fewer
    bench(
        "run", "--trace", "--workload", "linreg_train", "--engine", "cuda", *options, "--out", run
    )
    trace = json.loads((run / "trace.json").read_text(encoding="utf-8"))
    sources = trace["otherData"]["sources"]
    if not any(source.startswith("CUPTI") for source in sources.values()):
        pytest.skip(f"no CUPTI here: {next(iter(sources.values()))}")
    processes = {
        event["args"]["name"]: event["pid"]
        for event in trace["traceEvents"]
        if event["name"] == "process_name"
    }
    return trace, processes


def case_slices(traced: tuple[dict[str, Any], dict[str, int]], rung: str) -> list[Event]:
    trace, processes = traced
    pid = next(pid for case, pid in processes.items() if f"/{rung}/" in case)
    return [event for event in trace["traceEvents"] if event["pid"] == pid and event["ph"] == "X"]


@pytest.mark.parametrize("rung", RUNGS)
def test_every_kernel_is_there(traced: tuple[dict[str, Any], dict[str, int]], rung: str) -> None:
    slices = case_slices(traced, rung)
    kernels = {event["name"] for event in slices if event["cat"] == "kernel"}
    assert kernels == kernels_of(rung)
    assert {"copy", "call", "phase", "range"} <= {event["cat"] for event in slices}


@pytest.mark.parametrize("rung", RUNGS)
def test_kernels_lie_within_their_phases(
    traced: tuple[dict[str, Any], dict[str, int]], rung: str
) -> None:
    """CUPTI brings the device's clock and ours together to a few microseconds, not better."""
    slices = case_slices(traced, rung)
    # A rung that is launched as a graph has no phase of its own for the kernel.
    named = {e["name"]: e for e in slices if e["cat"] == "phase"}
    train = named.get("kernel", named["host_to_host"])
    sample = next(event for event in slices if event["name"].endswith(" sample"))
    slack_us = 50
    in_sample = [
        event
        for event in slices
        if event["cat"] == "kernel" and 0 <= event["ts"] - sample["ts"] <= sample["dur"]
    ]
    assert any(
        event["ts"] >= train["ts"] - slack_us
        and event["ts"] + event["dur"] <= train["ts"] + train["dur"] + slack_us
        for event in in_sample
    )
