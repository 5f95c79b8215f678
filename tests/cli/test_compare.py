"""`bench compare`: verdicts on pairs of runs with planted differences."""

import copy
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from compare_runs import (
    CPU,
    CUDA,
    OTHER,
    TORCH,
    Run,
    case_of,
    compare,
    refused,
    rerun,
    verdicts,
)
from make_pair import PASSES, renamed
from project import bench


@pytest.fixture
def base(tmp_path: Path) -> Run:
    run = Run(tmp_path / "base")
    run.write()
    return run


# ---- verdicts ------------------------------------------------------------------------------------


def test_same_build_is_unchanged(base: Run) -> None:
    answer = compare(base, rerun(base))
    assert verdicts(answer).keys() <= {"unchanged", "not comparable"}
    assert answer["n_cells"] > 50
    assert answer["headline"].startswith("no regression (")


def test_slower_code_is_explained_by_its_registers(base: Run) -> None:
    candidate = rerun(base)
    resources = candidate.scale(CUDA, 1.2)["resources"]
    resources.update(code_hash="00ff", registers=72, spill_bytes=16)
    answer = compare(base, candidate, expect=1)
    case = case_of(answer, CUDA)
    assert case["verdict"] == "regressed"
    assert "registers 32 → 72" in case["cause"]
    assert "spills 0 → 16 B" in case["cause"]
    assert verdicts(answer)["regressed"] == 1
    assert [cell["phase"] for cell in case["cells"]] == ["host_to_host", "kernel_graph"]
    for cell in case["cells"]:
        low, high = cell["ci95"]
        assert low < 1.2 < high
        assert 1.19 < cell["ratio"] < 1.21
        assert cell["p_slower"] <= 0.01


def test_other_code_is_explained_by_its_compiler_and_flags(base: Run) -> None:
    for case in (CUDA, OTHER):
        base.cases[case]["resources"]["flags"] = ["-std=c++17", "-DBATCH=4"]
    base.write()
    candidate = rerun(base)
    candidate.environment["versions"]["cuda_compiler"] = "NVRTC 14.0 (libnvrtc.so)"
    resources = candidate.scale(CUDA, 1.2)["resources"]
    resources.update(code_hash="00ff", flags=["-std=c++17", "-use_fast_math", "-DBATCH=8"])
    # Runs of older versions have no flags.
    candidate.scale(OTHER, 1.2)["resources"].update(code_hash="00ff", flags=[])
    answer = compare(base, candidate, expect=1)
    assert case_of(answer, CUDA)["cause"] == (
        "code: different instructions, same registers, spills and shared memory; flags differ: "
        "-use_fast_math added, -DBATCH=8 added, -DBATCH=4 removed; different CUDA compiler"
    )
    assert "flags" not in case_of(answer, OTHER)["cause"]


def test_same_code_slower_points_at_the_environment(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CUDA, 1.2)["device"]["sm_mhz"] = [1500, 1510]
    candidate.scale(OTHER, 1.2)
    answer = compare(base, candidate, expect=1)
    assert case_of(answer, CUDA)["cause"] == "same machine code; SM clock 1980 → 1505 MHz"
    assert case_of(answer, OTHER)["cause"].startswith("same machine code; environment: no recorded")


def test_a_slower_host_is_named(base: Run) -> None:
    def give(run: Run, loop_ns: list[int], rate: float) -> None:
        run.header["passes"] = [
            {"pass": 1 + i, "host_loop_ns": loop_ns[i % 3], "host_copy_bytes_per_s": rate}
            for i in range(PASSES)
        ]
        run.write()

    give(base, [8000, 8100, 20000], 1e10)
    cases: list[tuple[list[int], float, str | None]] = [
        ([8100, 8900, 8200], 9.2e9, None),
        ([8100, 11400, 11500], 9.2e9, "a loop on the host takes 8.1 → 11.4 µs"),
        ([8100, 8900, 8200], 2e10, "the host copies 10 → 20 GB/s"),
    ]
    for i, (loops, rate, slower) in enumerate(cases):
        candidate = rerun(base, f"candidate-{i}")
        candidate.scale(CUDA, 1.2)
        give(candidate, loops, rate)
        answer = compare(base, candidate, expect=1)
        same = "environment: no recorded fact differs"
        assert case_of(answer, CUDA)["cause"] == f"same machine code; {slower or same}"
        assert answer["changes"] == ([slower] if slower else [])
        for run in base, candidate:  # in turns, as --against measures them
            run.environment.setdefault("measure", {})["pair"] = "1"
        base.write()
        assert compare(base, candidate, expect=1)["changes"] == []
        del base.environment["measure"]["pair"]
        base.write()


