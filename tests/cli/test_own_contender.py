"""A user's contender next to the project's; commands that need only the files of a finished run."""

import json
import re
import shutil
import stat
import sys
from pathlib import Path

import pytest
from project import (
    FIXTURES,
    QUICK_MEASURE,
    bench,
    make_root,
    null_sweep,
    own_worker,
    read_cases,
    read_header,
    read_lines,
    report_of,
    write_sweep,
)

OMP = {"engine": "cpu", "variants": ["omp"]}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run with a user's contender."""
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


def test_own_contender_that_is_wrong_or_fails(own: Path) -> None:
    cases = read_cases(own)
    for batch in (4, 7):
        wrong = cases[f"mlp_infer/mine-cpu/wrong/batch={batch}"]
        assert wrong["status"] == "wrong"
        assert "differs from the reference output" in wrong["reason"]
        assert not any(phase["samples"] for phase in wrong["phases"].values())
        breaks = cases[f"mlp_infer/mine-cpu/breaks/batch={batch}"]
        assert breaks["status"] == "failed"
        assert "ZeroDivisionError: it breaks, as its name says" in breaks["reason"]
        nowhere = cases[f"mlp_infer/mine-cuda/plain/batch={batch}"]
        assert (nowhere["status"], nowhere["reason"]) == (
            "skipped",
            "plain Python runs on the CPU only",
        )


# ---- one that ends before hello ----------------------------------------------------------------

DECLINES = 'import sys; input(); print(\'{"status":"skipped","reason":"needs a licence"}\')'
STARTS = {
    "declines": (DECLINES, "skipped", "needs a licence"),
    "dies": ("import no_such_module", "failed", "No module named 'no_such_module'"),
    "leaves": ("", "failed", "worker mine-cpu died (exit code 0)"),
    "babbles": ("print('Loading: 100 %', flush=True); input()", "failed", "Loading: 100 %"),
}


@pytest.mark.parametrize("how", STARTS)
def test_own_contender_that_does_not_start(how: str, tmp_path: Path) -> None:
    """A worker that reports what is missing is skipped; one that crashes has failed."""
    script, status, reason = STARTS[how]
    root = make_root(tmp_path / "project")
    own_worker(root, script)
    mine = {"engine": "mine", "variants": ["plain"], "device": ["cpu"]}
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [mine, OMP], axes={"batch": [1, 2]})
    run, code = tmp_path / "run", int(status == "failed")
    bench("run", sweep, "--out", run, root=root, expect=code, BENCH_PYTHON=sys.executable)
    for case in read_cases(run).values():
        assert case["status"] == (status if case["engine"] == "mine" else "ok")
        assert case["engine"] != "mine" or reason in case["reason"]


@pytest.mark.parametrize("how", STARTS)
def test_own_contender_that_does_not_start_in_either_build(how: str, tmp_path: Path) -> None:
    script, status, reason = STARTS[how]
    root = make_root(tmp_path / "project")
    own_worker(root, script)
    mine = {"engine": "mine", "variants": ["plain"], "device": ["cpu"]}
    # The other sweep gives the builds something to compare.
    sweeps = [
        null_sweep(tmp_path / "null.json", ["steady"], [1000]),
        write_sweep(tmp_path / "s.json", "mlp_infer", [mine]),
    ]
    run, code = tmp_path / "run", int(status == "failed")
    given = ["--out", run, "--against", "self"]
    bench("run", *sweeps, *given, root=root, expect=code, BENCH_PYTHON=sys.executable)
    for side in (run, run / "against"):
        (case,) = (case for case in read_lines(side) if case["engine"] == "mine")
        assert case["status"] == status
        assert reason in case["reason"]


# ---- readers of results -----------------------------------------------------------------------


def test_report_and_charts_need_no_worker(own: Path, tmp_path: Path) -> None:
    """Only with the files of a finished run: no compiler, Python, kernels or sweeps."""
    root = tmp_path / "elsewhere"
    for name in ("kernels", "sweeps", "bin"):
        (root / name).mkdir(parents=True)
    (root / "plots").symlink_to(FIXTURES.parents[1] / "plots")
    run = root / "run"
    shutil.copytree(own, run)
    journal = run / "cases.jsonl"  # an audit on a busy machine may have failed
    agreed = {"trust": "audited", "claims": {"n": 1, "ratio": 1.0}}
    lines = [{**case, **(agreed if case["claims"] else {})} for case in read_lines(own)]
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for path in run.iterdir():
        path.chmod(stat.S_IRUSR)
    gnuplot = shutil.which("gnuplot")
    if gnuplot is not None:
        (root / "bin" / "gnuplot").symlink_to(gnuplot)
    nothing = {"PATH": str(root / "bin"), "BENCH_PYTHON": "", "BENCH_NVRTC": "/no/such/library"}
    report = report_of(run, out=tmp_path / "REPORT.md", root=root, **nothing)
    assert "mine-cpu plain" in report
    assert "differs from the reference output" in report
    assert re.search(r"\*\*C ≈ \S+×\*\* at batch 7, .* \(C \w+\) against .* \(mine plain\)", report)
    if gnuplot is None:
        pytest.skip("gnuplot is not installed")
    drawn = bench("plot", run, "--out", tmp_path / "charts", root=root, **nothing)
    assert "total.svg" in drawn.stdout
    assert (tmp_path / "charts" / "total.svg").stat().st_size > 1000


