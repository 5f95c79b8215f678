"""A whole run, from a sweep to results, charts and a report, on engines that need no GPU."""

from __future__ import annotations

import csv
import json
import math
import os
import shutil
import stat
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from project import FIXTURES, bench, make_root, null_sweep, read_cases, read_header, write_sweep

CASE_KEYS = {
    "schema",
    "id",
    "workload",
    "engine",
    "on",
    "variant",
    "params",
    "techniques",
    "dtype",
    "status",
    "reason",
    "flags",
    "check",
    "once_ns",
    "resources",
    "phases",
    "results",
    "limit",
    "device",
    "rounds",
    "stop",
    "warmup_ns",
}
PHASE_KEYS = {
    "clock",
    "unit",
    "n",
    "median",
    "ci95",
    "q25",
    "q75",
    "p5",
    "p95",
    "p99",
    "min",
    "max",
    "mad",
    "samples",
}
HEADER_KEYS = {"schema", "started", "finished", "argv", "seed", "environment", "sweeps"}


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a run of contenders that do all that a contender can do, and what it said."""
    folder = tmp_path_factory.mktemp("run")
    variants = ["steady", "noisy", "wrong", "crash", "hang", "bimodal"]
    sweep = null_sweep(folder / "all.json", variants, [1000, 2000])
    done = bench("run", sweep, "--out", folder / "run", "--timeout", "1s", expect=1)
    return folder / "run", done.stderr


# ---- statuses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "status", "reason"),
    [
        ("steady", "ok", None),
        ("noisy", "ok", None),
        ("bimodal", "ok", None),
        ("wrong", "wrong", "y differs from the oracle: relative L2 error 0.183"),
        ("crash", "failed", "worker null died ("),
        ("hang", "failed", "worker null did not answer in time"),
    ],
)
def test_one_contender_costs_its_own_case_only(
    misbehaving: tuple[Path, str], variant: str, status: str, reason: str | None
) -> None:
    cases = read_cases(misbehaving[0])
    for work_ns in (1000, 2000):  # after a crash and a hang the sweep goes on
        case = cases[f"null/null/{variant}/work_ns={work_ns}"]
        assert case["status"] == status
        if reason is None:
            assert case["reason"] is None
            assert case["stop"] in {"precise", "noise_floor", "time_limit"}
        else:
            assert reason in case["reason"]


def test_every_case_has_its_line(misbehaving: tuple[Path, str]) -> None:
    run, said = misbehaving
    assert len(read_cases(run)) == 12
    assert read_header(run)["finished"]
    assert f"bench: 6 of 12 cases were wrong or failed (in {run})" in said
    assert f"results: {run}" in said


def test_what_is_wrong_has_no_time_in_any_table(misbehaving: tuple[Path, str]) -> None:
    rows = list(csv.DictReader((misbehaving[0] / "timings.csv").open(encoding="utf-8")))
    wrong = [row for row in rows if row["status"] not in {"ok", "throttled"}]
    assert len(wrong) == 6
    assert all(not row["median"] for row in wrong)


# ---- the contract -----------------------------------------------------------------------------


def test_keys_of_a_line(misbehaving: tuple[Path, str]) -> None:
    for case in read_cases(misbehaving[0]).values():
        assert set(case) >= CASE_KEYS
        assert case["schema"] == 1
        assert set(case["check"]) == {"before", "after"}
        for phase in case["phases"].values():
            assert set(phase) >= PHASE_KEYS
            assert phase["clock"] in {"host", "device"}
            assert phase["unit"] == "ns"


def test_keys_of_the_header(misbehaving: tuple[Path, str]) -> None:
    header = read_header(misbehaving[0])
    assert set(header) >= HEADER_KEYS
    assert header["schema"] == 1
    assert header["argv"][1] == "run"
    assert header["argv"][2].endswith("all.json")  # in the order in which it was given
    assert header["seed"] == 42
    assert json.loads(header["sweeps"][0]["text"])["name"] == "all"
    assert header["sweeps"][0]["path"].endswith("all.json")
    assert {"versions", "git", "host"} <= set(header["environment"])


def test_summaries_are_those_of_the_samples(misbehaving: tuple[Path, str]) -> None:
    case = read_cases(misbehaving[0])["null/null/noisy/work_ns=1000"]
    for phase in case["phases"].values():
        samples = phase["samples"]
        assert phase["n"] == len(samples) >= 6
        assert phase["median"] == pytest.approx(statistics.median(samples))
        assert (phase["min"], phase["max"]) == (min(samples), max(samples))
        assert phase["ci95"][0] <= phase["median"] <= phase["ci95"][1]
        assert phase["round_starts"][0] == 0
        assert phase["round_starts"][-1] == len(samples)
        assert len(phase["round_starts"]) == case["rounds"] + 1


def test_made_up_times_are_measured_as_they_are(misbehaving: tuple[Path, str]) -> None:
    cases = read_cases(misbehaving[0])
    for work_ns in (1000, 2000):
        steady = cases[f"null/null/steady/work_ns={work_ns}"]["phases"]["kernel"]
        assert steady["median"] == pytest.approx(work_ns, rel=0.01)
        assert steady["max"] < 1.05 * work_ns


def test_timings_csv_is_the_journal(misbehaving: tuple[Path, str]) -> None:
    cases = read_cases(misbehaving[0])
    rows = list(csv.DictReader((misbehaving[0] / "timings.csv").open(encoding="utf-8")))
    timed = [row for row in rows if row["median"]]
    assert {row["id"] for row in rows} == set(cases)
    assert len(timed) == sum(len(c["phases"]) for c in cases.values() if c["status"] == "ok")
    for row in timed:
        phase = cases[row["id"]]["phases"][row["phase"]]
        assert float(row["median"]) == pytest.approx(phase["median"])
        assert int(row["n"]) == phase["n"]


# ---- what is printed --------------------------------------------------------------------------


def test_few_cases_are_shown_one_by_one(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "wrong"], [1000])
    done = bench("run", sweep, "--out", tmp_path / "run", expect=1)
    assert "null/null/steady/work_ns=1000  ok" in done.stdout
    assert "null/null/wrong/work_ns=1000  wrong: y differs" in done.stdout
    assert "check before  ok" in done.stdout
    assert "95 % interval" in done.stdout
    assert "[1/2] ok" in done.stderr


def test_json_is_the_lines_of_the_journal(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000])
    done = bench("run", sweep, "--out", tmp_path / "run", "--json", "--quiet")
    assert json.loads(done.stdout) == list(read_cases(tmp_path / "run").values())
    assert done.stderr == ""


def test_seed_makes_the_data(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["noisy"], [1000])
    samples = {}
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        bench("run", sweep, "--out", tmp_path / name, "--seed", seed, "--profile")
        assert read_header(tmp_path / name)["seed"] == int(seed)
        case = read_cases(tmp_path / name)["null/null/noisy/work_ns=1000"]
        samples[name] = case["phases"]["kernel"]["samples"]
    assert samples["a"] == samples["b"] != samples["c"]


def test_profile_runs_each_case_once(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    bench("run", sweep, "--out", tmp_path / "run", "--profile")
    case = read_cases(tmp_path / "run")["null/null/steady/work_ns=1000"]
    assert (case["rounds"], case["stop"]) == (1, "single")
    assert case["phases"]["total"]["n"] == 1
    assert case["check"] == {"before": None, "after": None}


def test_arguments_that_are_not_utf8_are_kept(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    odd = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    bench("run", sweep, "--out", odd, "--quiet", "--json")
    assert read_header(Path(odd))["argv"][4].endswith("/caf?")


# ---- real work on the CPU ---------------------------------------------------------------------


def test_mlp_infer_on_the_cpu(tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cpu", "variants": ["*"]}],
        axes={"batch": [1, 3, 70], "layers": [[4, 5, 1], [3, 2]]},
    )
    bench("run", sweep, "--out", tmp_path / "run")
    cases = read_cases(tmp_path / "run")
    assert len(cases) == 12
    for case in cases.values():
        assert case["status"] == "ok"
        for check in case["check"].values():
            assert check["ok"] and check["rel_l2"] < 1e-6
            # float64 against itself, and float32 against it
            assert (check["rel_l2"] == 0) == (case["variant"] == "ref")
        assert set(case["phases"]) == {"forward", "total", "residual", "host_to_host"}
        assert all(value >= 0 for value in case["phases"]["residual"]["samples"])
        assert case["device"]["name"]
        assert case["on"] == "cpu"


def test_other_dtypes_are_not_measured_under_a_false_name(tmp_path: Path) -> None:
    bench(
        "run",
        "--workload",
        "mlp_infer",
        "--engine",
        "cpu",
        "--variant",
        "omp",
        "--set",
        "batch=1",
        "--set",
        "dtype=f16",
        "--out",
        tmp_path / "run",
    )
    case = read_cases(tmp_path / "run")["mlp_infer/cpu/omp/batch=1/dtype=f16"]
    assert (case["status"], case["reason"]) == ("skipped", "dtype f16: only f32 is written for omp")


def pytorch_python() -> str | None:
    """Return a Python with PyTorch: the one that is named for bench, or the one of these tests."""
    python = os.environ.get("BENCH_PYTHON") or sys.executable
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    return python if found.returncode == 0 else None


def test_pytorch_beside_c(tmp_path: Path) -> None:
    python = pytorch_python()
    if python is None:
        pytest.skip("PyTorch is not installed")
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [
            {"engine": "cpu", "variants": ["omp"]},
            {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]},
        ],
        axes={"batch": [8]},
    )
    bench("run", sweep, "--out", tmp_path / "run", BENCH_PYTHON=python)
    case = read_cases(tmp_path / "run")["mlp_infer/pytorch-cpu/eager/batch=8"]
    assert case["status"] == "ok", case["reason"]
    assert case["check"]["before"]["ok"] and case["check"]["after"]["ok"]
    assert {"init", "forward", "total", "host_to_host"} <= set(case["phases"])
    assert read_header(tmp_path / "run")["environment"]["versions"]["pytorch"]
    without = bench("run", sweep, "--out", tmp_path / "without", "--no-pytorch", "--quiet")
    assert "pytorch" not in without.stdout
    assert set(read_cases(tmp_path / "without")) == {"mlp_infer/cpu/omp/batch=8"}


def test_no_python_skips_pytorch_and_nothing_else(tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [
            {"engine": "cpu", "variants": ["ref"]},
            {"engine": "pytorch", "device": ["cpu"], "variants": ["eager"]},
        ],
    )
    bench("run", sweep, "--out", tmp_path / "run", BENCH_PYTHON="/no/such/python")
    cases = read_cases(tmp_path / "run")
    assert cases["mlp_infer/cpu/ref/batch=64"]["status"] == "ok"
    pytorch = cases["mlp_infer/pytorch-cpu/eager/batch=64"]
    assert pytorch["status"] == "skipped"
    assert "/no/such/python" in pytorch["reason"]


# ---- a contender of one's own -----------------------------------------------------------------


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run in which one script more takes part."""
    folder = tmp_path_factory.mktemp("own")
    root = make_root(folder / "project")
    (root / "reference_mine").mkdir()
    shutil.copy(FIXTURES / "workers" / "mine.py", root / "reference_mine" / "worker.py")
    sweep = write_sweep(
        folder / "own.json",
        "mlp_infer",
        [
            {"engine": "cpu", "variants": ["omp"]},
            {"engine": "mine", "variants": ["plain", "wrong", "breaks"], "device": ["cpu"]},
            {"engine": "mine", "variants": ["plain"], "device": ["cuda"]},
        ],
        axes={"batch": [4, 7]},
    )
    planned = bench("plan", sweep, root=root).stdout
    assert "run      mlp_infer/mine-cpu/plain/batch=4" in planned
    run = folder / "run"
    bench("run", sweep, "--out", run, root=root, expect=1, BENCH_PYTHON=sys.executable)
    return run