def test_code_without_a_hash_is_explained_by_its_versions(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CPU, 1.2)
    candidate.scale(TORCH, 1.2)
    candidate.environment["git"]["revision"] = "f" * 40
    candidate.environment["versions"]["pytorch"] = "2.12.0"
    candidate.environment["host"]["governor"] = "powersave"
    answer = compare(base, candidate, expect=1)
    assert case_of(answer, CPU)["cause"] == (
        "code may have changed: different revision; the runs differ in host.governor"
    )
    assert case_of(answer, TORCH)["cause"].startswith("code: different PyTorch")
    assert "host.governor: performance → powersave" in answer["changes"]


def cause_after(base: Run, environment: dict[str, Any], case: str = CPU) -> str:
    """Return the cause told of a slower case in a run with these facts, by dotted keys."""
    n_runs = len(list(base.folder.parent.iterdir()))
    candidate = rerun(base, f"candidate-{n_runs}")
    candidate.scale(case, 1.2)
    for key, value in environment.items():
        *parts, last = key.split("/")
        facts = candidate.environment
        for part in parts:
            facts = facts.setdefault(part, {})
        facts[last] = value
    return case_of(compare(base, candidate, expect=1), case)["cause"]


def test_conditions_that_differ_are_the_cause(base: Run) -> None:
    base.environment["workers"] = {"cpu": {"openmp_threads": 16}, "cpu-oracle": {"a": "1"}}
    base.environment["git"] |= {"revision": "a" * 12, "dirty": True, "changes": "1"}
    base.environment["git"]["folder"] = copy.deepcopy(base.environment["git"])
    base.environment["host"]["cpus"] = "0-1"
    base.environment["operators"] = {"mlp_infer": "a"}
    base.write()
    for key, value in (
        ("workers/cpu/openmp_threads", 1),
        ("measure/quick", True),
        ("host/cpus", "0"),
        ("host/cores", 3),
        ("host/a fact of a later version", "a"),
    ):
        said = cause_after(base, {key: value})
        expected = "same revision, and the same uncommitted changes; the runs differ in "
        assert said == expected + key.replace("/", ".")
    for key in "workers/cpu-oracle/a", "workers/pytorch-cuda/threads", "measured/x":
        assert "differ" not in cause_after(base, {key: "2"})
    for key in "git/changes", "git/folder/changes":
        said = cause_after(base, {key: "2"})
        assert said == "code may have changed: different uncommitted changes"
    said = cause_after(base, {"git/folder/revision": "b" * 12})
    assert said == "code may have changed: different revision"
    said = cause_after(base, {"operators/mlp_infer": "b"})
    assert said == "code may have changed: different files of the workload"


def test_a_busy_machine_is_the_cause(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CPU, 1.2)
    base.cases[CPU]["cpu_taken_frac"] = 0.01
    base.write()
    candidate.cases[CPU]["cpu_taken_frac"] = 0.48
    said = case_of(compare(base, candidate, expect=1), CPU)["cause"]
    assert said.endswith("; other programs took 1 → 48 % of its CPU time")


def test_uncommitted_changes_of_an_older_run_may_be_others(base: Run) -> None:
    base.environment["git"] = {"revision": "a" * 12, "dirty": True}
    base.write()
    assert cause_after(base, {}) == "code may have changed: uncommitted changes"


