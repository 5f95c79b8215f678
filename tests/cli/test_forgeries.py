"""Files are data, not word: what was edited in a run is refused, or told."""

import gzip
import json
import random
import re
import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from charts import needs_gnuplot
from project import FIXTURES, bench, make_root, null_sweep, read_header, report_of, write_sweep

Json = dict[str, Any]
N_PASSES = 6
OURS, RIVAL = "mlp_infer/cpu/omp/batch=64", "mlp_infer/pytorch-cpu/eager/batch=64"
RIGHT = {"ok": True, "rel_l2": 1e-7, "max_abs": 1e-7, "tolerance": 1e-5}

# ---- a run that is as it should be ---------------------------------------------------------------


def phase_of(samples: list[float]) -> Json:
    return {
        "clock": "host",
        "unit": "ns",
        "n": len(samples),
        "median": statistics.median(samples),
        "round_starts": [0, len(samples) // 2, len(samples)],
        "samples": samples,
    }


def line_of(case_id: str, number: int, median_ns: float, rng: random.Random) -> Json:
    ours = case_id == OURS
    times = [round(median_ns * rng.gauss(1, 0.003), 1) for _ in range(16)]
    return {
        "schema": 2,
        "pass": number,
        "id": case_id,
        "workload": "mlp_infer",
        "engine": "cpu" if ours else "pytorch",
        "variant": "omp" if ours else "eager",
        "on": "cpu",
        "dtype": "f32",
        "params": {"layers": [4, 5, 1], "batch": 64},
        "techniques": {},
        "status": "ok",
        "trust": "sealed" if ours else "audited",
        "claims": None if ours else {"n": 1, "ratio": 1.01},
        "check": {"before": dict(RIGHT), "after": dict(RIGHT)},
        "phases": {
            name: phase_of([round(ns + k, 1) for ns in times])
            for k, name in enumerate(("total", "host_to_host", "forward"))
        },
        "results": {},
        "device": {"name": "Test CPU"},
    }


def header_of(*engines: Json) -> Json:
    sweep = {
        "schema": 1,
        "name": "made_up",
        "workload": "mlp_infer",
        "axes": {"batch": [64]},
        "contenders": list(engines),
    }
    return {
        "schema": 2,
        "started": "2026-11-27T10:00:00+00:00",
        "finished": "2026-11-27T10:01:00+00:00",
        "seed": 1,
        "sweeps": [{"path": "s.json", "passes": N_PASSES, "text": json.dumps(sweep)}],
        "environment": {"host": {"cpu": "Test CPU", "name": "h"}, "measure": {"mode": "steady"}},
        "passes": [{"pass": n + 1, "host": "h"} for n in range(N_PASSES)],
    }


class MadeUp:
    """A run of two cases: ours, twice as fast, and a rival's."""

    def __init__(self, factor: float = 1, seed: int = 1) -> None:
        rng = random.Random(seed)
        self.header = header_of(
            {"engine": "cpu", "variants": ["omp"]},
            {"engine": "pytorch", "variants": ["eager"], "device": ["cpu"]},
        )
        self.lines = [
            line_of(case_id, number, median_ns * factor, rng)
            for number in range(1, N_PASSES + 1)
            for case_id, median_ns in ((OURS, 1000.0), (RIVAL, 2000.0))
        ]

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        (folder / "run.json").write_text(json.dumps(self.header), encoding="utf-8")
        text = "".join(json.dumps(line) + "\n" for line in self.lines)
        # JSON has no infinity, but numbers that are too large for it.
        text = text.replace("Infinity", "1e999")
        (folder / "cases.jsonl").write_text(text, encoding="utf-8")
        return folder


# ---- edits ---------------------------------------------------------------------------------------


def chosen(run: MadeUp, which: str) -> list[Json]:
    if which == "run":
        return [run.header]
    number = re.search(r"pass (\d+)", which)
    return [
        line
        for line in run.lines
        if (number is None or line["pass"] == int(number[1]))
        and ("ours" not in which or line["id"] == OURS)
        and ("rival" not in which or line["id"] == RIVAL)
    ]


def set_key(part: Json, path: str, value: Any) -> None:
    *folders, name = path.split(".")
    if folders == ["times"]:
        part["phases"][name].update(phase_of(value))
        return
    for folder in folders:
        part = part.setdefault(folder, {})
    part[name] = value


def edit(run: MadeUp, texts: str) -> None:
    for text in texts.split("; "):
        edit_once(run, text)


def edit_once(run: MadeUp, text: str) -> None:
    which, _, what = text.partition(": ")
    lines = chosen(run, which)
    assert lines, text
    key, equals, value = what.partition(" = ")
    for line in lines:
        if equals:
            set_key(line, key, json.loads(value))
        elif what == "removed":
            run.lines.remove(line)
        else:
            (like,) = [
                one
                for one in run.lines
                if one["id"] == line["id"] and f"as pass {one['pass']}" == what
            ]
            line["phases"] = like["phases"]


def forgeries() -> Iterator[Any]:
    text = (FIXTURES / "forgeries.txt").read_text(encoding="utf-8")
    for name, message, edits in re.findall(r"(?m)^== (\w+): (.+)\n((?:(?!== ).+\n)+)", text):
        yield pytest.param(message, edits.splitlines(), id=name)


@pytest.mark.parametrize(("message", "edits"), list(forgeries()))
def test_forgeries_are_refused(message: str, edits: list[str], tmp_path: Path) -> None:
    run = MadeUp()
    for text in edits:
        edit(run, text)
    folder = run.write(tmp_path / "run")
    done = bench("report", folder, "--out", tmp_path / "R.md", expect=2)
    assert f"bench: {folder}/{message}" in done.stderr
    assert not (tmp_path / "R.md").exists()


def test_what_was_not_edited_is_read(tmp_path: Path) -> None:
    report = report_of(MadeUp().write(tmp_path / "run"), out=tmp_path / "R.md")
    assert "**C 1.999× (1.994–2.004)** at batch 64, 1.00 µs " in report
    assert "Unsealed: `run.json` has no digest" in report
    assert "Missing" not in report


@pytest.mark.parametrize("reader", ["compare", "history", "plot", "merge"])
def test_every_reader_refuses(reader: str, tmp_path: Path) -> None:
    base, forged = MadeUp(), MadeUp(0.5, 2)
    edit(forged, "all: check.after.ok = false")
    base.write(tmp_path / "base")
    forged.write(tmp_path / "forged")
    runs = ["forged"] if reader == "plot" else ["base", "forged"]
    arguments = ["out", *runs] if reader == "merge" else runs
    done = bench(reader, *arguments, cwd=tmp_path, expect=2)
    assert '"check.after.ok" is false' in done.stderr


def test_a_run_that_goes_on_may_lack_passes(tmp_path: Path) -> None:
    run = MadeUp()
    run.header["finished"] = None
    edit(run, "pass 6: removed")
    done = bench("report", run.write(tmp_path / "run"), "--out", "-")
    assert "did not finish" in done.stderr


def test_a_failed_pass_is_the_last(tmp_path: Path) -> None:
    run = MadeUp()
    for number in (5, 6):
        edit(run, f"rival pass {number}: removed")
    edit(run, 'rival pass 4: status = "failed"')
    report_of(run.write(tmp_path / "run"), out=tmp_path / "R.md")


def test_few_equal_times_are_chance(tmp_path: Path) -> None:
    """A clock with coarse steps shows the same few values in each pass."""
    run = MadeUp()
    edit(run, "ours: times.host_to_host = [1000, 1010, 1000, 1000, 1010, 1000, 1000, 1000]")
    report_of(run.write(tmp_path / "run"), out=tmp_path / "R.md")


def test_cases_without_a_line_are_named(tmp_path: Path) -> None:
    run = MadeUp()
    edit(run, "rival: removed")
    report = report_of(run.write(tmp_path / "run"), out=tmp_path / "R.md")
    assert f"**Missing**: in the sweeps, without a line (cases: 1): `{RIVAL}`." in report
    left_out = MadeUp()
    left_out.header["left_out"] = ["pytorch"]
    edit(left_out, "rival: removed")
    assert "Missing" not in report_of(left_out.write(tmp_path / "other"), out=tmp_path / "L.md")


# ---- what may be compared ------------------------------------------------------------------------

# Each edit of a candidate that takes half the time, and why it is not compared.
NOT_COMPARABLE = {
    'all: trust = "self-reported"; all: claims = null': "self-reported in CANDIDATE "
    "(--allow trust)",
    'all: results = {"algorithmic": true}': "algorithmic (another algorithm) in CANDIDATE "
    "(--allow algorithm)",
    'all: results = {"dataset": "synthetic"}': "data set: none in BASE, synthetic in CANDIDATE "
    "(--allow dataset)",
    'all: phases.host_to_host.clock = "device"': "clock of host_to_host: host in BASE, device in "
    "CANDIDATE (--allow clock)",
}


def pair(tmp_path: Path, text: str) -> tuple[Path, Path]:
    candidate = MadeUp(0.5, 2)
    edit(candidate, text)
    marked = {line["id"] for line in candidate.lines if line["results"].get("algorithmic")}
    candidate.header["algorithmic"] = sorted(marked)
    return MadeUp().write(tmp_path / "base"), candidate.write(tmp_path / "candidate")


@pytest.mark.parametrize(("text", "reason"), NOT_COMPARABLE.items())
def test_what_a_report_would_not_compare_is_not_compared(
    text: str, reason: str, tmp_path: Path
) -> None:
    base, candidate = pair(tmp_path, text)
    done = bench("compare", base, candidate, "--strict", expect=3)
    assert done.stdout.splitlines()[-1] == "not comparable (2 cases: 2 not comparable)"
    assert done.stdout.count(reason) == 2
    assert "improved" not in done.stdout
    name = re.search(r"--allow (\w+)", reason)
    if name is not None:
        allowed = bench("compare", base, candidate, "--allow", name[1], "--strict")
        assert "2 improved" in allowed.stdout


@pytest.mark.parametrize(("text", "reason"), NOT_COMPARABLE.items())
def test_history_leaves_such_runs_out(text: str, reason: str, tmp_path: Path) -> None:
    base, candidate = pair(tmp_path, text)
    options = ("--phase", "host_to_host", "--json")
    series = json.loads(bench("history", base, candidate, *options).stdout)["series"]
    assert [one["median_ns"][1] for one in series] == [None, None]
    told = reason.replace("BASE", "the runs before").replace("CANDIDATE", "this one")
    told = told.replace("self-reported in this one", "self-reported")
    assert [one["not_comparable"] for one in series] == [[f"candidate: {told}"]] * 2
    table = bench("history", base, candidate, "--phase", "host_to_host").stdout
    assert table.count(f"not comparable: candidate: {told}") == 2


@pytest.mark.parametrize("text", NOT_COMPARABLE)
def test_a_fleet_leaves_such_machines_out(text: str, tmp_path: Path) -> None:
    folders = []
    for i in range(4):
        machine = MadeUp(0.5 if i == 3 else 1, i + 1)
        machine.header["environment"]["host"]["name"] = f"node{i}"
        for facts in machine.header["passes"]:
            facts["host"] = f"node{i}"
        if i == 3:
            edit(machine, text)
            machine.header["algorithmic"] = [OURS, RIVAL] if "algorithmic" in text else []
        folders.append(machine.write(tmp_path / f"node{i}"))
    one_alone = "trust" in text
    done = bench("fleet", *folders, "--phase", "host_to_host", expect=0 if one_alone else 3)
    if one_alone:
        assert f"node3: 2 cases not comparable ({OURS}: " in done.stdout
        assert "faster" not in done.stdout
    else:
        assert NOT_COMPARABLE[text].replace("CANDIDATE", "CANDIDATE") in done.stderr


# ---- digests -------------------------------------------------------------------------------------


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    run = tmp_path / "results" / "run"
    bench("run", null_sweep(tmp_path / "s.json", ["steady"], [1000]), "--out", run, "--quiet")
    bench("report", run, "--out", tmp_path / "R.md")
    return run


def check(run: Path, **options: Any) -> Any:
    return bench("report", "--check", run.parents[1] / "R.md", **options)


def test_a_closed_run_is_sealed(sealed: Path) -> None:
    digest = read_header(sealed)["digest"]
    assert set(digest) == {"lines", "files"}
    assert set(digest["files"]) == {"timings.csv"}
    assert read_header(sealed)["algorithmic"] == []
    assert "unsealed" not in check(sealed).stdout
    assert "Unsealed" not in next(sealed.glob("*.md")).read_text(encoding="utf-8")


def test_a_gzipped_journal_has_the_same_digest(sealed: Path) -> None:
    lines = sealed / "cases.jsonl"
    (sealed / "cases.jsonl.gz").write_bytes(gzip.compress(lines.read_bytes()))
    lines.unlink()
    check(sealed)


def change_lines(run: Path) -> None:
    lines = run / "cases.jsonl"
    text = lines.read_text(encoding="utf-8")
    lines.write_text(text.replace('"warmup_ns":', '"warmup_ns":1'), encoding="utf-8")


def test_edited_lines_are_told(sealed: Path, tmp_path: Path) -> None:
    change_lines(sealed)
    assert (
        f"{sealed}/cases.jsonl: edited after the run was closed" in check(sealed, expect=1).stderr
    )
    for command in (["report", sealed, "--out", "-"], ["history", sealed, sealed]):
        assert "lines were edited after the run was closed" in bench(*command).stderr
    report = report_of(sealed, out=tmp_path / "E.md")
    assert "Files are not those that the run was closed with" in report


def test_what_was_edited_stays_so_when_resumed(sealed: Path, tmp_path: Path) -> None:
    change_lines(sealed)
    command = ["run", tmp_path / "s.json", "--out", sealed, "--resume", "--passes", "2"]
    assert "lines were edited after the run was closed" in bench(*command).stderr
    for _ in range(2):  # also if nothing is left to measure
        assert read_header(sealed)["digest"]["edited"] is True
        assert "lines were edited" in bench("report", sealed, "--out", "-").stderr
        bench(*command)


@pytest.mark.parametrize("edited", [1, 2])
def test_what_was_edited_stays_so_when_merged(edited: int, tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000])
    for i in (1, 2):
        bench("run", sweep, "--shard", f"{i}/2", "--out", tmp_path / f"{i}", "--quiet")
    change_lines(tmp_path / f"{edited}")
    bench("merge", tmp_path / "merged", tmp_path / "1", tmp_path / "2")
    done = bench("report", tmp_path / "merged", "--out", "-")
    assert f"{tmp_path}/merged: lines were edited after the run was closed" in done.stderr


