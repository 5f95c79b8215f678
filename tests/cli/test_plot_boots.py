"""`bench plot --boot`: charts of ratios have the report's intervals, over all boots."""

from pathlib import Path

from charts import blocks, needs_gnuplot, plot
from project import ROOT

RESULTS = ROOT / "results"
STARTS = ROOT / "tests/fixtures/starts"
RUN, BOOT = STARTS / "h200_headlines_boot2", STARTS / "h200_headlines_boot3"


@needs_gnuplot
def test_ratios_cover_those_of_all_boots(tmp_path: Path) -> None:
    def ours(*boots: Path) -> list[list[str]]:
        out = tmp_path / f"{len(boots)}"
        plot(RUN, "--out", out, *(f"--boot={boot}" for boot in boots))
        chart = (out / "mnist_train_speed.svg").read_text(encoding="utf-8")
        assert ("intervals over passes and up to 2 boots  ·" in chart) == bool(boots)
        return blocks(out / "mnist_train_speed.dat")[0][1:]

    wider = 0
    for of_one, of_both in zip(ours(), ours(BOOT), strict=True):
        assert of_one[:2] == of_both[:2], "the size and the ratio"
        (low, high), (lower, higher) = (map(float, row[3:]) for row in (of_one, of_both))
        assert lower <= low <= high <= higher
        wider += lower < low or high < higher
    assert wider > 0


def test_boots_count_in_charts_that_they_have_cases_of() -> None:
    """Those of mlp_infer are of float32."""
    charts = ROOT / "plots" / "h200_mlp_infer"
    for name, boots in ("speed", True), ("speed_f16", False):
        text = (charts / f"{name}.svg").read_text(encoding="utf-8")
        assert (" and up to 2 boots  ·" in text) == boots, name
        assert ("intervals over passes  ·" in text) != boots, name


def test_what_is_no_boot_is_refused(tmp_path: Path) -> None:
    def refused(*arguments: str | Path) -> str:
        done = plot(*arguments, "--out", tmp_path)
        assert done.returncode == 2
        return done.stderr

    run, other = RESULTS / "h200_linreg_train", RESULTS / "h200_operators"
    assert f"{other}: has no case of {run}" in refused(run, "--boot", other)
    assert "--boot: expected one run's folder" in refused(run, other, "--boot", run)
    assert "nix/run.json: cannot open" in refused(run, "--boot", "nix")
