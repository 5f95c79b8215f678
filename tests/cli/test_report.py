"""What a run and its report say about passes and two values."""

import json
import re
import shutil
import statistics
from pathlib import Path

import pytest
from project import FIXTURES, QUICK_MEASURE, ROOT, bench, rename_gpu, write_sweep

SIX_PASSES = FIXTURES / "report" / "gpu"


def run_null(folder: Path, passes: int) -> str:
    sweep = write_sweep(
        folder / "s.json",
        "null",
        [{"engine": "null", "variants": ["steady"]}],
        axes={"work_ns": [1000]},
        measure={**QUICK_MEASURE, "passes": passes, "min_rounds": 8},
    )
    return bench("run", sweep, "--out", folder / "run", "--quiet", "--resume").stdout


def test_a_run_says_how_many_passes_it_took(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    one = run_null(tmp_path / "one", 1)
    # The audit may take one more round in each pass.
    alone = r"^  passes       1, without intervals: precise after [89] rounds$"
    assert re.search(alone, one, re.MULTILINE), one
    (tmp_path / "six").mkdir()
    six = run_null(tmp_path / "six", 6)
    all_six = r"^  passes       6: precise in 6 after (4[89]|5[0-4]) rounds$"
    assert re.search(all_six, six, re.MULTILINE), six
    assert "two values" not in six
    row = next(line.split() for line in six.splitlines() if line.startswith("kernel"))
    assert "–" in row[4] and row[4] != "–"
    row = next(line.split() for line in one.splitlines() if line.startswith("kernel"))
    assert row[4] == "–"


def test_two_values_stand_below_the_phases(tmp_path: Path) -> None:
    run_null(tmp_path, 6)
    journal = tmp_path / "run" / "cases.jsonl"
    lines = []
    for line in journal.read_text("utf-8").splitlines():
        case = json.loads(line)
        phase = case["phases"]["kernel"]
        for k, start in enumerate(phase["round_starts"][:-1]):
            for i in range(start, phase["round_starts"][k + 1]):
                value = (1700 if k % 4 == 0 else 1000) + i % 5
                phase["samples"][i] = value + case["pass"] / 1000  # no two passes are equal
        phase["median"] = statistics.median(phase["samples"])
        lines.append(json.dumps(case) + "\n")
    journal.write_text("".join(lines), "utf-8")
    shown = run_null(tmp_path, 6)
    found = re.search(
        r"^  two values   kernel: 1.00 µs in (\d+) % of the rounds, 1.70 µs in (\d+) %$",
        shown,
        re.MULTILINE,
    )
    assert found is not None, shown
    assert 66 <= int(found[1]) <= 75  # of 8 or 9 rounds of each pass, the audit's included


# ---- files --------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Return a copy of the run of six passes, beside which its page may be written."""
    return shutil.copytree(SIX_PASSES, tmp_path / "run")


def test_a_file_that_is_no_report_is_kept(run: Path, tmp_path: Path) -> None:
    """Without --out it is ./REPORT.md, which may be somebody else's."""
    notes = tmp_path / "REPORT.md"
    notes.write_text("# My notes\n", encoding="utf-8")
    done = bench("report", run, cwd=tmp_path, expect=2)
    assert "REPORT.md: exists, and is not a report of bench: remove it, or choose" in done.stderr
    assert notes.read_text(encoding="utf-8") == "# My notes\n"
    for before in ("", "# Hand-written code against PyTorch: of another day\n"):
        notes.write_text(before, encoding="utf-8")
        assert bench("report", run, cwd=tmp_path).stdout == "REPORT.md\n"
        assert "## Machine and method" in notes.read_text(encoding="utf-8")


def test_a_page_never_replaces_another_file(run: Path, tmp_path: Path) -> None:
    page, out = run / "mlp_infer.md", tmp_path / "REPORT.md"
    page.write_text("# My notes\n", encoding="utf-8")
    done = bench("report", run, "--out", out, expect=2)
    assert f"{page}: exists, and is not a report of bench" in done.stderr
    assert page.read_text(encoding="utf-8") == "# My notes\n"
    assert not out.exists(), "a report without its pages"
    page.unlink()
    done = bench("report", run, "--out", page, expect=2)
    assert f"{page}: would be written twice" in done.stderr
    assert not page.exists()


def test_where_pages_lie(run: Path, tmp_path: Path) -> None:
    bench("report", "run", "--out", "a/R.md", cwd=tmp_path)
    text = (tmp_path / "a" / "R.md").read_text("utf-8")
    assert "\n[mlp_infer]: ../run/mlp_infer.md\n" in text
    assert "\n    build/bench report run --out=a/R.md\n" in text, (
        "not REPORT.md, which stays as it is"
    )
    bench("report", "--check", "a/R.md", cwd=tmp_path)
    page = run / "mlp_infer.md"
    text = page.read_text("utf-8")
    assert text.startswith("# Hand-written code against PyTorch: mlp_infer on NVIDIA H200, ")
    written = page.stat().st_mtime_ns
    bench("report", run, SIX_PASSES.parent / "cpu", "--pages", "apart", cwd=tmp_path)
    bench("report", f"{run}/", "--out", "other.md", cwd=tmp_path)
    assert page.read_text("utf-8") == text, "it depends on the other options"
    assert page.stat().st_mtime_ns == written, "it was written without need"
    page.unlink()
    bench("report", "run", "--out", "R.md", "--pages", "deep/er", cwd=tmp_path)
    assert "\n[mlp_infer]: deep/er/run/mlp_infer.md\n" in (tmp_path / "R.md").read_text("utf-8")
    assert not page.exists()
    assert "\n### Contenders\n" in (tmp_path / "deep/er/run/mlp_infer.md").read_text("utf-8")
    printed = bench("report", "run", "--out", "-", cwd=tmp_path).stdout
    assert printed.startswith("# Hand-written code against PyTorch: NVIDIA H200, ")
    assert not page.exists()


# ---- --check ------------------------------------------------------------------------------------


def test_the_committed_report_is_what_its_runs_give() -> None:
    done = bench("report", "--check", "REPORT.md", cwd=ROOT)
    assert done.stdout.startswith("REPORT.md: matches its runs, with its ")


def test_check_finds_the_first_line_that_differs(tmp_path: Path) -> None:
    """The name of the run has to be quoted in the command from which the report is checked."""
    run = shutil.copytree(SIX_PASSES, tmp_path / "it's a run")
    report, page = tmp_path / "R.md", run / "mlp_infer.md"
    for pages in ([], ["--pages", "my pages"]):
        bench("report", run.name, "--out", "R.md", *pages, cwd=tmp_path)
        done = bench("report", "--check", "R.md", cwd=tmp_path)
        assert done.stdout.startswith("R.md: matches its runs, with its 2 other files\n")
        assert "1 of its 1 runs is unsealed" in done.stdout
    whole = report.read_text("utf-8")
    lines = whole.splitlines()
    number = next(i for i, line in enumerate(lines) if "| 56 µs ‡ PyTorch |" in line)
    lines[number] = lines[number].replace("56 µs", "57 µs")
    report.write_text("\n".join(lines) + "\n", "utf-8")
    done = bench("report", "--check", "R.md", cwd=tmp_path, expect=1)
    assert f"bench: R.md:{number + 1}: differs from what its runs give\n" in done.stderr
    found, expected = done.stderr.splitlines()[1:]
    assert found.startswith("  found: ") and "57 µs ‡ PyTorch |" in found
    assert expected.startswith("  expected: ") and "56 µs ‡ PyTorch |" in expected
    report.write_text("".join(whole.splitlines(keepends=True)[:-1]), "utf-8")
    done = bench("report", "--check", "R.md", cwd=tmp_path, expect=1)
    assert "  found:    (the end)\n" in done.stderr
    report.write_text(whole + "More.\n", "utf-8")
    done = bench("report", "--check", "R.md", cwd=tmp_path, expect=1)
    assert "  found:    More.\n  expected: (the end)\n" in done.stderr
    bench("report", run.name, "--out", "R.md", cwd=tmp_path)
    page.unlink()
    done = bench("report", "--check", "R.md", cwd=tmp_path, expect=1)
    assert f"{run.name}/mlp_infer.md: this page of the report is missing\n" in done.stderr


def test_check_of_an_installed_programs_report(run: Path, tmp_path: Path) -> None:
    bench("report", "run", "--out", "R.md", cwd=tmp_path)
    for file in (tmp_path / "R.md", run / "mlp_infer.md"):
        file.write_text(file.read_text("utf-8").replace("build/bench", "bench"), "utf-8")
    assert "\n    bench report run --out=R.md\n" in (tmp_path / "R.md").read_text("utf-8")
    bench("report", "--check", "R.md", cwd=tmp_path)


def test_check_refuses_what_it_cannot_read(run: Path, tmp_path: Path) -> None:
    report = tmp_path / "R.md"
    report.write_text("# My notes\n", "utf-8")
    refused = bench("report", "--check", report, expect=2).stderr
    assert "R.md: is not a report of bench\n" in refused
    report.write_text("# Hand-written code\n", "utf-8")
    refused = bench("report", "--check", report, expect=2).stderr
    assert 'no line "    build/bench report RUN…" names its runs' in refused
    report.write_text('# Hand-written code\n\n    build/bench report "a\n', "utf-8")
    refused = bench("report", "--check", report, expect=2).stderr
    assert "R.md: cannot read the command" in refused
    refused = bench("report", "--check", report, run, expect=2).stderr
    assert "the report names its runs" in refused
    refused = bench("report", "--check", report, "--out", "x", expect=2).stderr
    assert "--check and --out exclude each other" in refused


# ---- the top page -------------------------------------------------------------------------------


def top_of(report: str) -> list[str]:
    return report.partition("\n## All workloads\n")[0].splitlines()


def test_runs_of_one_machine_stand_together() -> None:
    runs = [SIX_PASSES.parent / name for name in ("cpu", "gpu", "mnist", "epochs")]
    report = bench("report", *runs, "--out", "-").stdout
    table = report.partition("\n| ---")[2].partition("\n\n")[0]
    names = re.findall(r"^\| \[(.*?)\]", table, re.MULTILINE)
    assert list(dict.fromkeys(names)) == [
        "mlp_infer (cpu)",
        "mlp_infer (gpu)",
        "mnist_train",
        "mlp_train",
    ]
    machines = report.partition("\n## Machine and method\n")[2].partition("\n## ")[0]
    assert re.findall(r"^- \*\*(.*?)\*\*, ", machines, re.MULTILINE) == [
        "AMD EPYC 9654 96-Core Processor",
        "NVIDIA H200",
    ]


def test_each_run_has_its_command() -> None:
    runs = ["results/h200_mlp_infer", "results/h200_mlp_train"]
    boot = "results/h200_mlp_infer_boot2"
    text = bench("report", *runs, boot, "--out", "-").stdout
    assert text.count(boot.replace("/", "/again/") + "\n") == 1
    assert (
        "\n5 to 6 passes, on one or more GPUs at once; "
        in bench("report", *runs, "--print", "headline").stdout
    )
    for run, sweep in zip(runs, ("sweeps/mlp_infer.json", "sweeps/mlp_train.json"), strict=True):
        again = run.replace("/", "/again/")
        line = next(line for line in text.splitlines() if line.endswith(again))
        assert sweep in line
        assert ("--devices" in line) == (run == "results/h200_mlp_train")


def on_another_gpu(run: Path, folder: Path) -> Path:
    shutil.copytree(run, folder)
    rename_gpu(folder, "NVIDIA A100")
    return folder


def test_tables_of_one_machine_are_one(tmp_path: Path) -> None:
    """In whichever order the runs are named."""
    other = on_another_gpu(ROOT / "results/h200_linreg_train", tmp_path / "linreg_train")
    runs = ["results/h200_mlp_infer", other, "results/h200_operators"]
    table = bench("report", *runs, "--print", "headline").stdout
    assert table.index("gemm f16") < table.index("linreg_train f32")


def test_the_top_page_is_short(tmp_path: Path) -> None:
    """Also of more workloads than it has sentences for, and more losses than it has lines for."""
    published = (ROOT / "REPORT.md").read_text("utf-8")
    assert len(top_of(published)) <= 60
    assert len(published.splitlines()) < 250
    assert max(map(len, re.findall(r"^\|.*$", published, re.MULTILINE))) <= 100
    committed = sorted(path.parent for path in (ROOT / "results").glob("h200_*/run.json"))
    fixtures = sorted(path.parent for path in SIX_PASSES.parent.glob("*/run.json"))
    copies = [on_another_gpu(run, tmp_path / run.name) for run in committed]
    report = bench("report", *committed, *fixtures, *copies, "--out", "-").stdout
    losses = report.partition("\n## Where we do not win\n\n- ")[2].partition("\n\n")[0]
    for more in (
        "No difference: ",
        "With copies, a rival has the lower time: ",
        "The CPU alone takes less time: ",
    ):
        assert f"\n- {more}" in losses
    assert len(top_of(report)) <= 60


def test_a_picture_is_refused_with_the_reason(tmp_path: Path) -> None:
    run = FIXTURES / "report" / "gpu"
    refused = bench("report", run, "--picture", tmp_path / "a.txt", expect=2).stderr
    assert f"{tmp_path}/a.txt: expected a name that ends in .svg" in refused
    refused = bench("report", run, "--picture", tmp_path / "a.svg", "--print", "headline", expect=2)
    assert "--picture and --print exclude each other" in refused.stderr
    assert list(tmp_path.iterdir()) == []