def test_versions_of_a_worker_concern_its_cases(base: Run) -> None:
    base.environment["workers"] = {"pytorch-cuda": {"torch": "2.11.0", "triton": "3.6"}}
    base.environment["versions"]["pytorch"] = "2.11.0"
    base.write()
    news = {"versions/pytorch": "2.12", "workers/pytorch-cuda/torch": "2.12"}
    news["workers/pytorch-cuda/triton"] = "3.7"
    said = cause_after(base, news, TORCH)
    assert said == "code: different PyTorch; the runs differ in workers.pytorch-cuda.triton"
    assert "differ" not in cause_after(base, news, CPU)


def test_any_rival_is_explained_by_its_version(base: Run) -> None:
    jax = TORCH.replace("pytorch", "jax")
    base.cases[jax] = {**copy.deepcopy(base.cases[TORCH]), "id": jax, "engine": "jax"}
    base.environment["workers"] = {"jax-cpu": {"jax": "0.10.0"}, "jax-cuda": {"jax": "0.10.0"}}
    base.write()
    candidate = rerun(base)
    candidate.scale(jax, 1.2)
    candidate.environment["versions"]["compiler"] = "another"
    candidate.environment["workers"] = {"jax-cpu": {"jax": "0.11"}, "jax-cuda": {"jax": "0.11"}}
    assert case_of(compare(base, candidate, expect=1), jax)["cause"].startswith(
        "code: different JAX"
    )


def test_faster_missing_new_and_broken(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CUDA, 0.8)
    del candidate.cases[OTHER]
    new = renamed(candidate.cases[CPU], variant="new")
    candidate.cases[new["id"]] = new
    candidate.cases[TORCH].update(status="wrong", reason="relative L2 error 0.3", phases={})
    answer = compare(base, candidate, expect=1)
    assert case_of(answer, CUDA)["verdict"] == "improved"
    assert case_of(answer, OTHER)["verdict"] == "missing"
    assert case_of(answer, new["id"])["verdict"] == "new"
    assert case_of(answer, TORCH)["verdict"] == "broken"
    assert case_of(answer, TORCH)["reason"] == "wrong in CANDIDATE: relative L2 error 0.3"
    assert answer["headline"].startswith("BROKEN (")


def test_only_improvements_exit_with_0(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CUDA, 0.8)
    assert verdicts(compare(base, candidate))["improved"] == 1


def without_throttled(base: Run) -> None:
    base.cases = {key: case for key, case in base.cases.items() if case["status"] != "throttled"}
    base.write()


def test_strict_requires_a_decision(base: Run) -> None:
    without_throttled(base)
    candidate = rerun(base)
    candidate.noise(3, noise=0.2)
    assert verdicts(compare(base, candidate))["undecided"] > 0
    compare(base, candidate, "--strict", expect=4)
    complete = rerun(base, "complete")
    compare(base, complete, "--strict")
    del complete.cases[CUDA]
    assert verdicts(compare(base, complete))["missing"] == 1
    compare(base, complete, "--strict", expect=4)


def test_incomparable_cases_are_undecided(base: Run) -> None:
    without_throttled(base)
    candidate = rerun(base)
    candidate.cases[CUDA]["status"] = "throttled"
    compare(base, candidate)
    compare(base, candidate, "--strict", expect=4)
    skipped = rerun(base, "skipped")
    for run in (base, skipped):
        run.cases[CUDA].update(status="skipped", reason="no such GPU", phases={})
    base.write()
    compare(base, skipped, "--strict")


def test_broken_cases_are_reported_with_any_other_difference(base: Run) -> None:
    candidate = rerun(base)
    candidate.cases[CUDA].update(status="failed", reason="crashed", dtype="f16", phases={})
    answer = compare(base, candidate, expect=1)
    assert case_of(answer, CUDA)["verdict"] == "broken"


def test_one_late_sample_hides_no_slowdown(base: Run) -> None:
    candidate = rerun(base)
    for run, time_ns in ((base, 2048), (candidate, 2048 * 1.1)):
        samples = run.cases[CUDA]["phases"]["kernel_graph"]["samples"]
        samples[:] = [time_ns] * (len(samples) - 1) + [2 * time_ns]
    base.write()
    assert case_of(compare(base, candidate, expect=1), CUDA)["verdict"] == "regressed"