def test_edited_tables_are_told(sealed: Path) -> None:
    table = sealed / "timings.csv"
    table.write_text(table.read_text(encoding="utf-8").replace("steady", "faster"))
    done = check(sealed, expect=1)
    assert f"{sealed}/timings.csv: edited: not what it was" in done.stderr


def test_more_passes_are_sealed_anew(sealed: Path, tmp_path: Path) -> None:
    before = read_header(sealed)["digest"]
    bench("run", tmp_path / "s.json", "--out", sealed, "--resume", "--passes", "2", "--quiet")
    assert read_header(sealed)["digest"] != before
    bench("report", sealed, "--out", tmp_path / "R.md")
    check(sealed)


def test_a_merged_run_has_its_own_seal(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000])
    for i in (1, 2):
        bench("run", sweep, "--shard", f"{i}/2", "--out", tmp_path / f"{i}", "--quiet")
    merged = tmp_path / "results" / "merged"
    bench("merge", merged, tmp_path / "1", tmp_path / "2")
    bench("report", merged, "--out", tmp_path / "R.md")
    assert "unsealed" not in check(merged).stdout


def test_an_unsealed_run_is_said_to_be(sealed: Path, tmp_path: Path) -> None:
    header = read_header(sealed)
    del header["digest"]
    (sealed / "run.json").write_text(json.dumps(header), encoding="utf-8")
    bench("report", sealed, "--out", tmp_path / "R.md")
    assert "1 of its 1 runs is unsealed: run.json has no digest" in check(sealed).stdout


