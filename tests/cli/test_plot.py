"""`bench plot` with gnuplot: charts show the run's medians and have the required labels."""

import gzip
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from charts import (
    FIXTURES,
    RUN_CHARTS,
    Drawn,
    blocks,
    draw,
    line_series,
    needs_gnuplot,
    plot,
    png_size,
    same,
    texts,
)
from make_run import STUDY_KNEE, make_run

pytestmark = needs_gnuplot

SIX_PASSES = FIXTURES / "report" / "gpu"  # and one phase with two values


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    return Drawn(tmp_path_factory.mktemp("plot"))


# ---- data ---------------------------------------------------------------------------------------

CONTENDERS = {
    "CUDA 01_study": "cuda/01_study",
    "CUDA 02_thread_per_sample": "cuda/02_thread_per_sample",
    "CUDA 03_vectorized": "cuda/03_vectorized",
    "PyTorch eager": "pytorch-cuda/eager",
    "PyTorch graph": "pytorch-cuda/graph",
    "PyTorch on the CPU, eager": "pytorch-cpu/eager",
}
# The fastest contender changes: PyTorch's graph does not fit at the last batch; the C reference is
# faster than omp at small batches.
FASTEST = {
    "CUDA, the fastest at each batch size": "cuda",
    "PyTorch, the fastest at each batch size": "pytorch-cuda",
    "C on the CPU, the fastest at each batch size": "cpu",
}


def test_every_chart_has_a_data_file(drawn: Drawn) -> None:
    files = {path.name for path in drawn.out.iterdir()}
    assert files == {f"{name}.{end}" for name in RUN_CHARTS for end in ("dat", "svg")}


@pytest.mark.parametrize(
    ("chart", "phase", "titles"),
    [("total", "total", 6), ("host_to_host", "host_to_host", 6), ("ladder", "kernel_graph", 3)],
)
def test_lines_are_the_medians_of_the_run(
    drawn: Drawn, chart: str, phase: str, titles: int
) -> None:
    seen = set()
    for title, row in line_series(drawn.out / f"{chart}.dat"):
        if title.startswith("hardware limit"):
            continue
        name = title.split(" (")[0]
        seen.add(name)
        if name in FASTEST:
            # `total` ignores techniques measured at few batches.
            case = drawn.fastest(FASTEST[name], row[0], phase, techniques=chart == "host_to_host")
        else:
            case = f"mlp_infer/{CONTENDERS[name]}/batch={row[0]}"
        assert same(row[1], drawn.median_us(case.removeprefix("mlp_infer/"), phase)), (title, row)
        assert row[2:4] == ["NaN", "NaN"]  # one pass has no interval
        status = drawn.truth["status"][case]
        assert row[4:] == [str(int(status == "throttled")), status]
    assert len(seen) == titles
    assert "medians of one pass" in " ".join(texts(drawn.out / f"{chart}.svg"))