@pytest.mark.parametrize("passes", [1, 4])
def test_few_passes_decide_nothing_without_floors(base: Run, passes: int) -> None:
    candidate = rerun(base)
    candidate.scale(CUDA, 2)
    candidate.passes = passes
    answer = compare(base, candidate)
    case = case_of(answer, CUDA)
    assert answer["passes"] == [6, passes]
    assert set(verdicts(answer)) == {"undecided", "not comparable"}
    assert case["cells"][0]["ci95"] == [None, None]
    assert case["reason"].startswith(f"6 and {passes} passes: the spread between processes is unk")


def test_few_passes_stay_undecided_with_floors(base: Run) -> None:
    base.passes = 1
    base.write()
    candidate, again = rerun(base), rerun(base, "again", 3)
    again.write()
    candidate.scale(CUDA, 1.2)
    answer = compare(base, candidate, "--floor", again.folder)
    assert "regressed" not in verdicts(answer)
    assert verdicts(answer)["undecided"] > 0
    printed = bench("compare", base.folder, candidate.folder, "--floor", again.folder)
    assert "the spread between processes is unknown" in printed.stdout
    assert "at most 1 %" not in printed.stdout


def two_values(run: Run, case_id: str, low: float, high: float, slow: int) -> None:
    """Make three rounds of four, or one, take `high` in each pass of a phase of 48 rounds."""
    phase = run.cases[case_id]["phases"]["kernel_graph"]
    values = [high if i % 4 < slow else low for i in range(48)]
    samples = [value + (4 * k + i) / 1000 for k, value in enumerate(values) for i in range(4)]
    phase.update(samples=samples, round_starts=list(range(0, len(samples) + 1, 4)), n=len(samples))


@pytest.mark.parametrize(("factor", "verdict"), [(1, "undecided"), (3, "regressed")])
def test_no_verdict_hangs_on_which_of_two_values_came_up(
    base: Run, factor: float, verdict: str
) -> None:
    candidate = rerun(base)
    two_values(base, CUDA, 960, 1700, 1)
    two_values(candidate, CUDA, 960 * factor, 1700 * factor, 3)
    base.write()
    answer = compare(base, candidate, "--phase", "kernel_graph", expect=int(factor > 1))
    case = case_of(answer, CUDA)
    assert case["verdict"] == verdict
    if factor == 1:
        assert case["reason"] == "bimodal in BASE: 960 ns, or 1.70 µs in 25 % of the rounds"


def test_threshold(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CUDA, 1.04)
    assert "regressed" not in verdicts(compare(base, candidate))
    answer = compare(base, candidate, "--threshold", "2%", expect=1)
    assert case_of(answer, CUDA)["verdict"] == "regressed"
    assert compare(base, candidate, "--threshold", "0.1")["threshold_frac"] == 0.1


def test_phases_can_be_chosen(base: Run) -> None:
    candidate = rerun(base)
    cell = candidate.cases[CUDA]["phases"]["h2d"]
    cell["samples"] = [2 * value for value in cell["samples"]]
    assert "regressed" not in verdicts(compare(base, candidate))
    answer = compare(base, candidate, "--phase", "h2d", expect=1)
    assert [cell["phase"] for cell in case_of(answer, CUDA)["cells"]] == ["h2d"]
    everything = case_of(compare(base, candidate, "--phase", "all", expect=1), CUDA)
    assert {cell["phase"] for cell in everything["cells"]} >= {"malloc", "h2d", "total"}
    nowhere = bench("compare", base.folder, candidate.folder, "--phase", "nowhere", expect=3)
    assert "have nothing to compare in nowhere" in nowhere.stderr


