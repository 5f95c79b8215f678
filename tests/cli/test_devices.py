"""`bench run --devices`: a shard on each of several fake GPUs at once, merged into one run."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from fake_driver import build_gpu, compile_fake, cuda_sweep
from project import (
    BENCH,
    FIXTURES,
    ROOT,
    TIMEOUT_S,
    bench,
    make_root,
    ran,
    read_header,
    read_lines,
    read_passes,
    report_of,
    write_sweep,
)

BATCHES = [64, 128, 256]
TWO = "cuDeviceGetCount always value=2"
OPTIONS = ("--devices", "0,1", "--passes", "2")


@pytest.fixture(scope="module")
def gpus(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the environment with two fake GPUs and eight cores."""
    folder = tmp_path_factory.mktemp("gpus")
    environment = build_gpu(folder / "gpu")
    preloaded = folder / "affinity.so"
    compile_fake(preloaded, ["affinity"])
    return {**environment, "FAKE_CUDA": TWO, "FAKE_CORES": "8", "LD_PRELOAD": str(preloaded)}


@pytest.fixture(scope="module")
def measured(
    tmp_path_factory: pytest.TempPathFactory, gpus: dict[str, str]
) -> tuple[Path, Path, subprocess.CompletedProcess[str]]:
    """Return the sweep, a finished run of it on both, and what bench printed."""
    folder = tmp_path_factory.mktemp("measured")
    sweep = cuda_sweep(folder, BATCHES)
    run = folder / "run"
    return sweep, run, bench("run", sweep, *OPTIONS, "--out", run, **gpus)


def cases_of(run: Path) -> set[str]:
    return {name for name, _ in read_passes(run) if name.startswith("mlp_infer/")}


# ---- a run ---------------------------------------------------------------------------------------


def test_each_group_is_measured_on_one_device(
    measured: tuple[Path, Path, subprocess.CompletedProcess[str]],
) -> None:
    _, run, done = measured
    shards = [cases_of(run / "devices" / name) for name in ("0", "1")]
    assert shards[0] & shards[1] == set()
    assert shards[0] | shards[1] == cases_of(run)
    batches = [{name.split("batch=")[1] for name in shard} for shard in shards]
    assert batches == [{"256"}, {"64", "128"}]  # rivals stay together
    assert {name.split("/")[1] for name in shards[1]} == {"cuda", "cpu"}
    assert {(number) for _, number in read_passes(run)} == {1, 2}
    gpus = {facts["gpu"] for facts in read_header(run)["passes"]}
    assert gpus == {f"GPU-00000000-0000-0000-0000-00000000000{i}" for i in (0, 1)}
    assert "GPU 0: Fake GPU, cores 0-3\nGPU 1: Fake GPU, cores 4-7\n" in done.stderr
    assert "GPU 1: [" in done.stderr  # its progress
    assert done.stderr.endswith(f"results: {run}\n")


