"""Passes: a run walks over its sweep several times, each time with new worker processes."""

import csv
import itertools
import json
import signal
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from docs_tables import Table, compare, paths
from fake_driver import build_gpu
from kill_anywhere import MARKER, wait_for_the_end
from project import (
    QUICK_MEASURE,
    TIMEOUT_S,
    bench,
    make_root,
    null_sweep,
    own_worker,
    read_header,
    read_lines,
    read_passes,
    started,
    wait_for_lines,
    worker_script,
    write_sweep,
)

ONE_CASE = ("--workload", "null", "--engine", "null", "--variant", "steady", "--time-limit", "0.2s")

# Logs its process and the case of each "open"; the second process fails case "fails", and case "waits"
# waits there for a file.
WORKER = worker_script(
    """log = here.joinpath("log")
if op == "open":
    with log.open("a") as file:
        file.write(f"{os.getpid()} {answer['id']}\\n")
if op == "sample":
    processes = {line.split()[0] for line in log.open()}
    answer["phases"] = {"total": [1000 + i for i in range(8)]}
    if "/fails/" in request["id"] and len(processes) == 2:
        answer.update(status="failed", reason="not in this process")
    while "/waits/" in request["id"] and len(processes) == 2 and not (here / "go").exists():
        time.sleep(0.01)  # mood: as often as it takes
"""
)


# In its second process, it answers hello only after the other engine's second process has started.
MEETING_WORKER = worker_script(
    """if op == "hello" and started.stat().st_size == 2:
    while other.stat().st_size < 2:
        time.sleep(0.01)  # mood: as often as it takes; alone, until bench() ends the test
""",
    first="""
started = here / "started"
other = here.parent / {"reference_one": "reference_two"}.get(here.name, "reference_one") / "started"
with started.open("a") as file:
    file.write("x")
""",
)


def passes_of(run: Path) -> dict[str, list[int]]:
    """Return the passes of each case, in the order of the lines."""
    passes = defaultdict(list)
    for name, number in read_passes(run):
        passes[name].append(number)
    return passes


MINE = {"engine": "mine", "device": ["cpu"]}


def make_root_with_worker(folder: Path) -> Path:
    root = make_root(folder / "project")
    own_worker(root, WORKER)
    return root


def run_worker(folder: Path, variants: list[str], passes: int, expect: int) -> Path:
    root = make_root_with_worker(folder)
    measure = {**QUICK_MEASURE, "passes": passes}
    contender = {**MINE, "variants": variants}
    sweep = write_sweep(folder / "s.json", "null", [contender], measure=measure)
    command = ("run", sweep, "--out", folder / "run")
    bench(*command, root=root, expect=expect, BENCH_PYTHON=sys.executable)
    return folder / "run"