def test_own_contender_is_measured_and_checked(own: Path) -> None:
    cases = read_cases(own)
    for batch in (4, 7):
        case = cases[f"mlp_infer/mine-cpu/plain/batch={batch}"]
        assert case["status"] == "ok"
        assert case["engine"] == "mine"
        assert 0 < case["check"]["before"]["rel_l2"] < 1e-6
        assert case["phases"]["forward"]["median"] > 0
        assert cases[f"mlp_infer/cpu/omp/batch={batch}"]["status"] == "ok"
    assert read_header(own)["environment"]["workers"]["mine-cpu"]["python"]


def test_own_contender_that_is_wrong_or_breaks(own: Path) -> None:
    cases = read_cases(own)
    for batch in (4, 7):
        wrong = cases[f"mlp_infer/mine-cpu/wrong/batch={batch}"]
        assert wrong["status"] == "wrong"
        assert "differs from the oracle" in wrong["reason"]
        assert not any(phase["samples"] for phase in wrong["phases"].values())
        breaks = cases[f"mlp_infer/mine-cpu/breaks/batch={batch}"]
        assert breaks["status"] == "failed"
        assert "ZeroDivisionError: it breaks, as its name says" in breaks["reason"]
        nowhere = cases[f"mlp_infer/mine-cuda/plain/batch={batch}"]
        assert (nowhere["status"], nowhere["reason"]) == (
            "skipped",
            "plain Python runs on the CPU only",
        )


