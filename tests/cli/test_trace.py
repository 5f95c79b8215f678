"""bench run --trace: one file for Perfetto, all contenders on one clock, and no results."""

import importlib.util
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_driver
from project import FIXTURES, bench, make_root, null_sweep, ran, write_sweep

pytestmark = pytest.mark.usefixtures("warm_workers")

OMP = "mlp_infer/cpu/omp/batch=64"
EAGER = "mlp_infer/pytorch-cpu/eager/batch=64"
NOOP = "null/null/noop/work_ns=50000"
CATEGORIES = {"range", "phase", "call", "op", "kernel", "copy", "set", "device"}

Event = dict[str, Any]

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


def read_trace(run: Path) -> dict[str, Any]:
    return json.loads((run / "trace.json").read_text(encoding="utf-8"))


def slices_of(trace: dict[str, Any], case: str) -> list[Event]:
    """Return the slices of the process named after the case."""
    names = {
        event["args"]["name"]: event["pid"]
        for event in trace["traceEvents"]
        if event["name"] == "process_name"
    }
    return [
        event
        for event in trace["traceEvents"]
        if event["pid"] == names[case] and event["ph"] == "X"
    ]


def named(slices: list[Event], *categories: str) -> list[str]:
    return [event["name"] for event in slices if event["cat"] in categories]


def end_of(event: Event) -> float:
    return event["ts"] + event["dur"]


def overlaps(slices: list[Event]) -> Iterator[tuple[Event, Event]]:
    """Yield slices of one row that overlap but are not nested."""
    # Times are rounded to a nanosecond, so adjacent slices may overlap by one.
    slack_us = 0.002
    open_slices: dict[tuple[int, int], list[Event]] = {}
    for event in sorted(slices, key=lambda event: (event["ts"], -event["dur"])):
        outer = open_slices.setdefault((event["pid"], event["tid"]), [])
        while outer and end_of(outer[-1]) <= event["ts"] + slack_us:
            outer.pop()
        if outer and end_of(event) > end_of(outer[-1]) + slack_us:
            yield outer[-1], event
        outer.append(event)


def check_shape(trace: dict[str, Any]) -> None:
    assert trace["traceEvents"]
    for event in trace["traceEvents"]:
        assert event["ph"] in {"X", "M"}
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        if event["ph"] == "X":
            assert event["cat"] in CATEGORIES
            assert event["ts"] >= 0
            assert event["dur"] >= 0
        else:
            assert event["name"] in {"process_name", "process_sort_index", "thread_name"}
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert list(overlaps(slices)) == []


def mlp_sweep(path: Path, *contenders: dict[str, Any]) -> Path:
    return write_sweep(path, "mlp_infer", list(contenders), axes={"batch": [64]})


def timed(*command: str | Path) -> tuple[subprocess.CompletedProcess[str], float]:
    """Return what bench printed, and the time from before its start to after its end in µs."""
    times = [time.monotonic()]  # mood: no event is outside, however long it all takes
    done = bench(*command)
    times.append(time.monotonic())  # mood: likewise
    return done, (times[1] - times[0]) * 1e6


def test_phases_and_ranges_of_each_contender(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "null.json", ["noop", "steady"], [50000])
    other = mlp_sweep(tmp_path / "mlp.json", {"engine": "cpu", "variants": ["ref", "omp"]})
    run = tmp_path / "run"
    done, wall_us = timed("run", "--trace", sweep, other, "--out", run)
    trace = read_trace(run)
    check_shape(trace)
    assert {path.name for path in run.iterdir()} == {"trace.json"}
    assert all(end_of(event) <= wall_us for event in trace["traceEvents"] if event["ph"] == "X")

    noop = slices_of(trace, NOOP)
    assert named(noop, "range") == [f"{NOOP} open", f"{NOOP} sample", "phases", "output"]
    assert named(noop, "phase") == ["total", "kernel"]
    kernel = next(event for event in noop if event["name"] == "kernel")
    sample = next(event for event in noop if event["name"] == f"{NOOP} sample")
    assert kernel["dur"] >= 50
    assert sample["ts"] <= kernel["ts"]
    assert end_of(kernel) <= end_of(sample)
    # Synthetic times are not on a clock.
    assert named(slices_of(trace, NOOP.replace("noop", "steady")), "phase") == []

    omp = slices_of(trace, OMP)
    assert named(omp, "phase") == ["total", "forward", "host_to_host"]
    # Contenders are traced one after the other, on one clock.
    assert max(map(end_of, noop)) <= min(event["ts"] for event in omp)
    assert trace["otherData"]["sources"][OMP] == "the host's clock"
    assert OMP in done.stdout
    assert str(run / "trace.json") in done.stdout


@needs_torch
def test_pytorch_is_on_the_same_clock(tmp_path: Path) -> None:
    sweep = mlp_sweep(
        tmp_path / "mlp.json",
        {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]},
        {"engine": "cpu", "variants": ["omp"]},
    )
    run = tmp_path / "run"
    _, wall_us = timed("run", "--trace", sweep, "--out", run)
    trace = read_trace(run)
    check_shape(trace)
    eager, omp = slices_of(trace, EAGER), slices_of(trace, OMP)
    ranges = named(eager, "range")
    assert ranges[0] == f"{EAGER} sample"
    assert {"init", "forward", "host_to_host", "output"} <= set(ranges)
    assert any(name.startswith("aten::") for name in named(eager, "op"))
    first, second = sorted((eager, omp), key=lambda slices: slices[0]["ts"])
    assert max(map(end_of, first)) <= min(event["ts"] for event in second)
    assert max(map(end_of, second)) <= wall_us


