"""tests/tools/repeatability.py on runs with known differences."""

import gzip
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, bench, null_sweep

SCRIPT = ROOT / "tests" / "tools" / "repeatability.py"
N_CASES = 40


def case(name: str, status: str = "ok", **medians: float | None) -> dict[str, Any]:
    phases = {phase: {"median": median} for phase, median in medians.items()}
    return {"id": name, "status": status, "phases": phases}


def write(run: Path, cases: list[dict[str, Any]], *, packed: bool = False) -> Path:
    run.mkdir()
    data = "".join(json.dumps(line) + "\n" for line in cases).encode()
    if packed:
        (run / "cases.jsonl.gz").write_bytes(gzip.compress(data))
    else:
        (run / "cases.jsonl").write_bytes(data)
    return run


def compare(*runs: Path, expect: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, runs)],
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == expect, done.stderr
    return done


def rows(text: str) -> dict[str, list[str]]:
    """Return the cells of each row of the tables, by the first cell."""
    cells = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return {line[0]: line[1:] for line in cells}


@pytest.mark.parametrize("packed", [False, True])
def test_shares_quantiles_and_the_worst(tmp_path: Path, packed: bool) -> None:
    """Case i differs by i + ½ thousandths on the device; on the host one differs by a half."""

    def apart(i: int) -> float:
        return 1 + (i + 0.5) / 1000

    one = [case(f"c{i}", kernel=1e6, host_to_host=1e6) for i in range(N_CASES)]
    two = [
        # Alternately slower and faster: the sign must not matter.
        case(
            f"c{i}",
            kernel=1e6 * apart(i) if i % 2 else 1e6 / apart(i),
            host_to_host=1.5e6 if i == 7 else 1e6,
        )
        for i in range(N_CASES)
    ]
    runs = write(tmp_path / "1", one), write(tmp_path / "2", two, packed=packed)
    printed = compare(*runs).stdout
    assert printed.startswith(f"{N_CASES} cases are ok in both runs\n")
    table = rows(printed)
    heading = table["medians of"]
    device = dict(zip(heading, table["device clock, above the floor"], strict=True))
    assert device["n"] == str(N_CASES)
    shares = [device[f"within {bound}%"] for bound in ("0.5", "1.0", "2.0", "5.0", "10.0")]
    assert shares == ["12.5%", "25.0%", "50.0%", "100.0%", "100.0%"]
    assert (device["50% quantile"], device["largest"]) == ("2.05%", "3.95%")
    host = dict(zip(heading, table["host clock"], strict=True))
    assert (host["within 0.5%"], host["95% quantile"], host["largest"]) == (
        "97.5%",
        "0.00%",
        "50.00%",
    )
    assert table["`c39`"] == ["`kernel`", "3.95%"]
    assert table["`c30`"] == ["`kernel`", "3.05%"]
    assert "`c29`" not in table  # the eleventh
    assert sum(name.startswith("`c") for name in table) == 11  # differences of 0 are not listed
    assert table["`c7`"] == ["`host_to_host`", "50.00%"]


def test_kernels_near_their_floor_are_excluded(tmp_path: Path) -> None:
    """Each way to time kernels has a separate floor."""
    floor = case("null/cuda/01_empty", kernel=4300.0, kernel_graph=500.0)
    one = [floor, case("near", kernel=8500.0), case("far", kernel=8700.0, kernel_graph=1010.0)]
    two = [floor, case("near", kernel=9900.0), case("far", kernel=8700.0, kernel_graph=1010.0)]
    printed = compare(write(tmp_path / "1", one), write(tmp_path / "2", two)).stdout
    assert rows(printed)["device clock, above the floor"][:2] == ["2", "100.0%"]
    assert rows(printed)["`kernel_graph` alone"][:2] == ["1", "100.0%"]
    assert "`near`" not in printed


def test_cases_by_their_worst_phase(tmp_path: Path) -> None:
    one = [case("a", total=100.0, d2h=100.0), case("b", total=100.0, d2h=100.0)]
    two = [case("a", total=100.0, d2h=103.0), case("b", total=100.0, d2h=100.0)]
    table = rows(compare(write(tmp_path / "1", one), write(tmp_path / "2", two)).stdout)
    within = table["medians of"].index("within 2.0%")
    assert table["host clock"][within] == "75.0%"
    assert table["cases by their worst phase on the host"][within] == "50.0%"


def test_cases_missing_in_one_run_are_not_compared(tmp_path: Path) -> None:
    one = [
        case("both", total=100.0, h2d=5.0, d2h=None, free=0.0),
        case("wrong", total=1.0),
        case("measured again", total=1.0),
        case("gone", total=1.0),
    ]
    two = [
        case("both", total=100.0, d2h=1.0, free=0.0),
        case("wrong", "wrong", total=2.0),
        case("measured again", total=2.0),
        case("measured again", "failed"),
    ]
    printed = compare(write(tmp_path / "1", one), write(tmp_path / "2", two)).stdout
    assert printed.startswith("1 cases are ok in both runs\n")
    assert rows(printed)["host clock"][0] == "1"
    assert "device clock" not in printed


def test_passes_are_joined(tmp_path: Path) -> None:
    """A case that is not ok in a pass is not compared; times move by that of the centre."""
    one = [
        {**case(name, total=ns), "pass": number}
        for name in ("good", "bad")
        for number, ns in ((1, 100.0), (2, 100.0), (3, 400.0))
    ]
    two = [{**case("good", total=150.0), "pass": 1}, {**case("bad", total=1.0), "pass": 1}]
    one[4]["status"] = "wrong"
    printed = compare(write(tmp_path / "1", one), write(tmp_path / "2", two)).stdout
    assert printed.startswith("1 cases are ok in both runs\n")
    # The averages of logarithms are those of 100 three times, of 200 twice, and of 400.
    assert f"| `good` | `total` | {150 / math.sqrt(100 * 200) - 1:.2%} |" in printed


def test_real_runs(tmp_path: Path) -> None:
    """Two synthetic runs with the same seed differ only in their numbers of samples."""
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000])
    for name in ("1", "2"):
        bench("run", sweep, "--out", tmp_path / name, "--quiet")
    table = rows(compare(tmp_path / "1", tmp_path / "2").stdout)
    assert table["host clock"][0] == "2"
    assert table["host clock"][table["medians of"].index("within 5.0%")] == "100.0%"


def test_a_folder_that_is_not_a_run(tmp_path: Path) -> None:
    run = write(tmp_path / "1", [])
    assert "holds neither cases.jsonl nor cases.jsonl.gz" in compare(run, tmp_path, expect=1).stderr
    assert "usage: repeatability.py RUN1 RUN2" in compare(run, expect=2).stderr