# ---- readers of results -----------------------------------------------------------------------


def test_report_and_charts_need_no_worker(own: Path, tmp_path: Path) -> None:
    """From the files of a finished run alone: no compiler, no Python, no kernels, no sweeps."""
    root = tmp_path / "elsewhere"
    for name in ("kernels", "sweeps", "bin"):
        (root / name).mkdir(parents=True)
    (root / "plots").symlink_to(FIXTURES.parents[1] / "plots")
    run = root / "run"
    shutil.copytree(own, run)
    for path in run.iterdir():
        path.chmod(stat.S_IRUSR)
    gnuplot = shutil.which("gnuplot")
    if gnuplot is not None:
        (root / "bin" / "gnuplot").symlink_to(gnuplot)
    nothing = {"PATH": str(root / "bin"), "BENCH_PYTHON": "", "BENCH_NVRTC": "/no/such/library"}
    bench("report", run, "--out", tmp_path / "REPORT.md", root=root, **nothing)
    report = (tmp_path / "REPORT.md").read_text(encoding="utf-8")
    assert "mine-cpu plain" in report
    assert "differs from the oracle" in report
    if gnuplot is None:
        pytest.skip("gnuplot is not installed")
    drawn = bench("plot", run, "--out", tmp_path / "charts", root=root, **nothing)
    assert "total.svg" in drawn.stdout
    assert (tmp_path / "charts" / "total.svg").stat().st_size > 1000


def test_derived_files_are_functions_of_the_journal(own: Path, tmp_path: Path) -> None:
    """Merging one run is reading and writing it: nothing may change."""
    bench("merge", tmp_path / "again", own)
    assert read_cases(tmp_path / "again") == read_cases(own)
    assert (tmp_path / "again" / "timings.csv").read_bytes() == (own / "timings.csv").read_bytes()


def test_medians_are_finite(own: Path) -> None:
    rows = csv.DictReader((own / "timings.csv").open(encoding="utf-8"))
    assert all(math.isfinite(float(row["median"])) for row in rows if row["median"])
