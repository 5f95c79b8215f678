"""`bench run --sanitize`: a fake compute-sanitizer that starts workers with a fake GPU."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fake_driver import build_gpu
from patience import impatient
from project import bench, read_cases, report_of, write_sweep

TOOLS = ("memcheck", "racecheck", "synccheck")
CLEAN = dict.fromkeys(TOOLS, "clean")
VARIANT = "02_thread_per_sample"
# One program each.
SIZES = ([4, 5, 1], [4, 8, 1])

# Prints its version, logs its call, and runs the worker as appended.
SANITIZER = """#!/bin/sh
[ "$1" != --version ] || {
    echo "NVIDIA (R) Compute Sanitizer"
    echo "Version $VERSION (build 1)"
    exit
}
printf '%s' "$BENCH_CUPTI" >>"$CALLS"
printf '\\t%s' "$@" >>"$CALLS"
echo >>"$CALLS"
tool=$2
while [ "$2" != worker ]; do shift; done
echo "========= COMPUTE-SANITIZER"
"""
RUNS = '"$@"\n'
SUMMARY = """case $tool in
racecheck) echo "========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)" ;;
*) echo "========= ERROR SUMMARY: 0 errors" ;;
esac
"""
FINDS = """[ $tool != memcheck ] || {
    echo "========= Invalid __global__ write of size 4 bytes"
    echo "========= ERROR SUMMARY: 60 errors"
    echo "========= ERROR SUMMARY: 10 errors were not printed because the limit is reached"
    exit 9
}
"""
CRASHES = (
    'echo "========= Error: Target application terminated before first instrumented API call"\n'
)


@dataclass
class Sanitizer:
    folder: Path
    environment: dict[str, str]

    def does(self, script: str) -> None:
        path = self.folder / "bin" / "compute-sanitizer"
        path.write_text(SANITIZER + script, encoding="utf-8")
        path.chmod(0o755)

    def run(
        self, *options: str, n_programs: int = 1, expect: int = 0, **environment: str
    ) -> tuple[dict[str, dict[str, Any]], subprocess.CompletedProcess[str]]:
        """Return the cases of a sweep of these programs at two batches, and its stderr.

        --profile runs each case once, which is enough to test the sanitizer.
        """
        sweep = write_sweep(
            self.folder / "s.json",
            "mlp_infer",
            [{"engine": "cuda", "variants": [VARIANT]}, {"engine": "cpu", "variants": ["omp"]}],
            axes={"batch": [64, 3], "layers": SIZES[:n_programs]},
        )
        out = self.folder / "run"
        if out.exists():
            shutil.rmtree(out)
        done = bench(
            "run",
            sweep,
            "--sanitize",
            *options,
            "--out",
            out,
            expect=expect,
            **{**self.environment, **environment},
        )
        return read_cases(out), done

    def calls(self) -> list[list[str]]:
        path = Path(self.environment["CALLS"])
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [line.split("\t") for line in lines]

    def logs(self, tool: str) -> list[str]:
        paths = (self.folder / "run" / "logs").glob(f"sanitize-mlp_infer-{VARIANT}-*-{tool}.txt")
        return [path.read_text(encoding="utf-8") for path in paths]


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return build_gpu(tmp_path_factory.mktemp("fake") / "gpu")


@pytest.fixture
def sanitizer(gpu: dict[str, str], tmp_path: Path) -> Sanitizer:
    (tmp_path / "bin").mkdir()
    made = Sanitizer(
        tmp_path,
        {
            **gpu,
            "BENCH_CACHE": str(tmp_path / "cache"),
            "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
            "CUDA_HOME": "",
            "CUDA_PATH": "",
            "CALLS": str(tmp_path / "calls"),
            "VERSION": "2030.1.0",
        },
    )
    made.does(RUNS + SUMMARY)
    return made


def case_id(batch: int, sizes: int = 0) -> str:
    return f"mlp_infer/cuda/{VARIANT}/batch={batch}{'/layers=4-8-1' if sizes else ''}"


def test_every_program_is_run_once_under_each_tool(sanitizer: Sanitizer) -> None:
    cases, _ = sanitizer.run(n_programs=2)
    for sizes in (0, 1):
        for batch in (3, 64):
            case = cases[case_id(batch, sizes)]
            assert case["status"] == "ok"
            assert case["flags"] == []
            assert case["sanitize"] == {
                "version": "2030.1.0",
                "case": case_id(3, sizes),
                "tools": CLEAN,
            }
    assert cases["mlp_infer/cpu/omp/batch=3"]["sanitize"] is None
    assert cases["device/cuda/01_read/bytes=262144"]["sanitize"] is None
    calls = sanitizer.calls()
    assert [call[2] for call in calls] == [*TOOLS, *TOOLS]
    for call in calls:
        assert call[:2] == ["none", "--tool"]
        assert ("--num-cuda-barriers\t65536" in "\t".join(call)) == (call[2] == "synccheck")
        assert call[-3:] == ["worker", "--engine=cuda", "--device=0"]
    logs = sanitizer.logs("memcheck")
    assert len(logs) == 2
    answers = [json.loads(line) for line in logs[0].splitlines() if line[0] == "{"]
    assert [answer["status"] for answer in answers] == ["ok"] * 5
    assert len(answers[2]["phases"]["host_to_host"]) == 1


def test_verdicts_are_kept_by_program_and_version(sanitizer: Sanitizer) -> None:
    sanitizer.does(RUNS + FINDS + SUMMARY)
    first, _ = sanitizer.run("--profile", expect=1)
    assert len(sanitizer.calls()) == 3
    again, _ = sanitizer.run("--profile", expect=1)
    assert sanitizer.calls() == []
    assert again[case_id(3)]["sanitize"] == first[case_id(3)]["sanitize"]
    assert all("Invalid __global__ write" in log for log in sanitizer.logs("memcheck"))
    sanitizer.does(RUNS + SUMMARY)
    newer, _ = sanitizer.run("--profile", VERSION="2031.0.0")
    assert len(sanitizer.calls()) == 3
    assert newer[case_id(3)]["sanitize"]["tools"] == CLEAN


def test_finding_is_flagged_and_fails_the_run(sanitizer: Sanitizer, tmp_path: Path) -> None:
    sanitizer.does(RUNS + FINDS + SUMMARY)
    cases, done = sanitizer.run(n_programs=2, expect=1)
    for sizes in (0, 1):
        for batch in (3, 64):
            case = cases[case_id(batch, sizes)]
            assert case["status"] == "ok"
            assert case["flags"] == ["sanitizer: 60 errors (memcheck)"]
            assert case["sanitize"]["tools"] == {**CLEAN, "memcheck": "60 errors"}
    run = tmp_path / "run"
    last = done.stderr.splitlines()[-1]
    assert last == (
        "bench: compute-sanitizer found errors in the programs of 4 of "
        f"{len(cases)} cases (in {run}/logs)"
    )
    assert f"memcheck of {case_id(3)} under compute-sanitizer: 60 errors ({run}" in done.stderr
    report = report_of(run, out=tmp_path / "REPORT.md")
    assert "- **compute-sanitizer memcheck**: 60 errors (cases: 2): " in report
    assert "sanitizer: 60 errors (memcheck)" in report


def test_one_case_shows_its_verdicts(sanitizer: Sanitizer, tmp_path: Path) -> None:
    single = ["--workload", "mlp_infer", "--variant", VARIANT, "--set", "batch=3"]
    single += ["--sanitize", "--quick", "--time-limit", "100ms", "--out", str(tmp_path / "one")]
    done = bench("run", *single, **sanitizer.environment)
    assert "  sanitizer    memcheck clean, racecheck clean, synccheck clean\n" in done.stdout


def test_missing_sanitizer_is_reported_once(sanitizer: Sanitizer) -> None:
    (sanitizer.folder / "bin" / "compute-sanitizer").unlink()
    if shutil.which("compute-sanitizer") or Path("/usr/local/cuda/bin/compute-sanitizer").exists():
        pytest.skip("compute-sanitizer is installed")
    cases, done = sanitizer.run("--profile")
    assert (
        done.stderr.count("programs are not sanitized: compute-sanitizer is neither on $PATH nor")
        == 1
    )
    case = cases[case_id(3)]
    assert case["status"] == "ok"
    assert case["sanitize"]["version"] is None
    assert set(case["sanitize"]["tools"].values()) == {"not run: no compute-sanitizer"}


@pytest.mark.parametrize(
    ("does", "verdict"),
    [
        ("exec sleep 600\n", "over 120 s"),
        (CRASHES, "Target application terminated before first instrumented API call"),
        (SUMMARY, "the worker answered 0 of 5 requests"),
        ("FAKE_CUDA='cuLaunchKernel error=701' " + RUNS + SUMMARY, 'kernel "mlp_infer": launch'),
    ],
    ids=["hangs", "crashes", "no answers", "refused"],
)
def test_checks_that_did_not_run_have_a_reason(
    sanitizer: Sanitizer, does: str, verdict: str
) -> None:
    sanitizer.does(does)
    cases, done = sanitizer.run("--profile", **impatient(sanitizer.folder))
    tools = cases[case_id(3)]["sanitize"]["tools"]
    assert set(tools) == set(TOOLS)
    assert all(found.startswith(f"not run: {verdict}") for found in tools.values())
    assert f"{case_id(3)} under compute-sanitizer: not run: {verdict}" in done.stderr


def test_checks_that_did_not_run_are_repeated(sanitizer: Sanitizer) -> None:
    sanitizer.does(CRASHES)
    sanitizer.run("--profile")
    sanitizer.does(RUNS + SUMMARY)
    cases, _ = sanitizer.run("--profile")
    assert cases[case_id(3)]["sanitize"]["tools"] == CLEAN


def test_tracing_is_not_sanitized() -> None:
    done = bench("run", "--workload", "null", "--trace", "--sanitize", expect=2)
    assert "--trace measures nothing: leave --sanitize out" in done.stderr
