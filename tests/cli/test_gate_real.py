"""The patches of gate_real.py apply to the sources."""

from pathlib import Path

import gate_real
import pytest
from project import ROOT, ran


@pytest.mark.parametrize("name", ["IN_C", "IN_CUDA"])
def test_patch_applies(tmp_path: Path, name: str) -> None:
    plant = getattr(gate_real, name)
    (source,) = [
        line.removeprefix("--- a/") for line in plant.patch.splitlines() if line.startswith("--- ")
    ]
    before = (ROOT / source).read_text(encoding="utf-8")
    copy = tmp_path / source
    copy.parent.mkdir(parents=True)
    copy.write_text(before, encoding="utf-8")
    ran("git", "apply", "-", cwd=tmp_path, input=plant.patch)
    assert copy.read_text(encoding="utf-8") != before
    assert list(ROOT.glob(plant.sweeps))
