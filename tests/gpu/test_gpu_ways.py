"""Like for like: a * b + a, and a perceptron, in every way that their rivals have."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from project import FIXTURES, bench, read_cases
from test_gpu_faults import REASON

pytestmark = pytest.mark.gpu(REASON)

FOLDER = Path(__file__).with_name("multiply_add")
WAYS = {
    "plain": {"": "ok", "+graph": "ok", "+compile": "ok"},
    "triton_fused": {"": "ok", "+graph": "ok"},
    "inline": {"": "ok", "+graph": "ok"},
    "inline_default_stream": {"": "ok", "+graph": "skipped"},
    "waits": {"": "ok", "+graph": "skipped"},
    "one_element": {"": "ok", "+graph": "skipped", "+compile": "skipped"},
}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, Any]], str]:
    """Return the cases by variant, and what was printed; two sizes share each process."""
    top = tmp_path_factory.mktemp("multiply_add")
    shutil.copytree(FOLDER, top / "multiply_add")
    options = ("--quick", "--set", "rows=256,4096", "--set", "device=cuda", "--out", top / "run")
    done = bench("run", "--workload", top / "multiply_add", *options)
    return read_cases(top / "run"), done.stdout


@pytest.mark.parametrize("rows", [256, 4096])
def test_each_file_is_run_in_every_way_that_is_possible(measured: Any, rows: int) -> None:
    cases = {c["variant"]: c for c in measured[0].values() if c["params"]["rows"] == rows}
    for stem, ways in WAYS.items():
        for way, status in ways.items():
            case = cases[stem + way]
            assert case["status"] == status, (stem + way, case["reason"])
            assert bool(case["reason"]) == (status == "skipped")
            assert ("forward_graph" in case["phases"]) == (status == "ok" and way != "")


def test_the_reason_is_told(measured: Any) -> None:
    reasons = {case["variant"]: case["reason"] for case in measured[0].values()}
    assert "it waits for the GPU" in reasons["waits+graph"]
    assert "another y than a call" in reasons["inline_default_stream+graph"]
    assert "one_element.py:" in reasons["one_element+compile"]


def test_no_call_is_held_against_a_graph(measured: Any) -> None:
    assert "median forward_graph" in measured[1]
    assert re.search(r"(\+graph|\+compile)\b", measured[1])


@pytest.fixture(scope="module")
def overlapped(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the cases of a workload with "splits"; the larger batch has chunks in every mode."""
    run = tmp_path_factory.mktemp("mlp") / "run"
    sets = ["batch=1000,4194304", "device=cuda", "copy=pinned,overlapped,mapped"]
    options = [word for each in sets for word in ("--set", each)]
    bench("run", "--workload", FIXTURES / "examples" / "mlp", "--quick", *options, "--out", run)
    return list(read_cases(run).values())


@pytest.mark.parametrize("batch", [1000, 4194304])
@pytest.mark.parametrize(
    ("engine", "mode"),
    [
        ("pytorch", "overlap"),
        ("pytorch", "compile_overlap"),
        ("pytorch", "mapped"),
        ("jax", "overlap"),
    ],
)
def test_rivals_hide_copies_where_rungs_do(
    overlapped: list[dict[str, Any]], engine: str, mode: str, batch: int
) -> None:
    """Their outputs are those of the reference: `ok` says so."""
    (case,) = (
        c
        for c in overlapped
        if (c["engine"], c["variant"], c["params"]["batch"]) == (engine, mode, batch)
    )
    if engine == "jax" and case["status"] == "skipped":
        pytest.skip(case["reason"])
    assert case["status"] == "ok", case["reason"]
    assert "host_to_host" in case["phases"]
    assert ("h2d" in case["phases"]) == (mode != "mapped")