def test_the_run_says_that_they_were_used_at_once(
    measured: tuple[Path, Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    _, run, done = measured
    header = read_header(run)
    assert header["finished"]
    assert header["argv"][1] == "run"
    assert header["argv"][-2:] == ["--out", str(run)]
    for folder, cores in ((run, "0-3"), (run / "devices" / "1", "4-7")):
        environment = read_header(folder)["environment"]
        assert environment["measure"]["devices"] == "0,1 at once"
        assert environment["host"]["cpus"] == cores
    assert "2 passes, on GPUs 0,1 at once: the spread" in done.stdout
    report = report_of(run, out=tmp_path / "R.md")
    assert "2 passes, on GPUs 0,1 at once: the spread" in report
    assert "- **Measured on several machines or GPUs of one kind:** " in report
    assert "GPUs 0,1 at once. What differs" in report
    assert not (run / "merging").exists()


def test_compare_tells_runs_at_once_from_runs_one_at_a_time(
    measured: tuple[Path, Path, subprocess.CompletedProcess[str]],
    gpus: dict[str, str],
    tmp_path: Path,
) -> None:
    sweep, run, _ = measured
    one = tmp_path / "one"
    bench("run", sweep, "--passes", "2", "--cpus", "0-3", "--out", one, **gpus)
    answer = json.loads(bench("compare", one, run, "--json", expect=None).stdout)
    assert "measure.devices: none → 0,1 at once" in answer["changes"]
    done = bench("merge", tmp_path / "merged", one, run / "devices" / "0", expect=3)
    assert "measure.devices is '0,1 at once', but 'none' in" in done.stderr


def test_a_wrong_case_fails_the_run(gpus: dict[str, str], tmp_path: Path) -> None:
    script = (
        f"{TWO}\ncuLaunchKernel case=mlp_infer/cuda/02_thread_per_sample/batch=128 always wrong"
    )
    run = tmp_path / "run"
    command = ("run", cuda_sweep(tmp_path, BATCHES), *OPTIONS, "--out", run)
    done = bench(*command, expect=1, **{**gpus, "FAKE_CUDA": script})
    assert "GPU 1: bench: 1 of " in done.stderr
    assert "a case was wrong or failed, or passes are left: see above" in done.stderr
    statuses = {line["id"]: line["status"] for line in read_lines(run)}
    assert statuses["mlp_infer/cuda/02_thread_per_sample/batch=128"] == "wrong"
    assert statuses["mlp_infer/cuda/02_thread_per_sample/batch=64"] == "ok"


# ---- interrupted and resumed ---------------------------------------------------------------------


def hangs_at(batch: int) -> dict[str, str]:
    """Return the environment in which a case never ends by itself."""
    case = f"mlp_infer/cuda/02_thread_per_sample/batch={batch}"
    return {"FAKE_CUDA": f"{TWO}\ncuLaunchKernel case={case} always hang"}


def test_an_interrupted_run_is_resumed(gpus: dict[str, str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    sweep = cuda_sweep(tmp_path, BATCHES)
    command = [str(BENCH), "run", str(sweep), *OPTIONS, "--out", str(run)]
    environment = {**os.environ, "BENCH_ROOT": str(ROOT), **gpus, **hangs_at(128)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    begun = set()
    while not {"GPU 0: ", "GPU 1: "} <= begun:
        line = process.stderr.readline()
        assert line, "the run has ended"
        begun |= {line[:7]} if line[7:].startswith("[") else set()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 1, stderr
    assert f"resume with the same command and --resume --out {run}" in stderr
    assert not (run / "run.json").exists()
    assert not read_header(run / "devices" / "1")["finished"]
    before = [read_lines(run / "devices" / name) for name in ("0", "1")]
    bench(*command[1:], "--resume", **gpus)
    for name, lines in zip(("0", "1"), before, strict=True):
        assert read_lines(run / "devices" / name)[: len(lines)] == lines
    assert read_header(run)["finished"]
    assert len(cases_of(run)) == 2 * len(BATCHES)


def test_more_passes_are_added_by_resume(gpus: dict[str, str], tmp_path: Path) -> None:
    run = tmp_path / "run"
    command = ("run", cuda_sweep(tmp_path, BATCHES[:2]), "--devices", "0,1", "--out", run)
    bench(*command, **gpus)
    first = read_lines(run / "devices" / "1")
    ran("gzip", run / "cases.jsonl")
    done = bench(*command, "--resume", "--passes", "2", "--quiet", **gpus)
    assert done.stderr == ""
    assert not (run / "cases.jsonl.gz").exists()
    assert read_lines(run / "devices" / "1")[: len(first)] == first
    assert {number for _, number in read_passes(run)} == {1, 2}


def test_runs_of_other_devices_are_not_resumed(
    measured: tuple[Path, Path, subprocess.CompletedProcess[str]],
    gpus: dict[str, str],
    tmp_path: Path,
) -> None:
    sweep, run, _ = measured
    out = ("--out", run)
    three = {**gpus, "FAKE_CUDA": "cuDeviceGetCount always value=3", "FAKE_CORES": "12"}
    done = bench("run", sweep, *OPTIONS, *out, expect=2, **gpus)
    assert f"{run} already holds a run" in done.stderr
    for devices in ("0,2", "0,1,2"):
        command = ("run", sweep, "--devices", devices, *out, "--resume")
        done = bench(*command, expect=2, **three)
        assert f"was measured with --devices 0,1, found --devices {devices}" in done.stderr
    done = bench("run", sweep, "--passes", "2", *out, "--resume", expect=2, **gpus)
    assert f"{run} was measured with --devices: resume it with it" in done.stderr
    one = tmp_path / "one"
    bench("run", sweep, "--out", one, **gpus)
    done = bench("run", sweep, *OPTIONS, "--out", one, "--resume", expect=2, **gpus)
    assert f"{one} was measured without --devices" in done.stderr


def test_a_child_that_cannot_start_ends_the_others(
    measured: tuple[Path, Path, subprocess.CompletedProcess[str]],
    gpus: dict[str, str],
    tmp_path: Path,
) -> None:
    sweep, finished, _ = measured
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    (run / "devices" / "1" / "run.json").write_text("{}", encoding="utf-8")
    command = ("run", sweep, "--devices", "0,1", "--out", run, "--resume", "--passes", "3")
    done = bench(*command, expect=2, **{**gpus, **hangs_at(256)})
    assert f"GPU 1: bench: {run}/devices/1/run.json: " in done.stderr
    assert "GPU 0: bench: interrupted; finished cases are in" in done.stderr
    assert f"bench: GPU 1: see above; finished cases are in {run}" in done.stderr
    assert not read_header(run / "devices" / "0")["finished"]


# ---- scripts -------------------------------------------------------------------------------------

ON_GPU = """
import json, os, sys
import mine
hello = {"device": {"kind": "cuda", "name": "Fake GPU", "uuid": os.environ.get("UUID")},
         "versions": {"visible": os.environ.get("CUDA_VISIBLE_DEVICES", "all")}}
cases = {}
for line in sys.stdin:
    request = json.loads(line)
    reply = {"status": "ok", **mine.answer(request, cases, "cpu")}
    print(json.dumps({**reply, **hello} if request["op"] == "hello" else reply), flush=True)
    if request["op"] == "bye":
        break
"""
SECOND_UUID = "GPU-00000000-0000-0000-0000-000000000001"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project with a script that says it is on a GPU, and which ones CUDA shows it."""
    root = make_root(tmp_path / "project")
    folder = root / "reference_ours"
    folder.mkdir()
    shutil.copy(FIXTURES / "workers" / "mine.py", folder / "mine.py")
    (folder / "worker.py").write_text(ON_GPU, encoding="utf-8")
    return root


def with_script(folder: Path) -> Path:
    rivals = [
        {"engine": "cuda", "variants": ["02_thread_per_sample"]},
        {"engine": "ours", "device": ["cuda"], "variants": ["plain"]},
    ]
    return write_sweep(folder / "s.json", "mlp_infer", rivals, axes={"batch": [2]})


@pytest.mark.parametrize(
    ("visible", "shown", "uuid"),
    [
        ({}, "1", SECOND_UUID),
        ({"CUDA_VISIBLE_DEVICES": "3,GPU-1a2b"}, "GPU-1a2b", SECOND_UUID.removeprefix("GPU-")),
    ],
)
def test_a_script_sees_the_device_that_is_measured(
    tmp_path: Path,
    root: Path,
    gpus: dict[str, str],
    visible: dict[str, str],
    shown: str,
    uuid: str,
) -> None:
    command = ("run", with_script(tmp_path), "--device", "1", "--quick", "--out", tmp_path / "run")
    bench(*command, root=root, **{**gpus, **visible, "UUID": uuid})
    facts = read_header(tmp_path / "run")["environment"]
    assert facts["workers"]["ours-cuda"]["visible"] == shown
    assert facts["gpu"]["uuid"] == SECOND_UUID
    statuses = [line["status"] for line in read_lines(tmp_path / "run") if "/ours-" in line["id"]]
    assert statuses == ["ok"]


def test_a_script_on_another_gpu_is_no_rival(
    tmp_path: Path, root: Path, gpus: dict[str, str]
) -> None:
    command = ("run", with_script(tmp_path), "--device", "1", "--quick", "--out", tmp_path / "run")
    first_uuid = SECOND_UUID[:-1] + "0"
    bench(*command, root=root, expect=1, **{**gpus, "UUID": first_uuid})
    (line,) = [line for line in read_lines(tmp_path / "run") if "/ours-" in line["id"]]
    assert line["status"] == "failed"
    assert line["reason"] == (
        f"its worker runs on {first_uuid}, but this run measures {SECOND_UUID}: "
        "a worker must use the first device that CUDA shows"
    )


# ---- refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize("devices", ["0", "", "0,0", "0,x", "0,-1", "0,1,", "0,9999"])
def test_bad_lists_are_refused(devices: str, tmp_path: Path) -> None:
    sweep = cuda_sweep(tmp_path, [64])
    done = bench("run", sweep, "--devices", devices, "--out", tmp_path / "run", expect=2)
    assert f"--devices {devices}: expected at least two indices of CUDA devices" in done.stderr


def test_gpus_of_different_kinds_are_refused(gpus: dict[str, str], tmp_path: Path) -> None:
    script = f"{TWO}\ncuDeviceGetName always value=1"
    command = ("run", cuda_sweep(tmp_path, [64]), *OPTIONS, "--out", tmp_path / "run")
    done = bench(*command, expect=3, **{**gpus, "FAKE_CUDA": script})
    assert "device 1 is Other GPU, but device 0 is Fake GPU" in done.stderr
    assert not (tmp_path / "run").exists()


def test_a_missing_device_is_told(gpus: dict[str, str], tmp_path: Path) -> None:
    sweep = cuda_sweep(tmp_path, [64])
    done = bench("run", sweep, "--devices", "0,7", "--out", tmp_path / "run", expect=2, **gpus)
    assert "--devices 0,7: device 7: " in done.stderr


def test_too_few_cores_are_told(gpus: dict[str, str], tmp_path: Path) -> None:
    command = ("run", cuda_sweep(tmp_path, [64]), *OPTIONS, "--out", tmp_path / "run")
    for options, environment in ((("--cpus", "0-5"), gpus), ((), {**gpus, "FAKE_CORES": "6"})):
        done = bench(*command, *options, expect=2, **environment)
        assert "device 0 would have 3 of 6 cores, expected at least 4 for each" in done.stderr
        assert "8 cores would do" in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--against=self", "--trace", "--shard=1/2", "--json"])
def test_other_ways_to_run_are_refused(option: str, tmp_path: Path) -> None:
    done = bench("run", cuda_sweep(tmp_path, [64]), *OPTIONS, option, expect=2)
    assert f"--devices and {option.split('=')[0]} exclude each other" in done.stderr
