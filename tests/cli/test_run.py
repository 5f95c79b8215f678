"""A complete run, from a sweep to results, charts and a report, on engines without a GPU."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from patience import impatient
from project import bench, make_root, null_sweep, read_cases, read_header, write_sweep

HEADER_KEYS = {"schema", "started", "finished", "argv", "seed", "environment", "passes", "sweeps"}


@pytest.fixture(scope="module")
def misbehaving(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Return a run of contenders with all outcomes, and its stderr."""
    folder = tmp_path_factory.mktemp("run")
    variants = ["steady", "noisy", "wrong", "crash", "hang", "bimodal"]
    sweep = null_sweep(folder / "all.json", variants, [1000, 2000])
    done = bench("run", sweep, "--out", folder / "run", expect=1, **impatient(folder))
    return folder / "run", done.stderr


# ---- statuses ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variant", "status", "reason"),
    [
        ("steady", "ok", None),
        ("noisy", "ok", None),
        ("bimodal", "ok", None),
        ("wrong", "wrong", "y differs from the reference output: relative L2 error 0.183"),
        ("crash", "failed", "worker null died ("),
        ("hang", "failed", "worker null did not answer in time"),
    ],
)
def test_a_bad_contender_fails_only_its_case(
    misbehaving: tuple[Path, str], variant: str, status: str, reason: str | None
) -> None:
    cases = read_cases(misbehaving[0])
    for work_ns in (1000, 2000):  # the sweep continues after a crash and a hang
        case = cases[f"null/null/{variant}/work_ns={work_ns}"]
        assert case["status"] == status
        if reason is None:
            assert case["reason"] is None
            assert case["stop"] in {"precise", "most_rounds", "time_limit"}
        else:
            assert reason in case["reason"]


def test_every_case_has_its_line(misbehaving: tuple[Path, str]) -> None:
    run, printed = misbehaving
    assert len(read_cases(run)) == 12
    assert read_header(run)["finished"]
    assert f"bench: 6 of 12 cases were wrong or failed (in {run})" in printed
    assert f"results: {run}" in printed


def test_wrong_cases_have_no_time_in_any_table(misbehaving: tuple[Path, str]) -> None:
    rows = list(csv.DictReader((misbehaving[0] / "timings.csv").open(encoding="utf-8")))
    wrong = [row for row in rows if row["status"] not in {"ok", "throttled"}]
    assert len(wrong) == 6
    assert all(not row["median"] for row in wrong)


# ---- the contract -----------------------------------------------------------------------------


def test_keys_of_the_header(misbehaving: tuple[Path, str]) -> None:
    header = read_header(misbehaving[0])
    assert set(header) >= HEADER_KEYS
    assert header["schema"] == 2
    assert header["argv"][1] == "run"
    assert header["argv"][2].endswith("all.json")  # in the given order
    assert 0 < header["seed"] < 2**53
    assert json.loads(header["sweeps"][0]["text"])["name"] == "all"
    assert header["sweeps"][0]["path"].endswith("all.json")
    assert {"versions", "git", "host"} <= set(header["environment"])


def test_synthetic_times_are_reported_unchanged(misbehaving: tuple[Path, str]) -> None:
    cases = read_cases(misbehaving[0])
    for work_ns in (1000, 2000):
        steady = cases[f"null/null/steady/work_ns={work_ns}"]["phases"]["kernel"]
        assert steady["median"] == pytest.approx(work_ns, rel=0.01)
        assert steady["max"] < 1.05 * work_ns


# ---- output -----------------------------------------------------------------------------------


def test_few_cases_are_shown_one_by_one(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "wrong"], [1000])
    done = bench("run", sweep, "--out", tmp_path / "run", expect=1)
    assert "null/null/steady/work_ns=1000  ok" in done.stdout
    assert "null/null/wrong/work_ns=1000  wrong: y differs" in done.stdout
    assert "check before  ok" in done.stdout
    assert "95 % interval" in done.stdout
    assert "[1/2] ok" in done.stderr