@pytest.fixture
def drawn(tmp_path: Path) -> tuple[Path, Path]:
    """Return a project with a run, its charts and its report, and the run."""
    root = make_root(tmp_path / "project", copy="plots")
    contenders = [{"engine": "cpu", "variants": ["omp", "ref"]}]
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", contenders, axes={"batch": [1, 64]})
    run = root / "results" / "mine"
    bench("run", sweep, "--out", run, "--quiet", root=root)
    bench("plot", run, root=root, cwd=root)
    bench("report", run, "--out", root / "R.md", root=root)
    return root, run


@needs_gnuplot
@pytest.mark.parametrize("end", ["svg", "dat"])
def test_edited_charts_are_told(drawn: tuple[Path, Path], end: str) -> None:
    root, run = drawn
    charts = read_header(run)["digest"]["charts"]
    assert {"host_to_host.svg", "host_to_host.dat"} <= set(charts)
    bench("report", "--check", root / "R.md", root=root)
    bench("plot", run, "--case", OURS, root=root, cwd=root)  # one more, also of this run
    bench("report", run, "--out", root / "R.md", root=root)
    bench("report", "--check", root / "R.md", root=root)
    chart = root / "plots" / "mine" / f"host_to_host.{end}"
    chart.write_text(chart.read_text(encoding="utf-8").replace("64", "65"), encoding="utf-8")
    done = bench("report", "--check", root / "R.md", root=root, expect=1)
    assert (
        f"plots/mine/host_to_host.{end}: edited: not what it was when run.json was written"
        in done.stderr
    )


@needs_gnuplot
def test_a_chart_of_another_run_is_told(drawn: tuple[Path, Path]) -> None:
    root, run = drawn
    charts = root / "plots" / "mine"
    shutil.copy(charts / "host_to_host.svg", charts / "speed.svg")
    bench("report", run, "--out", root / "R.md", root=root)
    done = bench("report", "--check", root / "R.md", root=root, expect=1)
    assert "plots/mine/speed.svg: not of this run: run.json has no digest of it" in done.stderr
    page = (run / "mlp_infer.md").read_text(encoding="utf-8")
    assert "plots/mine/host_to_host.svg)" in page
    assert "plots/mine/speed.svg)" not in page
    assert "Left out: charts in `plots/` that were not drawn from this run as it is (1)." in page


@needs_gnuplot
def test_charts_elsewhere_are_not_the_reports(drawn: tuple[Path, Path], tmp_path: Path) -> None:
    root, run = drawn
    before = read_header(run)
    bench("plot", run, "--out", tmp_path / "charts", "--format", "png", root=root)
    assert read_header(run) == before
