"""What list, doctor and the options of run say of contenders of the user's own."""

import json
import sys
from pathlib import Path

import pytest
from project import FIXTURES, bench, make_root, own_worker

MINE = [
    "mlp_infer    mine     plain device=cpu",
    "mlp_infer    mine     wrong device=cpu",
    "mlp_infer    mine     breaks device=cpu",
    "–            mine     device=cuda: plain Python runs on the CPU only",
]


def listed(root: Path) -> list[str]:
    """Return the lines that only this project has."""
    known = bench("list", "variants").stdout.splitlines()
    found = bench("list", "variants", root=root, BENCH_PYTHON=sys.executable).stdout.splitlines()
    return [line for line in found if line not in known]


def make_own_root(folder: Path, script: str) -> Path:
    root = make_root(folder)
    own_worker(root, script)
    return root


def mine() -> str:
    return (FIXTURES / "workers" / "mine.py").read_text(encoding="utf-8")


def test_contender_is_listed_with_device_and_workload(tmp_path: Path) -> None:
    root = make_own_root(tmp_path / "project", mine())
    (root / "reference_empty").mkdir()
    assert listed(root) == MINE


def test_what_is_listed_can_be_typed(tmp_path: Path) -> None:
    root = make_own_root(tmp_path / "project", mine())
    workload, engine, variant, device = MINE[0].split()
    asked = ["--workload", workload, "--engine", engine, "--variant", variant, "--set", device]
    assert "1 case" in bench("plan", *asked, root=root).stdout


def test_workers_of_the_project_are_not_started() -> None:
    """Their variants are known; asking PyTorch would take seconds."""
    assert "pytorch-" not in bench("list", "variants", BENCH_PYTHON="/no/such/python").stdout


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import no_such_module", "died (exit code 1); stderr: "),
        ("print('Loading: 100 %', flush=True); input()", 'printed "Loading: 100 %"'),
        ("import json; input(); print(json.dumps({'status': 'ok'}))", 'no "capabilities"'),
    ],
)
def test_contender_that_does_not_start_is_listed_with_the_reason(
    script: str, reason: str, tmp_path: Path
) -> None:
    root = make_own_root(tmp_path / "project", script)
    for line, device in zip(listed(root), ("cpu", "cuda"), strict=True):
        assert line.startswith(f"–            mine     device={device}: ")
        assert reason in line


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--engine", "mine"], "--variant is needed with --engine mine: `bench list variants` nam"),
        (["--engine", "mine", "--variant", "*"], "--variant is needed with --engine mine: "),
        (["--engine", "mine,cpu"], '--engine: found "mine,cpu", expected one; without --engine '),
        (["--variant", "plain"], "); those of mine need --engine"),
    ],
)
def test_options_that_name_no_variant(options: list[str], message: str, tmp_path: Path) -> None:
    root = make_own_root(tmp_path / "project", mine())
    done = bench("plan", "--workload", "mlp_infer", *options, root=root, expect=2)
    assert message in done.stderr
    assert "$." not in done.stderr


# ---- bench doctor ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "found", "cpu"),
    [
        (mine(), True, 'Python, no version: its hello.versions has no "mine"'),
        (mine().replace('{"python": sys.', '{"mine": sys.'), True, "Python, version 3."),
        ("import no_such_module", False, "died (exit code 1); stderr: "),
    ],
    ids=["other version", "version", "dies"],
)
@pytest.mark.usefixtures("warm_workers")
def test_doctor_lists_own_contenders(script: str, found: bool, cpu: str, tmp_path: Path) -> None:
    root = make_own_root(tmp_path / "project", script)
    done = bench("doctor", "--json", root=root, BENCH_JAX_PYTHON="none")
    (item,) = (item for item in json.loads(done.stdout) if item["what"] == "mine")
    on_cpu, on_cuda = item["detail"].split("; cuda: ")
    assert item["found"] == found
    assert on_cpu.startswith("cpu: ") and cpu in on_cpu
    assert not found or on_cuda == "plain Python runs on the CPU only"
    assert "reference_mine/worker.py" in item["install"]
