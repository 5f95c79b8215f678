"""What a run and its report say about passes, two values and boots."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from project import FIXTURES, QUICK_MEASURE, bench, write_sweep

UNKNOWN = "the spread between processes is unknown"
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
    assert f"  passes       1: {UNKNOWN}\n" in one
    assert "  stopped      precise after 8 rounds\n" in one
    (tmp_path / "six").mkdir()
    six = run_null(tmp_path / "six", 6)
    assert "  passes       6: the intervals are over passes\n" in six
    assert "  stopped      precise in 6 after 48 rounds\n" in six
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
                phase["samples"][i] *= 1.7 if k % 4 == 0 else 1
        phase["median"] = statistics.median(phase["samples"])
        lines.append(json.dumps(case) + "\n")
    journal.write_text("".join(lines), "utf-8")
    shown = run_null(tmp_path, 6)
    assert "  two values   kernel: 1.00 µs in 75 % of the rounds, 1.70 µs in 25 %\n" in shown


# ---- boots --------------------------------------------------------------------------------------


def another_boot(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    folder.mkdir()
    packed = (SIX_PASSES / "cases.jsonl.gz").read_bytes()
    (folder / "cases.jsonl.gz").write_bytes(packed)
    header = json.loads((SIX_PASSES / "run.json").read_text("utf-8"))
    change(header)
    (folder / "run.json").write_text(json.dumps(header), "utf-8")
    return folder


def test_boots_are_runs_of_the_same_sweeps(tmp_path: Path) -> None:
    boot = another_boot(tmp_path / "boot", lambda _: None)
    table = bench("report", SIX_PASSES, boot, boot, "--print", "headline").stdout
    assert "range over 3 boots" in table
    assert "saved" in bench("report", SIX_PASSES, "--print", "headline").stdout

    def other_sweep(header: dict[str, Any]) -> None:
        header["sweeps"][0]["text"] += " "

    other = another_boot(tmp_path / "other", other_sweep)
    table = bench("report", SIX_PASSES, other, "--print", "headline").stdout
    assert "boots" not in table


def test_boots_with_other_versions_are_refused(tmp_path: Path) -> None:
    def newer(header: dict[str, Any]) -> None:
        header["environment"]["gpu"]["driver"] = "590.1"

    boot = another_boot(tmp_path / "boot", newer)
    out = tmp_path / "r.md"
    refused = bench("report", SIX_PASSES, boot, "--out", out, expect=3)
    assert "no boots of one machine: gpu.driver: 580.159 and 590.1" in refused.stderr
    assert not out.exists()

    def elsewhere(header: dict[str, Any]) -> None:
        header["environment"]["gpu"].update(name="NVIDIA A100", driver="590.1")

    saved = another_boot(tmp_path / "saved", elsewhere)
    bench("report", SIX_PASSES, saved, "--out", out)
    assert "**Saved run: NVIDIA A100" in out.read_text("utf-8")


def test_a_file_that_is_no_report_is_kept(tmp_path: Path) -> None:
    """Without --out it is ./REPORT.md, which may be somebody else's."""
    notes = tmp_path / "REPORT.md"
    notes.write_text("# My notes\n", encoding="utf-8")
    done = bench("report", SIX_PASSES, cwd=tmp_path, expect=2)
    assert "REPORT.md: exists, and is not a report of bench: remove it, or choose" in done.stderr
    assert notes.read_text(encoding="utf-8") == "# My notes\n"
    for before in ("", "# Hand-written code against PyTorch: of another day\n"):
        notes.write_text(before, encoding="utf-8")
        assert bench("report", SIX_PASSES, cwd=tmp_path).stdout == "REPORT.md\n"
        assert "## Method in brief" in notes.read_text(encoding="utf-8")