def test_derived_files_are_functions_of_the_journal(own: Path, tmp_path: Path) -> None:
    """Merging a single run must not change it."""
    bench("merge", tmp_path / "again", own, root=own.parent / "project")
    assert read_cases(tmp_path / "again") == read_cases(own)
    assert (tmp_path / "again" / "timings.csv").read_bytes() == (own / "timings.csv").read_bytes()


# ---- the end of a run ---------------------------------------------------------------------------

MINE = (FIXTURES / "workers" / "mine.py").read_text(encoding="utf-8")
NO_VERSION = 'versions: that of mine is unknown: its answer to hello has no "versions": {"mine": …}'


def end_of_run(folder: Path, script: str, sweep: Path) -> list[str]:
    """Return what `bench run` says of trust and versions."""
    root = make_root(folder / "project")
    own_worker(root, script)
    done = bench("run", sweep, "--out", folder / "run", root=root, BENCH_PYTHON=sys.executable)
    return [line for line in done.stderr.splitlines() if line.startswith(("trust:", "versions:"))]


def test_end_of_a_run_names_what_is_self_reported(tmp_path: Path) -> None:
    refuses = 'if op == "audit":\n        return {"status": "failed", "reason": "no audit"}'
    script = MINE.replace('if op == "audit":', refuses)
    mine = {"engine": "mine", "variants": ["plain"], "device": ["cpu"]}
    batches = list(range(1, 7))  # enough for tables
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", [mine], axes={"batch": batches})
    assert end_of_run(tmp_path, script, sweep) == [
        "trust: 6 self-reported (mine-cpu plain; docs/cheating.md#trust)",
        NO_VERSION,
    ]


def test_end_of_a_run_says_nothing_of_sealed_cases_alone(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], list(range(1, 7)))
    assert end_of_run(tmp_path, MINE, sweep) == []


# ---- what is checked ------------------------------------------------------------------------------


def test_what_one_checked_phase_computed_is_of_no_use_to_the_next(tmp_path: Path) -> None:
    """Both are checked on the reference's inputs; others come between them, in one round, too."""
    names = '{"forward": times, "total": times, "host_to_host": times}'
    script = MINE
    for before, after in {
        '"open_keys": ["inputs"],': '"open_keys": ["inputs"], "request_keys": ["phase"],',
        f"return {names}": f"phase = request.get('phase')\n"
        f"        return {{phase: times}} if phase else {names}",
        "        reply = {": f"        open({str(tmp_path / 'log')!r}, 'a').write(line)\n"
        "        reply = {",
    }.items():
        assert before in script
        script = script.replace(before, after)
    mine = {"engine": "mine", "variants": ["plain"], "device": ["cpu"]}
    batches = list(range(1, 25))  # for each the two are in one round every second time
    measure = {**QUICK_MEASURE, "min_rounds": 1}
    sweep = write_sweep(
        tmp_path / "s.json", "mlp_infer", [mine], axes={"batch": batches}, measure=measure
    )
    root = make_root(tmp_path / "project")
    own_worker(root, script)
    run = tmp_path / "run"  # its verdicts are of no interest
    bench("run", sweep, "--out", run, root=root, expect=None, BENCH_PYTHON=sys.executable)
    log = [json.loads(line) for line in (tmp_path / "log").read_text("utf-8").splitlines()]
    for batch in batches:
        case = f"mlp_infer/mine-cpu/plain/batch={batch}"
        seeds = [
            (request["op"], request.get("fresh", request.get("seed")))
            for request in log
            if request.get("id") == case
            and ("fresh" in request or request["op"] in ("refill", "last"))
        ]
        checked = [i for i, (op, _) in enumerate(seeds) if op == "last"]
        assert len(checked) == 2
        first, second = (seeds[i - 1][1] for i in checked)
        assert first == second > 0
        assert {seed for _, seed in seeds[checked[0] + 1 : checked[1] - 1]} - {first}
