"""Parts of a sample may be shorter than the clock shows: a median of 0 has no ratio and no chart."""

import json
from pathlib import Path

import pytest
from charts import needs_gnuplot
from project import bench
from report_cost import plant

ONE = "mlp_infer/cpu/omp/batch=1"


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    """Return two runs with a phase h2d of 0 ns."""
    folders = [plant(tmp_path / name, 2, boot, passes=6) for boot, name in enumerate("ab")]
    for folder in folders:
        lines = (folder / "cases.jsonl").read_text(encoding="utf-8").splitlines()
        cases = [json.loads(line) for line in lines]
        for case in cases:
            numbers = dict.fromkeys(("median", "q25", "q75", "p5", "p95", "min", "max"), 0)
            phase = case["phases"]["host_to_host"]
            case["phases"]["h2d"] = {**phase, **numbers, "error_frac": 0, "samples": [0] * 4}
        text = "".join(json.dumps(case) + "\n" for case in cases)
        (folder / "cases.jsonl").write_text(text, encoding="utf-8")
    return folders


def test_undecided_with_the_reason(runs: list[Path]) -> None:
    done = bench("compare", *runs, "--phase", "h2d")
    assert done.stdout.count("the median in BASE is 0: there is no ratio\n") == 4


@needs_gnuplot
def test_no_empty_chart_of_samples(runs: list[Path], tmp_path: Path) -> None:
    done = bench("plot", runs[0], "--case", ONE, "--phase", "h2d", "--out", tmp_path / "out")
    assert done.stderr == f"not drawn: samples: every sample of h2d in {ONE} is 0\n"
    assert list((tmp_path / "out").iterdir()) == []