def test_intervals_are_over_passes(tmp_path: Path) -> None:
    done = plot(SIX_PASSES, "--out", tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    points = [row for _, row in line_series(tmp_path / "host_to_host.dat") if row[1] != "NaN"]
    assert len(points) > 20
    for row in points:
        assert float(row[2]) < float(row[1]) < float(row[3]), row
    for chart in ("host_to_host", "total", "size"):
        written = " ".join(texts(tmp_path / f"{chart}.svg"))
        assert "medians, 95 % intervals over passes" in written, chart
    written = " ".join(texts(tmp_path / "difference.svg"))
    assert "medians; undecided: the 95 % interval of the ratio contains 1" in written


def test_a_ratio_without_an_interval_has_its_number_and_no_bar(drawn: Drawn) -> None:
    rows = [row for _, row in line_series(drawn.out / "speed.dat")]
    numbers = {row[2] for row in rows if row[3] != "0"}
    assert numbers and {tuple(row[4:]) for row in rows} <= {("NaN", "NaN"), ("1", "1")}
    assert numbers <= set(texts(drawn.out / "speed.svg"))


def test_bars_are_the_medians_of_the_phases(drawn: Drawn) -> None:
    for chart, contender in [
        ("phases_cuda", "cuda/01_study"),
        ("phases_pytorch", "pytorch-cuda/eager"),
    ]:
        header, *rows = blocks(drawn.out / f"{chart}.dat")[0]
        assert len(rows) == 23
        for exponent, row in enumerate(rows):
            for name, value in zip(header[2:-2], row[2:-2], strict=True):
                assert same(value, drawn.median_us(f"{contender}/batch={1 << exponent}", name))


def test_shares_add_up(drawn: Drawn) -> None:
    _, *rows = blocks(drawn.out / "phases_cuda.dat")[1]
    for bar in range(23):
        shares = [float(row[3].lstrip("<")) for row in rows if row[0] == str(bar)]
        assert len(shares) == 6
        assert sum(shares) == pytest.approx(100, abs=2)  # six rounded numbers


def test_cases_without_times_are_in_no_chart(drawn: Drawn) -> None:
    rows = {(title, row[0]): row for title, row in line_series(drawn.out / "ladder.dat")}
    assert rows["CUDA 02_thread_per_sample", "16"][1:] == ["NaN", "NaN", "NaN", "0", "wrong"]
    assert rows["CUDA 03_vectorized", "8"][4:] == ["1", "throttled"]


def test_limit_matches_the_run(drawn: Drawn) -> None:
    limits = {
        row[0]: float(row[1])
        for title, row in line_series(drawn.out / "ladder.dat")
        if title == "hardware limit (dram)"
    }
    assert len(limits) == 23
    assert limits["4194304"] == pytest.approx((20 * (1 << 22) + 124) / 4.3e12 * 1e6)


def test_difference_has_the_known_sign_and_crossover(drawn: Drawn) -> None:
    bars, crossovers, _ = blocks(drawn.out / "difference.dat")
    for exponent, row in enumerate(bars[1:]):
        cuda = drawn.median_us(f"cuda/01_study/batch={1 << exponent}", "total")
        pytorch = drawn.median_us(f"pytorch-cuda/eager/batch={1 << exponent}", "total")
        assert float(row[2]) == pytest.approx(cuda - pytorch, rel=1e-6)
        assert row[5] == ("CUDA" if 1 << exponent < STUDY_KNEE else "PyTorch")
    assert drawn.truth["crossover_batch"] == STUDY_KNEE == 1 << 19
    assert crossovers[1:] == [["19", "2¹⁹", "crossover: PyTorch is faster from batch 2¹⁹"]]


def test_a_packed_run_draws_the_same(drawn: Drawn, tmp_path: Path) -> None:
    packed = tmp_path / "h200"
    packed.mkdir()
    shutil.copy(drawn.run / "run.json", packed)
    with gzip.open(packed / "cases.jsonl.gz", "wb") as stream:
        stream.write((drawn.run / "cases.jsonl").read_bytes())
    out = draw(tmp_path / "charts", packed)
    for name in RUN_CHARTS:
        assert (out / f"{name}.dat").read_bytes() == (drawn.out / f"{name}.dat").read_bytes()


# ---- labels -------------------------------------------------------------------------------------

FOOTER = "NVIDIA H200, driver 580.159 · AMD EPYC 9654 96-Core Processor · 2026-03-02 · run h200"


@pytest.mark.parametrize(
    ("chart", "labels"),
    [
        (
            "phases_cuda",
            [
                "Phases of a sample: cuda",
                "malloc",
                "h2d",
                "kernel",
                "d2h",
                "free",
                "residual",
                "batch, samples",
                "time, µs (log scale; bars start at 10 µs)",
                "share, %",
                "1",
                "512",
                "2¹⁰",
                "2²²",
            ],
        ),
        (
            "phases_pytorch",
            ["Phases of a sample: pytorch", "init", "h2d", "forward", "d2h"],
        ),
        (
            "total",
            [
                "time, µs (log scale)",
                "batch, samples (log scale)",
                "CUDA 01_study (the study's)",
                "CUDA, the fastest at each batch size",
                "PyTorch eager (the study's)",
                "PyTorch, the fastest at each batch size",
                "C on the CPU, the fastest at each batch size",
                "1,000",
                "2²²",
            ],
        ),
        (
            "difference",
            [
                "crossover: PyTorch is faster from batch 2¹⁹",
                "difference, µs (log scale; linear within ±10 µs)",
                "+1,000",
                "−100",
            ],
        ),
        ("ladder", ["CUDA 02_thread_per_sample", "hardware limit (dram)"]),
    ],
)
def test_picture_has_the_labels(drawn: Drawn, chart: str, labels: list[str]) -> None:
    found = [" ".join(text.split()) for text in texts(drawn.out / f"{chart}.svg")]
    assert [label for label in labels if label not in found] == []
    assert FOOTER in found


def test_every_bar_names_the_faster_side(drawn: Drawn) -> None:
    found = texts(drawn.out / "difference.svg")
    assert sum(text.startswith("CUDA  ") for text in found) == 19
    assert sum(text.startswith("PyTorch  ") for text in found) == 4


def test_png_has_the_requested_size(tmp_path: Path) -> None:
    make_run(tmp_path / "run", last_exponent=28)
    out = draw(tmp_path / "charts", tmp_path / "run", formats="svg,png")
    assert {path.stem for path in out.glob("*.png")} == RUN_CHARTS
    assert png_size(out / "phases_cuda.png")[0] == 150 + 42 * 29
    root = ElementTree.parse(out / "phases_cuda.svg").getroot()
    assert root.get("width") == "1368"
    assert not list(out.glob("*.tmp"))


def test_one_case(drawn: Drawn, tmp_path: Path) -> None:
    case = "mlp_infer/cuda/03_vectorized/batch=64"
    done = plot(drawn.run, "--case", case, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"Samples of {case}" in texts(tmp_path / "samples.svg")
    samples, histogram, rounds, shares, values = blocks(tmp_path / "samples.dat")
    assert len(values) == 1
    assert len(samples) - 1 == 40 == len(shares) - 1
    times = sorted(float(row[1]) for row in samples[1:])
    assert [float(row[0]) for row in shares[1:]] == times
    assert float(shares[20][1]) == 0.5 and float(shares[-1][1]) == 1
    shown = sum(time <= float(histogram[-1][1]) for time in times)
    assert sum(int(row[2]) for row in histogram[1:]) == shown
    assert rounds[1:] == [["8", "0"], ["16", "0"], ["24", "0"], ["32", "0"]]
    unknown = plot(drawn.run, "--case", "mlp_infer/cuda/nope", "--out", tmp_path)
    assert unknown.returncode == 2
    assert "mlp_infer/cuda/nope" in unknown.stderr


def test_passes_and_two_values_of_a_case(tmp_path: Path) -> None:
    done = plot(SIX_PASSES, "--case", "mlp_infer/pytorch-cuda/graph/batch=64", "--out", tmp_path)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    _, _, rounds, _, values = blocks(tmp_path / "samples.dat")
    assert [row[0] for row in rounds if row[1] == "1"] == ["8", "16", "24", "32", "40"]
    written = texts(tmp_path / "samples.svg")
    assert [row[1] for row in values[1:]] == [text for text in written if "of the rounds" in text]
    assert [row[1].split(" in ")[1] for row in values[1:]] == [
        "62 % of the rounds",
        "38 % of the rounds",
    ]
    assert "black: new pass" in " ".join(written)


def test_one_phase_of_a_case(drawn: Drawn, tmp_path: Path) -> None:
    case = "mlp_infer/cuda/03_vectorized/batch=64"
    done = plot(drawn.run, "--case", case, "--phase", "kernel_graph", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    samples = blocks(tmp_path / "samples.dat")[0]
    middle = sorted(float(row[1]) for row in samples[1:])[19:21]
    median = drawn.median_us(case.removeprefix("mlp_infer/"), "kernel_graph")
    assert sum(middle) / 2 == pytest.approx(median)
    unknown = plot(drawn.run, "--case", case, "--phase", "forward", "--out", tmp_path)
    assert unknown.returncode == 2
    assert f'case {case}: unknown phase "forward" (known: ' in unknown.stderr
