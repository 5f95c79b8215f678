"""Reports of several boots: separate starts of machines of one kind."""

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from project import FIXTURES, bench, rename_gpu, report_of

SIX_PASSES = FIXTURES / "report" / "gpu"


def another_boot(
    folder: Path, change: Callable[[dict[str, Any]], None], first: Path = SIX_PASSES
) -> Path:
    folder.mkdir()
    packed = (first / "cases.jsonl.gz").read_bytes()
    (folder / "cases.jsonl.gz").write_bytes(packed)
    header = json.loads((first / "run.json").read_text("utf-8"))
    change(header)
    (folder / "run.json").write_text(json.dumps(header), "utf-8")
    return folder


def test_boots_are_runs_of_the_same_sweeps(tmp_path: Path) -> None:
    boot = another_boot(tmp_path / "boot", lambda _: None)
    table = bench("report", SIX_PASSES, boot, boot, "--print", "headline").stdout
    assert "over 3 boots" in table
    assert "saved" in bench("report", SIX_PASSES, "--print", "headline").stdout

    def other_sweep(header: dict[str, Any]) -> None:
        header["sweeps"][0]["text"] += " "

    other = another_boot(tmp_path / "other", other_sweep)
    table = bench("report", SIX_PASSES, other, "--print", "headline").stdout
    assert "boots" not in table


def test_a_copy_is_no_boot(tmp_path: Path) -> None:
    """Nothing would move from one to the other."""

    def timed(name: str, worker_ns: int) -> Path:
        """Return a boot with what a worker took for each case, which this old run lacks."""
        boot = another_boot(tmp_path / name, lambda _: None)
        lines = [json.loads(line) for line in lines_of(boot)]
        text = "".join(f"{json.dumps(line | {'worker_ns': worker_ns})}\n" for line in lines)
        (boot / "cases.jsonl.gz").write_bytes(gzip.compress(text.encode()))
        return boot

    boot, other, copy = timed("boot", 5), timed("other", 6), timed("copy", 5)
    assert "over 3 boots" in bench("report", SIX_PASSES, boot, other, "--print", "headline").stdout
    for runs in (SIX_PASSES, boot, other, copy), (boot, boot):
        told = bench("report", *runs, "--print", "headline", expect=2).stderr
        assert f"{boot} and {runs[-1]} are the same run" in told


def test_the_headline_names_each_kind_of_machine(tmp_path: Path) -> None:
    other = another_boot(tmp_path / "other", lambda _: None)
    rename_gpu(other, "Another GPU")
    table = bench("report", SIX_PASSES, other, "--print", "headline").stdout
    titles = [line for line in table.splitlines() if "saved " in line]
    assert len(titles) == 2, table
    assert "Another GPU, saved" in titles[1]


def without_the_last_case(run: Path) -> Path:
    last = json.loads(lines_of(run)[-1])["id"]
    return with_cases(run, lambda case: case != last)


def lines_of(run: Path) -> list[str]:
    packed = (run / "cases.jsonl.gz").read_bytes()
    return gzip.decompress(packed).decode().splitlines(keepends=True)


def with_cases(run: Path, chosen: Callable[[str], bool]) -> Path:
    kept = "".join(line for line in lines_of(run) if chosen(json.loads(line)["id"]))
    (run / "cases.jsonl.gz").write_bytes(gzip.compress(kept.encode()))
    return run


def test_a_boot_of_some_of_the_cases(tmp_path: Path) -> None:
    def other_sweep(header: dict[str, Any]) -> None:
        header["sweeps"][0]["text"] += " "

    some = without_the_last_case(another_boot(tmp_path / "some", other_sweep))
    for runs in (SIX_PASSES, some), (some, SIX_PASSES):
        assert "over 2 boots" in bench("report", *runs, "--print", "headline").stdout

    def newer(header: dict[str, Any]) -> None:
        other_sweep(header)
        header["environment"]["gpu"]["driver"] = "590.1"

    other = without_the_last_case(another_boot(tmp_path / "other", newer))
    assert "boots" not in bench("report", SIX_PASSES, other, "--print", "headline").stdout


def test_a_boot_of_several_runs(tmp_path: Path) -> None:
    def run_of(name: str, chosen: Callable[[str], bool]) -> Path:
        def other_sweep(header: dict[str, Any]) -> None:
            header["sweeps"][0]["text"] += name

        return with_cases(another_boot(tmp_path / name, other_sweep), chosen)

    def on_cpu(case: str) -> bool:
        return "/pytorch-cpu/" in case or "/jax-cpu/" in case

    cpu = run_of("cpu", on_cpu)
    gpu = run_of("gpu", lambda case: not on_cpu(case))
    left_out = {json.loads(lines_of(run)[-1])["id"] for run in (cpu, gpu)}
    both = run_of("both", lambda case: case not in left_out)
    for runs, times in ([cpu, gpu, both], 2), ([both, gpu, cpu], 2), ([gpu, cpu], 0):
        report = report_of(*runs, out=tmp_path / "r.md")
        assert report.count("**2 starts** of machines of this kind") == times, runs
        samples = next(line for line in report.splitlines() if line.startswith("Raw samples of"))
        assert samples.count("`") == 2 * len(runs), "each folder once"


