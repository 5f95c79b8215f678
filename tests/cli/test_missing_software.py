"""What may be missing: each is named with its remedy, and costs what needs it alone."""

from __future__ import annotations

import sys
from pathlib import Path

from project import bench, null_sweep, read_cases, write_sweep


def test_no_gnuplot_says_how_to_get_it(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    finished = tmp_path / "run"
    bench("run", sweep, "--out", finished)
    (tmp_path / "bin").mkdir()
    out = tmp_path / "charts"
    done = bench("plot", finished, "--out", out, expect=2, PATH=str(tmp_path / "bin"))
    assert "gnuplot" in done.stderr
    assert "apt-get install gnuplot-nox" in done.stderr
    bench("report", finished, "--out", tmp_path / "REPORT.md", PATH=str(tmp_path / "bin"))


def test_no_pytorch_skips_its_cases(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -E "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    sweep = write_sweep(
        tmp_path / "s.json",
        "mlp_infer",
        [
            {"engine": "pytorch", "device": ["cpu", "cuda"], "variants": ["eager"]},
            {"engine": "cpu", "variants": ["omp"]},
        ],
        axes={"batch": [1, 2]},
    )
    bench("run", sweep, "--out", tmp_path / "run", BENCH_PYTHON=str(python))
    for case in read_cases(tmp_path / "run").values():
        if case["engine"] == "pytorch":
            assert case["status"] == "skipped"
            assert "No module named 'torch'" in case["reason"]
        else:
            assert case["status"] == "ok"
