"""The protocol version that a worker reports."""

import sys
from pathlib import Path

import pytest
from project import FIXTURES, bench, make_root, read_lines, write_sweep

MINE = (FIXTURES / "workers" / "mine.py").read_text(encoding="utf-8")
SPOKEN = '"protocol": 2,'


@pytest.mark.parametrize("version", [1, 2, 3])
def test_other_protocol_versions_are_refused(version: int, tmp_path: Path) -> None:
    root = make_root(tmp_path / "project")
    (root / "reference_mine").mkdir()
    assert SPOKEN in MINE
    worker = MINE.replace(SPOKEN, f'"protocol": {version},')
    (root / "reference_mine" / "worker.py").write_text(worker, encoding="utf-8")
    mine = {"engine": "mine", "variants": ["plain"], "device": ["cpu"]}
    sweep, run = write_sweep(tmp_path / "s.json", "mlp_infer", [mine]), tmp_path / "run"
    options = ("--out", run, "--quiet")
    bench("run", sweep, *options, root=root, expect=int(version != 2), BENCH_PYTHON=sys.executable)
    (case,) = read_lines(run)
    if version == 2:
        assert case["status"] == "ok"
    else:
        assert case["status"] == "failed"
        assert case["reason"] == (
            f"worker mine-cpu speaks protocol {version}, expected 2: "
            "add refill, last and the key fresh of sample (docs/worker-protocol.md)"
        )