def test_processes_of_the_next_pass_start_side_by_side(tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    contenders = []
    for engine in ("one", "two"):
        (root / f"reference_{engine}").mkdir()
        script = root / f"reference_{engine}" / "worker.py"
        script.write_text(MEETING_WORKER, encoding="utf-8")
        contenders.append({"engine": engine, "variants": ["a"], "device": ["cpu"]})
    measure = {**QUICK_MEASURE, "passes": 2}
    sweep = write_sweep(tmp_path / "s.json", "null", contenders, measure=measure)
    bench("run", sweep, "--out", tmp_path / "run", root=root, BENCH_PYTHON=sys.executable)
    assert [line["status"] for line in read_lines(tmp_path / "run")] == ["ok"] * 4


# ---- what a pass is ------------------------------------------------------------------------------


def test_each_pass_has_a_new_process(tmp_path: Path) -> None:
    run = run_worker(tmp_path, ["a", "b"], 3, expect=0)
    log = (tmp_path / "project" / "reference_mine" / "log").read_text(encoding="utf-8")
    processes = [line.split()[0] for line in log.splitlines()]
    assert len(set(processes)) == 3
    assert [len(list(opened)) for _, opened in itertools.groupby(processes)] == [2, 2, 2]
    # The whole sweep, and then the next pass.
    assert [(line["variant"], line["pass"]) for line in read_lines(run)] == [
        (variant, number) for number in (1, 2, 3) for variant in ("a", "b")
    ]


def test_facts_of_each_pass(tmp_path: Path) -> None:
    bench("run", *ONE_CASE, "--passes", "3", "--out", tmp_path / "run")
    header = read_header(tmp_path / "run")
    assert [facts["pass"] for facts in header["passes"]] == [1, 2, 3]
    times = [facts[key] for facts in header["passes"] for key in ("started", "finished")]
    assert [header["started"], *times, header["finished"]] == sorted(
        [header["started"], *times, header["finished"]]
    )
    assert {facts["host"] for facts in header["passes"]} == {header["environment"]["host"]["name"]}
    for key in "host_loop_ns", "host_copy_bytes_per_s":
        assert all(facts[key] > 0 for facts in header["passes"])
    found = {path for facts in header["passes"] for path in paths(facts)}
    compare(found, Table("run.json", "key of `passes[]`"), {"cores", "gpu"})


@pytest.mark.parametrize(
    ("options", "n_passes"),
    [
        ([], 5),  # as many as it needs: it is steady
        (["--passes", "5-8"], 5),
        (["--passes", "2"], 2),
        (["--quick"], 1),
        (["--quick", "--passes", "3"], 3),
        (["--profile"], 1),
        (["--against", "self", "--recheck-limit", "0s"], 8),
    ],
)
def test_number_of_passes(options: list[str], n_passes: int, tmp_path: Path) -> None:
    bench("run", *ONE_CASE, *options, "--out", tmp_path / "run")
    assert list(passes_of(tmp_path / "run").values()) == [list(range(1, n_passes + 1))]


def test_sweeps_with_different_numbers_of_passes(tmp_path: Path) -> None:
    sweeps = []
    for name, n_passes in (("steady", 3), ("noisy", 1)):
        contender = {"engine": "null", "variants": [name]}
        measure = {**QUICK_MEASURE, "passes": n_passes}
        sweeps.append(write_sweep(tmp_path / f"{name}.json", "null", [contender], measure=measure))
    bench("run", *sweeps, "--out", tmp_path / "run")
    passes = passes_of(tmp_path / "run")
    assert {name.split("/")[2]: found for name, found in passes.items()} == {
        "steady": [1, 2, 3],
        "noisy": [1],
    }
    assert read_header(tmp_path / "run")["finished"]


def test_device_is_calibrated_in_each_pass(tmp_path: Path) -> None:
    gpu = build_gpu(tmp_path / "gpu")
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cuda", "variants": ["01_study"]}],
        axes={"batch": [1]},
    )
    bench("run", sweep, "--passes", "2", "--out", tmp_path / "run", **gpu)
    lines = read_passes(tmp_path / "run")
    ok = {case for case, line in lines.items() if line["status"] == "ok"}
    for calibration in ("device/cuda/01_read/", "null/cuda/01_empty/"):
        assert [p for name, p in ok if name.startswith(calibration)] in ([1, 2], [2, 1])


# ---- the joined result ---------------------------------------------------------------------------