def test_three_boots_stay_before_what_is_named_later(tmp_path: Path) -> None:
    boots = [another_boot(tmp_path / name, lambda _: None) for name in ("second", "third")]
    mnist = SIX_PASSES.parent / "mnist"
    report = report_of(SIX_PASSES, *boots, mnist, out=tmp_path / "r.md")
    assert report.index("\n- [mlp_infer], ") < report.index("\n- [mnist_train], ")


def test_boots_stand_in_the_order_of_their_starts(tmp_path: Path) -> None:
    """In whichever order they are named."""

    def started(date: str) -> Callable[[dict[str, Any]], None]:
        return lambda header: header.update(started=f"{date}T10:15:00Z")

    early = another_boot(tmp_path / "z_early", started("2026-04-01"))
    late = another_boot(tmp_path / "a_late", started("2026-05-01"))
    for boots in (early, late), (late, early):
        page = report_of(SIX_PASSES, *boots, out=tmp_path / "r.md")
        assert page.index("`z_early`, 73 cases") < page.index("`a_late`, 73 cases"), boots


def test_boots_of_other_revisions_are_told(tmp_path: Path) -> None:
    def later(header: dict[str, Any]) -> None:
        header["environment"]["git"]["revision"] = "123456789abc"

    boot = another_boot(tmp_path / "boot", later)
    report = report_of(SIX_PASSES, boot, out=tmp_path / "r.md")
    assert "\n- Measured: 2026-03-02, 6 passes, 2 starts.\n" in report
    assert re.search(r"bench [\d.]+, git \w+, git 123456789abc\.\n", report)
    assert "`boot`, 73 cases, 6 passes, on one GPU at a time, git 123456789abc.\n" in report


def measured(*runs: Path) -> list[str]:
    """Return when the runs on each machine were, and how."""
    report = bench("report", *runs, "--out", "-").stdout
    return re.findall(r"^- Measured: (.*)\.$", report, re.MULTILINE)


def test_machines_have_their_dates(tmp_path: Path) -> None:
    later = tmp_path / "later"
    shutil.copytree(SIX_PASSES.parent / "mnist", later)
    header = json.loads((later / "run.json").read_text("utf-8"))
    header["started"] = "2026-04-05T10:15:00Z"
    (later / "run.json").write_text(json.dumps(header), "utf-8")
    cpu = SIX_PASSES.parent / "cpu"
    gpu = "2026-03-02, 6 passes; 2026-04-05, one pass"
    assert measured(cpu, SIX_PASSES, later) == ["2026-03-02, one pass", gpu]
    assert measured(SIX_PASSES, later, cpu) == [gpu, "2026-03-02, one pass"]
    top = bench("report", SIX_PASSES, later, "--out", "-").stdout
    assert top.splitlines()[0].endswith("NVIDIA H200, 2026-03-02 to 2026-04-05")


def test_a_boot_counts_where_it_has_cases(tmp_path: Path) -> None:
    epochs = SIX_PASSES.parent / "epochs"

    def other_sweep(header: dict[str, Any]) -> None:
        header["sweeps"][0]["text"] += " "

    boot = another_boot(tmp_path / "boot", other_sweep, epochs)
    with_cases(boot, lambda case: not case.startswith("allocate/"))
    alike = "2026-03-02, one pass"
    assert measured(epochs, SIX_PASSES, boot) == [f"{alike}, 2 starts; 2026-03-02, 6 passes"]
    report = report_of(epochs, boot, out=tmp_path / "r.md")
    pages = [(tmp_path / "r-pages/epochs" / f"{w}.md") for w in ("mlp_train", "allocate")]
    assert [page.read_text("utf-8").count("**2 starts**") for page in pages] == [1, 0], report


def test_a_boot_does_not_count_for_a_workload_that_has_changed(tmp_path: Path) -> None:
    def described(name: str, code: str) -> Path:
        def change(header: dict[str, Any]) -> None:
            header["sweeps"][0]["text"] += code
            header["environment"]["operators"] = {"allocate": code}

        return another_boot(tmp_path / name, change, SIX_PASSES.parent / "epochs")

    run, boot = described("run", "aa"), described("boot", "bb")
    with_cases(boot, lambda case: not case.endswith("live=1"))
    report = report_of(run, boot, out=tmp_path / "r.md")
    pages = [tmp_path / "r-pages/run" / f"{w}.md" for w in ("mlp_train", "allocate")]
    assert [page.read_text("utf-8").count("**2 starts**") for page in pages] == [1, 0], report
    with_cases(boot, lambda case: case.startswith("allocate/"))
    refused = bench("plot", run, f"--boot={boot}", "--out", tmp_path / "p", expect=3).stderr
    assert "cannot be boots of one machine: operators.allocate: aa and bb" in refused


def test_runs_measured_alike_are_told_at_once() -> None:
    fixtures = SIX_PASSES.parent
    assert measured(fixtures / "training", SIX_PASSES, fixtures / "mnist") == [
        "2026-03-02, one pass; 2026-03-02, 6 passes"
    ]


def test_boots_with_other_versions_are_refused(tmp_path: Path) -> None:
    def newer(header: dict[str, Any]) -> None:
        header["environment"]["gpu"]["driver"] = "590.1"

    boot = another_boot(tmp_path / "boot", newer)
    out = tmp_path / "r.md"
    refused = bench("report", SIX_PASSES, boot, "--out", out, expect=3)
    assert "cannot be boots of one machine: gpu.driver: 580.159 and 590.1" in refused.stderr
    assert not out.exists()