def noisy(run: Run, case_id: str, name: str) -> None:
    phase = run.cases[case_id]["phases"][name]
    phase["samples"] = [
        value * (1 + 0.3 * (i * PASSES // len(phase["samples"]) % 2))
        for i, value in enumerate(phase["samples"])
    ]


def test_a_case_is_decided_by_the_phases_that_are(base: Run) -> None:
    without_throttled(base)
    candidate = rerun(base)
    for run in (base, candidate):
        noisy(run, CUDA, "host_to_host")
    base.write()
    answer = compare(base, candidate)
    case = case_of(answer, CUDA)
    assert [cell["verdict"] for cell in case["cells"]] == ["undecided", "unchanged"]
    assert case["verdict"] == "unchanged"
    assert case["reason"].startswith("host_to_host undecided: ")
    assert case["reason"].endswith(" more passes a side would decide")
    assert answer["headline"].startswith("no regression found, some undecided (")
    compare(base, candidate, "--strict", expect=4)
    phase = candidate.cases[CUDA]["phases"]["kernel_graph"]
    phase["samples"] = [1.2 * value for value in phase["samples"]]
    case = case_of(compare(base, candidate, expect=1), CUDA)
    assert (case["verdict"], case["cause"][:17]) == ("regressed", "same machine code")
    printed = bench("compare", base.folder, candidate.folder, expect=1).stdout
    assert "same machine code; environment: no recorded fact differs; host_to_host undec" in printed


def test_others_code_differs_more_from_start_to_start(base: Run) -> None:
    candidate = rerun(base)
    for case in (CUDA, TORCH, CPU):
        candidate.scale(case, 1.1)
    answer = compare(base, candidate, expect=1)
    assert case_of(answer, CUDA)["verdict"] == "regressed"
    for case in (TORCH, CPU):
        assert case_of(answer, case)["verdict"] == "undecided"
        assert case_of(answer, case)["reason"].endswith("measure in turns (--against)")
    for run in (base, candidate):
        run.environment["measure"] = {"mode": "steady", "pair": "a1b2"}
    base.write()
    assert verdicts(compare(base, candidate, expect=1))["regressed"] == 3


# ---- all cells of an engine and phase ------------------------------------------------------------


def all_slower(run: Run, factor: float) -> Run:
    for case in run.cases:
        run.scale(case, factor)
    return run


def test_slowdown_of_all_fails_though_no_case_does(base: Run, tmp_path: Path) -> None:
    candidate = all_slower(rerun(base), 1.03)
    files = [tmp_path / "x.md", tmp_path / "x.xml"]
    answer = compare(base, candidate, "--markdown", files[0], "--junit", files[1], expect=1)
    assert answer["counts"]["regressed"] == 0
    groups = {(group["engine"], group["phase"]): group for group in answer["groups"]}
    kernels = groups["cuda", "kernel_graph"]
    assert kernels["verdict"] == "regressed"
    assert kernels["threshold_frac"] == pytest.approx(0.01)
    assert kernels["n_moved"] == kernels["n_cells"] > 10
    assert 0.01 < kernels["detectable_frac"] < 0.03 < kernels["cell_detectable_frac"] < 0.1
    text = files[0].read_text(encoding="utf-8")
    assert re.search(r"^### bench compare: REGRESSED: cuda \S+ slower by 3\.0 % \(", text)
    assert re.search(r"^\| cuda kernel\S+ +\| +\d+ \| +\+3\.0 % .* \| regressed +\|", text, re.M)
    suite = ElementTree.parse(files[1]).getroot()
    failed = [
        case.get("name") for case in suite.findall("testcase") if case.find("failure") is not None
    ]
    assert "cuda kernel_graph" in failed
    assert int(suite.get("failures", "")) == len(failed)
    assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
    printed = bench("compare", base.folder, candidate.folder, expect=1).stdout
    assert re.search(r"^cuda kernel_graph +\d+ +\+3\.0 % \(.*\) +regressed +\d", printed, re.M)


def test_floors_of_all_cells(base: Run) -> None:
    again = all_slower(rerun(base, "again", 3), 1.04)
    again.write()
    candidate = all_slower(rerun(base), 1.03)
    options = ("--floor", again.folder, "--save-floor")
    answer = compare(base, candidate, *options)
    (floor,) = {
        group["threshold_frac"]
        for group in answer["groups"]
        if (group["engine"], group["phase"]) == ("cuda", "kernel_graph")
    }
    assert 0.04 < floor < 0.05
    saved = json.loads((base.folder / "floor.json").read_text(encoding="utf-8"))
    assert saved["groups"]["cuda"]["kernel_graph"] == pytest.approx(floor, rel=1e-4)
    compare(base, candidate)
    del saved["groups"]  # of an older version
    (base.folder / "floor.json").write_text(json.dumps(saved), encoding="utf-8")
    assert compare(base, candidate, expect=1)["counts"]["regressed"] == 0


# ---- noise floors --------------------------------------------------------------------------------


def restless(base: Run, name: str, seed: int, factor: float) -> Run:
    run = rerun(base, name, seed)
    run.scale(CUDA, factor)
    run.write()
    return run


def test_floors_of_a_noisy_cell(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CUDA, 1.1)
    candidate.scale(OTHER, 1.1)
    assert verdicts(compare(base, candidate, expect=1))["regressed"] == 2
    others = [restless(base, f"again{i}", 10 + i, factor) for i, factor in enumerate((1.12, 0.97))]
    floors: list[str | Path] = []
    for other in others:
        floors += ["--floor", other.folder]
    answer = compare(base, candidate, *floors, expect=1)
    assert answer["n_floor_runs"] == 3
    cell = case_of(answer, CUDA)["cells"][0]
    assert 0.14 < cell["floor_frac"] < 0.18
    assert cell["threshold_frac"] == cell["floor_frac"]
    assert case_of(answer, CUDA)["verdict"] == "unchanged"
    quiet = case_of(answer, OTHER)["cells"][0]
    assert (quiet["verdict"], quiet["threshold_frac"]) == ("regressed", 0.05)
    assert not (base.folder / "floor.json").exists()

    kept = compare(base, candidate, *floors, "--save-floor", expect=1)
    assert kept["cases"] == answer["cases"]
    again = compare(base, candidate, expect=1)
    assert again["n_floor_runs"] == 3
    assert case_of(again, CUDA)["verdict"] == "unchanged"


def test_floors_come_from_the_same_build(base: Run) -> None:
    other = rerun(base, "other")
    other.environment["git"]["revision"] = "e" * 40
    other.write()
    message = refused(base, rerun(base), "--floor", other.folder)
    assert "noise floors need runs of one build" in message
    assert "--save-floor needs --floor" in refused(base, rerun(base, "c"), "--save-floor", expect=2)
    candidate = rerun(base, "d")
    for folder, name in ((base.folder, "BASE"), (candidate.folder / "." / "", "CANDIDATE")):
        message = refused(base, candidate, "--floor", folder, expect=2)
        assert f"expected a run other than {name}" in message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "floor.json: line 1: not JSON"),
        ('{"schema": 2}', "key 'schema': found 2, expected 1"),
        ('{"schema": 1, "runs": 1, "floors": {}}', "'runs' (at least 2)"),
        ('{"schema": 1, "runs": 3, "floors": {"a": 1}}', "floors.a: expected an object"),
        ('{"schema": 1, "runs": 3, "floors": {"a": {"b": -1}}}', "floors.a.b: expected a fraction"),
        ('{"schema": 1, "runs": 3, "floors": {}, "groups": 1}', "'groups': expected an object"),
        ('{"schema": 1, "runs": 3, "floors": {}, "groups": {"a": 1}}', "groups.a: expected an obj"),
    ],
)
def test_broken_floor_files_are_errors(base: Run, text: str, message: str) -> None:
    (base.folder / "floor.json").write_text(text, encoding="utf-8")
    assert message in refused(base, rerun(base), expect=2)