def timings(run: Path) -> list[dict[str, str]]:
    with (run / "timings.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_json_is_the_joined_form(tmp_path: Path) -> None:
    run = tmp_path / "run"
    done = bench("run", *ONE_CASE, "--passes", "5", "--out", run, "--json", "--quiet")
    (joined,), lines = json.loads(done.stdout), read_lines(run)
    assert set(paths(joined)) == set(paths(lines[0]))
    assert joined["pass"] is None
    assert joined["rounds"] == sum(line["rounds"] for line in lines)
    for name, phase in joined["phases"].items():
        parts = [line["phases"][name] for line in lines]
        assert phase["samples"] == [x for part in parts for x in part["samples"]]
        starts = itertools.accumulate((line["rounds"] for line in lines), initial=0)
        assert phase["pass_starts"] == list(starts)
        medians = sorted(part["median"] for part in parts)
        assert medians[0] <= phase["median"] <= medians[-1]
        assert phase["ci95"][0] <= medians[0] * (1 + 1e-9)
        assert phase["ci95"][1] >= medians[-1] * (1 - 1e-9)
        assert phase["error_frac"] is None
        assert all(part["ci95"] == [None, None] for part in parts)


# ---- cases that go wrong -------------------------------------------------------------------------


def test_a_bad_case_is_measured_once(tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "null",
        [
            {"engine": "null", "variants": ["steady", "wrong", "crash"]},
            {"engine": "cuda", "variants": ["01_empty"]},
        ],
        measure={**QUICK_MEASURE, "passes": 3},
    )
    run = tmp_path / "run"
    done = bench("run", sweep, "--out", run, expect=1, CUDA_VISIBLE_DEVICES="")
    assert "2 of 4 cases were wrong or failed" in done.stderr
    found = {(line["variant"], line["status"], line["pass"]) for line in read_lines(run)}
    assert found == {
        ("steady", "ok", 1),
        ("steady", "ok", 2),
        ("steady", "ok", 3),
        ("wrong", "wrong", 1),
        ("crash", "failed", 1),
        ("01_empty", "skipped", 1),
    }
    assert len(read_lines(run)) == 6
    assert read_header(run)["finished"]


def test_a_case_that_fails_later_has_failed(tmp_path: Path) -> None:
    run = run_worker(tmp_path, ["fails", "works"], 3, expect=1)
    assert [line["pass"] for line in read_lines(run) if line["variant"] == "fails"] == [1, 2]
    assert [line["pass"] for line in read_lines(run) if line["variant"] == "works"] == [1, 2, 3]
    rows = {row["id"].split("/")[2]: row for row in timings(run)}
    assert (rows["fails"]["status"], rows["fails"]["median"]) == ("failed", "")
    assert (rows["works"]["status"], rows["works"]["passes"]) == ("ok", "3")
    assert read_header(run)["finished"]


# ---- interrupted, continued, sharded -------------------------------------------------------------


def test_killed_in_the_second_pass(tmp_path: Path) -> None:
    root, run = make_root_with_worker(tmp_path), tmp_path / "run"
    sweeps = [
        write_sweep(tmp_path / f"{variant}.json", "null", [{**MINE, "variants": [variant]}])
        for variant in ("a", "b", "waits", "d")
    ]
    command = ["run", *sweeps, "--out", run, "--passes", "3"]
    environment = {"BENCH_ROOT": str(root), "BENCH_PYTHON": sys.executable}
    with started(*command, **environment, **{MARKER: str(run)}) as process:
        wait_for_lines(run, 6)
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT_S)
    wait_for_the_end(f"{MARKER}={run}")
    kept, header = read_lines(run), read_header(run)
    assert len(kept) == 6
    first = header["passes"][0]
    assert first["finished"]
    # An earlier day, as times are in seconds.
    first |= {"started": "2026-01-01T10:00:00+00:00", "finished": "2026-01-01T10:01:00+00:00"}
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")
    (root / "reference_mine" / "go").touch()
    bench(*command, "--resume", **environment)
    assert read_lines(run)[: len(kept)] == kept
    assert list(passes_of(run).values()) == 4 * [[1, 2, 3]]
    header = read_header(run)
    assert header["finished"]
    assert header["passes"][0] == first
    assert [facts["pass"] for facts in header["passes"]] == [1, 2, 3]


def test_resumed_with_more_passes(tmp_path: Path) -> None:
    run = tmp_path / "run"
    bench("run", *ONE_CASE, "--passes", "2", "--out", run)
    kept = read_lines(run)
    bench("run", *ONE_CASE, "--passes", "4", "--out", run, "--resume")
    assert read_lines(run)[:2] == kept
    assert list(passes_of(run).values()) == [[1, 2, 3, 4]]
    assert {row["passes"] for row in timings(run)} == {"4"}


def test_shards_of_passes(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "noisy"], [1000, 2000])
    shards, merged = [tmp_path / "1", tmp_path / "2"], tmp_path / "merged"
    for i, shard in enumerate(shards, start=1):
        bench("run", sweep, "--passes", "3", "--out", shard, "--shard", f"{i}/2")
    bench("merge", merged, *shards)
    parts: dict[Any, Any] = {}
    for shard in shards:
        assert len(read_passes(shard)) == 6
        parts |= read_passes(shard)
    assert read_passes(merged) == parts
    assert len(parts) == 12
    assert {row["passes"] for row in timings(merged)} == {"3"}
    header = read_header(merged)
    assert [facts["pass"] for facts in header["passes"]] == [1, 2, 3, 1, 2, 3]
    # A merged run can be reported, and its cases are those of a complete run.
    bench("run", sweep, "--passes", "3", "--out", merged, "--resume")
    assert read_passes(merged) == parts
