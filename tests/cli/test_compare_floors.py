"""`bench compare --floor`: the data for a noise floor."""

from pathlib import Path

import pytest
from compare_runs import CUDA, Run, case_of, compare, rerun


@pytest.mark.parametrize(
    ("code_hash", "verdict"), [(None, "unchanged"), ("00ff", "regressed")], ids=["same", "other"]
)
def test_floor_is_of_one_program(code_hash: str | None, verdict: str, tmp_path: Path) -> None:
    """Differences between different code are not noise and do not raise the floor."""
    base = Run(tmp_path / "base")
    base.write()
    other = rerun(base, "other", 3)
    resources = other.scale(CUDA, 1.3)["resources"]
    resources["code_hash"] = code_hash or resources["code_hash"]
    other.write()
    candidate = rerun(base)
    candidate.scale(CUDA, 1.1)
    answer = compare(base, candidate, "--floor", other.folder, expect=int(verdict == "regressed"))
    case = case_of(answer, CUDA)
    assert case["verdict"] == verdict
    for cell in case["cells"]:
        assert ((cell["floor_frac"] or 0) > 0.2) == (code_hash is None)