def test_rounds_taken_in_turns_share_their_drift(base: Run) -> None:
    def drift(run: Run) -> None:
        for case in run.cases.values():
            for phase in case["phases"].values():
                a_round = len(phase["samples"]) / (len(phase["round_starts"]) - 1)
                phase["samples"] = [
                    value * (1 + 0.04 * (i // a_round)) for i, value in enumerate(phase["samples"])
                ]

    candidate = rerun(base)
    drift(base)
    drift(candidate)
    base.write()
    apart = compare(base, candidate)
    assert verdicts(apart)["undecided"] > 20
    for run in (base, candidate):
        run.environment["measure"] = {"mode": "steady", "pair": "a1b2"}
    base.write()
    together = compare(base, candidate)
    assert together["paired"]
    assert "undecided" not in verdicts(together)


@pytest.mark.parametrize(
    ("code_hash", "verdict"), [(None, "unchanged"), ("00ff", "regressed")], ids=["same", "other"]
)
def test_floor_is_of_one_program(code_hash: str | None, verdict: str, base: Run) -> None:
    """Differences between different code are not noise and do not raise the floor."""
    other = rerun(base, "other", 3)
    resources = other.scale(CUDA, 1.3)["resources"]
    resources["code_hash"] = code_hash or resources["code_hash"]
    other.write()
    candidate = rerun(base)
    candidate.scale(CUDA, 1.1)
    answer = compare(base, candidate, "--floor", other.folder, expect=int(verdict == "regressed"))
    case = case_of(answer, CUDA)
    assert case["verdict"] == verdict
    for cell in case["cells"]:
        assert ((cell["floor_frac"] or 0) > 0.2) == (code_hash is None)


# ---- what cannot be compared ----------------------------------------------------------------------


def test_other_machines_are_refused(base: Run) -> None:
    candidate = rerun(base)
    candidate.environment["gpu"]["ecc"] = False
    message = refused(base, candidate)
    assert "ecc: " in message
    assert "To compare them anyway: --allow ecc" in message
    answer = compare(base, candidate, "--allow", "ecc")
    assert len(answer["allowed"]) == 1
    assert answer["allowed"][0].startswith("ecc: ")


def test_other_modes_schemas_and_engines_are_refused(base: Run) -> None:
    cold = rerun(base, "cold")
    cold.environment["measure"] = {"mode": "cold"}
    assert "mode: steady in BASE, cold in CANDIDATE" in refused(base, cold)
    later = rerun(base, "later")
    later.header["schema"] = 3
    assert "schema 3, expected 1 to 2" in refused(base, later)
    earlier = rerun(base, "earlier")
    earlier.header["schema"] = earlier.passes = 1
    assert "schema 2 (one pass) in one, 1 in the other" in refused(base, earlier)
    engine = rerun(base, "engine")
    engine.cases = {
        name: dict(case, id=name.replace("/cpu/", "/null/"), engine="null")
        for name, case in engine.cases.items()
        if case["engine"] == "cpu"
    }
    assert "no engine is in both (cuda in BASE, null in CANDIDATE)" in refused(base, engine)


def test_a_different_case_with_the_same_id_is_not_compared(base: Run) -> None:
    candidate = rerun(base)
    candidate.scale(CUDA, 2)["dtype"] = "f16"
    candidate.scale(OTHER, 2)["params"]["layers"] = [4, 6, 1]
    answer = compare(base, candidate)
    assert case_of(answer, CUDA)["reason"] == "different dtype under the same id (--allow dtype)"
    assert case_of(answer, OTHER)["reason"].startswith("different set of params")
    allowed = compare(base, candidate, "--allow", "dtype", "--allow", "params", expect=1)
    assert verdicts(allowed)["regressed"] == 2


def test_throttled_and_twice_broken_cases_are_not_compared(base: Run) -> None:
    candidate = rerun(base)
    candidate.cases[CUDA]["status"] = "throttled"
    for run in (base, candidate):
        run.cases[OTHER].update(status="failed", reason="crashed")
    base.write()
    answer = compare(base, candidate)
    assert case_of(answer, CUDA)["verdict"] == "not comparable"
    assert case_of(answer, OTHER)["reason"].startswith("failed in CANDIDATE, and broken in BASE")


def test_mistakes_are_reported(base: Run) -> None:
    candidate = rerun(base)
    assert 'did you mean "driver"?' in refused(base, candidate, "--allow", "drivr", expect=2)
    assert "--threshold" in refused(base, candidate, "--threshold", "much", expect=2)
    assert "two run folders" in bench("compare", base.folder, expect=2).stderr
    missing = bench("compare", base.folder, base.folder / "nowhere", expect=2)
    assert "nowhere/run.json" in missing.stderr