def test_json_matches_the_journal(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000])
    done = bench("run", sweep, "--out", tmp_path / "run", "--json", "--quiet")
    cases = read_cases(tmp_path / "run").values()
    assert json.loads(done.stdout) == [{**case, "pass": None} for case in cases]
    assert done.stderr == ""


def test_seed_determines_the_data(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["noisy"], [1000])
    samples = {}
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        bench("run", sweep, "--out", tmp_path / name, "--seed", seed, "--profile")
        assert read_header(tmp_path / name)["seed"] == int(seed)
        case = read_cases(tmp_path / name)["null/null/noisy/work_ns=1000"]
        samples[name] = case["phases"]["kernel"]["samples"]
    assert samples["a"] == samples["b"] != samples["c"]


def test_an_output_that_is_nearly_zero_is_judged_by_its_terms(tmp_path: Path) -> None:
    """Of seed 14822, float32 gives the only output 1.6e-4 off, relative to itself."""
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [{"engine": "cpu", "variants": ["omp"]}],
        axes={"batch": [1]},
    )
    bench("run", sweep, "--out", tmp_path / "run", "--seed", "14822")
    (case,) = read_cases(tmp_path / "run").values()
    assert 0 < case["check"]["before"]["rel_l2"] < 1e-6


def test_profile_runs_each_case_once(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    bench("run", sweep, "--out", tmp_path / "run", "--profile")
    case = read_cases(tmp_path / "run")["null/null/steady/work_ns=1000"]
    assert (case["rounds"], case["stop"]) == (1, "single")
    assert case["phases"]["total"]["n"] == 1
    assert case["check"] == {"before": None, "after": None}


def test_the_call_is_recorded_as_of_the_projects_folder(tmp_path: Path) -> None:
    """There its report says to measure again; an option of the same text is no path."""
    root = make_root(tmp_path / "project")
    (root / "mine").mkdir()
    (tmp_path / "null").mkdir()
    null_sweep(root / "mine" / "0", ["steady"], [1000])
    null_sweep(tmp_path / "far.json", ["noop"], [1000])
    options = ["--quick", "--cpus", "0", "--out"]
    for here, given, named in (
        (root / "mine", ["0", "../../far.json"], ["mine/0", "mine/../../far.json"]),
        (tmp_path / "null", ["../far.json"], [f"{tmp_path}/null/../far.json"]),
        (root, ["mine/0"], ["mine/0"]),
    ):
        run = tmp_path / f"of_{here.name}"
        bench("run", *given, *options, run, cwd=here, root=root)
        assert read_header(run)["argv"][1:] == ["run", *named, *options, str(run)]


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
            if case["params"]["batch"] == 70:  # of few outputs all may be exact
                assert check["rel_l2"] > 0
        assert set(case["phases"]) == {"forward", "total", "residual", "host_to_host"}
        assert all(value >= 0 for value in case["phases"]["residual"]["samples"])
        assert case["device"]["name"]
        assert case["on"] == "cpu"


def pytorch_python() -> str | None:
    """Return a Python with PyTorch: $BENCH_PYTHON or that of these tests."""
    python = os.environ.get("BENCH_PYTHON") or sys.executable
    found = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    return python if found.returncode == 0 else None


def test_pytorch_next_to_c(tmp_path: Path) -> None:
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


def test_skips_are_folded_and_tables_follow_their_workload(tmp_path: Path) -> None:
    sweep = write_sweep(
        tmp_path / "five.json",
        "null",
        [{"engine": "null", "variants": ["steady"]}, {"engine": "cuda", "variants": ["*"]}],
        axes={"work_ns": [1, 2, 3, 4, 5]},
    )
    printed = bench("run", sweep, "--out", tmp_path / "run", CUDA_VISIBLE_DEVICES="")
    lines = printed.stderr.splitlines()
    folded = [line for line in lines if line.startswith("skipped ")]
    assert len(folded) == 1, printed.stderr
    assert re.match(r"skipped 5 of 10 cases: no CUDA d", folded[0]), folded
    assert sum(" ok " in line and "ns total" in line for line in lines) == 5, printed.stderr
    assert not [line for line in lines if "] skipped" in line]
    assert printed.stdout == "null: nothing to compare (5 ok)\n\n"