def test_a_run_folder_keeps_its_results(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "null.json", ["noop"], [50000])
    run = tmp_path / "run"
    bench("run", sweep, "--out", run)
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    bench("run", "--trace", sweep, "--out", run)
    after = {path.name: path.read_bytes() for path in run.iterdir()}
    assert after.pop("trace.json")
    assert after == before


def test_a_failed_contender_loses_only_its_trace(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "null.json", ["crash", "noop"], [50000])
    run = tmp_path / "run"
    done = bench("run", "--trace", sweep, "--out", run, expect=1)
    assert "no trace: worker null died" in done.stdout
    assert "1 of 2 cases" in done.stderr
    trace = read_trace(run)
    check_shape(trace)
    assert "kernel" in named(slices_of(trace, NOOP), "phase")
    assert trace["otherData"]["sources"][NOOP.replace("noop", "crash")].startswith("no trace: ")


def test_a_worker_that_cannot_trace_is_not_a_failure(tmp_path: Path) -> None:
    """A worker without support for traces."""
    root = make_root(tmp_path / "root")
    folder = root / "reference_plain"
    folder.mkdir()
    (folder / "worker.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    op = json.loads(line)['op']\n"
        "    answer = {'status': 'ok'}\n"
        "    if op == 'hello':\n"
        "        answer['device'] = {'kind': 'cpu', 'name': 'any'}\n"
        "    elif op != 'bye':\n"
        "        answer = {'status': 'failed', 'reason': 'op: ' + op + ' is not known'}\n"
        "    print(json.dumps(answer), flush=True)\n"
        "    if op == 'bye':\n"
        "        break\n",
        encoding="utf-8",
    )
    sweep = mlp_sweep(
        tmp_path / "mlp.json",
        {"engine": "plain", "device": ["cpu"], "variants": ["any"]},
        {"engine": "cpu", "variants": ["omp"]},
    )
    done = bench("run", "--trace", sweep, "--out", tmp_path / "run", root=root)
    assert "no trace: op: trace_start is not known" in done.stdout
    assert slices_of(read_trace(tmp_path / "run"), OMP)


# ---- CUDA contenders, on the fake driver of test_driver.py


def build_cupti(folder: Path) -> str:
    compiler = shutil.which("cc") or shutil.which("gcc")
    source, library = FIXTURES / "fakes" / "cupti.c", folder / "libcupti.so.13"
    ran(compiler, "-shared", "-fPIC", "-o", library, source)
    return str(library)


def cuda_trace(folder: Path, **environment: str) -> tuple[list[Event], str]:
    """Return a CUDA contender's slices and the source of its device events."""
    sweep = mlp_sweep(folder / "s.json", {"engine": "cuda", "variants": ["02_thread_per_sample"]})
    run = folder / "run"
    bench("run", "--trace", sweep, "--out", run, **environment)
    trace = read_trace(run)
    check_shape(trace)
    ((case, source),) = trace["otherData"]["sources"].items()
    return slices_of(trace, case), source


def test_cupti_reports_device_work(tmp_path: Path) -> None:
    driver = build_driver(tmp_path / "driver")
    library = build_cupti(tmp_path)
    slices, source = cuda_trace(tmp_path, **driver, BENCH_CUPTI=library)
    assert source == f"CUPTI, version 130001 ({library})"
    assert set(named(slices, "kernel")) == {"told_by_cupti"}
    assert named(slices, "device") == []
    assert {"h2d", "d2h", "total", "host_to_host"} <= set(named(slices, "phase"))
    # The kernel every 20 µs appears only within ranges: between them is the warm-up.
    outermost = [
        event
        for event in slices
        if event["cat"] == "range" and event["name"].endswith((" open", " sample", "output"))
    ]
    assert len(outermost) == 3
    for kernel in (event for event in slices if event["cat"] == "kernel"):
        assert any(outer["ts"] <= kernel["ts"] <= end_of(outer) for outer in outermost)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("none", "not found"),
        ("newer", "has CUPTI version 990000; supported versions are 16 to 139999"),
        ("refuses", "cuptiActivityEnable: CUPTI_ERROR_NOT_COMPATIBLE (36)"),
    ],
)
def test_without_cupti_times_come_from_events(tmp_path: Path, fault: str, reason: str) -> None:
    driver = build_driver(tmp_path / "driver")
    library = str(tmp_path / "nowhere.so") if fault == "none" else build_cupti(tmp_path)
    slices, source = cuda_trace(tmp_path, **driver, BENCH_CUPTI=library, FAKE_CUPTI=fault)
    assert source.startswith("times between events: no CUPTI (")
    assert reason in source
    assert named(slices, "kernel") == []
    assert "kernel" in named(slices, "device")
    assert {"h2d", "d2h", "total", "host_to_host"} <= set(named(slices, "phase"))


# ---- refusals


@pytest.mark.parametrize("option", ["--profile", "--resume", "--json"])
def test_options_of_measurements_are_refused(tmp_path: Path, option: str) -> None:
    sweep = null_sweep(tmp_path / "null.json", ["noop"], [50000])
    refused = bench("run", sweep, "--trace", option, "--out", tmp_path / "run", expect=2)
    assert f"--trace measures nothing: leave {option} out" in refused.stderr
    assert not (tmp_path / "run").exists()
