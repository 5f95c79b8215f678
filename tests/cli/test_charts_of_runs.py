"""Whose charts a folder has: runs of one name, a run measured anew, CSVs of one name."""

import shutil
from pathlib import Path

import pytest
from charts import needs_gnuplot
from project import FIXTURES, bench, make_root, report_of
from report_cost import plant

pytestmark = needs_gnuplot
CSV = FIXTURES / "plot" / "study_cuda.csv"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "project", copy="plots")


def run_in(root: Path, folder: str, boot: int = 1) -> Path:
    """Write a run, in place of an earlier one; without digests, as of a killed one."""
    shutil.rmtree(root / folder, ignore_errors=True)
    return plant(root / folder, 4, boot)


def plot(root: Path, *arguments: str | Path) -> list[str]:
    """Return the charts that were drawn: paths to open from the current folder."""
    done = bench("plot", *arguments, root=root, cwd=root)
    drawn = sorted(done.stdout.splitlines())
    assert all((root / path).is_file() for path in drawn)
    return drawn


def page_of(root: Path, run: Path) -> str:
    return report_of(run, out=root / "REPORT.md", root=root)


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "plots").iterdir() if "mine" in path.name)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_runs_of_one_name_keep_their_own_charts(root: Path) -> None:
    first, second = run_in(root, "results/x/mine", 1), run_in(root, "results/y/mine", 2)
    assert "plots/mine/speed.svg" in plot(root, "results/x/mine")
    kept = contents(root / "plots/mine")
    page = page_of(root, second)
    assert "plots/mine" not in page
    assert (
        "Left out: the charts of its name in `plots/`, drawn from `results/x/mine`. "
        f"`build/bench plot {second}` draws its own.\n" in page
    )
    drawn = plot(root, second)  # by another path
    own = next(name for name in folders(root) if name != "mine")
    assert f"plots/{own}/speed.svg" in drawn
    assert contents(root / "plots/mine") == kept
    assert f"(plots/{own}/speed.svg)" in page_of(root, second).replace("../", "")
    assert "Left out" not in page_of(root, second)
    assert "(plots/mine/speed.svg)" in page_of(root, first).replace("../", "")
    shutil.rmtree(root / "plots/mine")  # the second keeps its folder
    assert f"(plots/{own}/speed.svg)" in page_of(root, second).replace("../", "")


def test_charts_of_a_run_that_was_measured_anew_are_left_out(root: Path) -> None:
    run = run_in(root, "results/mine", 1)
    n = len(plot(root, run))
    run_in(root, "results/mine", 2)
    page = page_of(root, run)
    assert f"Left out: charts in `plots/` that were not drawn from this run as it is ({n})." in page
    assert "plots/mine" not in page
    plot(root, run, "--case", "mlp_infer/cpu/omp/batch=1")
    assert "plots/mine/speed.svg" not in page_of(root, run)
    assert sorted(contents(root / "plots/mine")) == [
        "drawn_from.json",
        "samples.dat",
        "samples.svg",
    ]
    assert len(plot(root, run)) == n
    assert folders(root) == ["mine"]
    assert "Left out" not in page_of(root, run)


def test_charts_drawn_over_those_of_another_run_are_not_its_own(root: Path) -> None:
    """Who names a folder gets it, and the report of the first run knows."""
    first, second = run_in(root, "results/x/mine", 1), run_in(root, "results/other", 2)
    plot(root, first)
    plot(root, second, "--out", root / "plots/mine")
    assert "plots/mine" not in page_of(root, first)


def test_several_runs_of_one_name_are_drawn_beside_each_other(root: Path, tmp_path: Path) -> None:
    runs = [run_in(root, f"results/{x}/mine", boot) for boot, x in enumerate("xy")]
    drawn = plot(root, *runs, "--out", tmp_path / "out")
    assert len({name for name in drawn if name.endswith("/speed.svg")}) == 2
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_charts_are_named_as_seen_from_the_current_folder(root: Path, tmp_path: Path) -> None:
    run = run_in(root, "results/mine")
    (tmp_path / "elsewhere").mkdir()
    for options, shown in (((), root / "plots/mine"), (("--out", "../out"), Path("../out"))):
        done = bench("plot", run, *options, root=root, cwd=tmp_path / "elsewhere")
        assert f"{shown}/speed.svg" in done.stdout.splitlines()


def test_a_refused_case_leaves_the_charts_as_they_are(root: Path) -> None:
    run = run_in(root, "results/mine")
    plot(root, run)
    kept = contents(root / "plots/mine")
    run_in(root, "results/mine", 2)  # their charts are no longer of the run
    known = "mlp_infer/cpu/omp/batch=1"
    for options, said in (
        (("--case", f"{known}0000"), f'no case has the id {known}0000; did you mean "{known}"?'),
        (("--case", known, "--phase", "host_to_hos"), 'did you mean "host_to_host"?'),
    ):
        assert said in bench("plot", run, *options, root=root, expect=2).stderr
    assert contents(root / "plots/mine") == kept


def test_csvs_of_other_names_and_places_have_folders_of_their_own(root: Path) -> None:
    other, same = root / "other.csv", root / "again" / CSV.name
    same.parent.mkdir()
    shutil.copy(CSV, other)
    same.write_text(CSV.read_text("utf-8").replace("\n1,", "\n3,", 1), "utf-8")
    before = {path.name for path in (root / "plots").iterdir()}
    for path in (CSV, other, CSV, same, same):
        plot(root, path)
    new = sorted({path.name for path in (root / "plots").iterdir()} - before)
    assert [name.split("_c")[0] for name in new] == ["other", "study", "study"]
    assert "study_cuda" in new


def test_settings_of_gnuplot_change_no_chart(root: Path, tmp_path: Path) -> None:
    (tmp_path / ".gnuplot").write_text('set datafile separator ","\nset grid\n', "utf-8")
    run = run_in(root, "results/mine")
    for name, home in (("plain", "/nonexistent"), ("set", str(tmp_path))):
        bench("plot", run, "--out", tmp_path / name, root=root, HOME=home)
    assert contents(tmp_path / "plain") == contents(tmp_path / "set")
