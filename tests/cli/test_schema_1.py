"""A run of schema 1, made before there were passes (revision 759dffd), is read as one pass."""

import json
import shutil
from pathlib import Path

import pytest
from project import FIXTURES, bench, read_lines

OLD = FIXTURES / "schema_1"
SWEEP = ("--workload", "mlp_infer", "--engine", "cpu", "--set", "batch=1,64")


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a copy of the run."""
    return shutil.copytree(OLD, tmp_path / "old")


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of the same sweep by this program."""
    run = tmp_path_factory.mktemp("new") / "run"
    bench("run", *SWEEP, "--passes", "2", "--time-limit", "0.3s", "--out", run)
    return run


def test_merge_makes_one_pass_of_it(old: Path, tmp_path: Path) -> None:
    bench("merge", tmp_path / "merged", old)
    for before, after in zip(read_lines(old), read_lines(tmp_path / "merged"), strict=True):
        assert (before["schema"], before.get("pass")) == (1, None)
        assert (after["schema"], after["pass"]) == (2, 1)
        for name, phase in after["phases"].items():
            assert phase["samples"] == before["phases"][name]["samples"]
            assert phase["median"] == before["phases"][name]["median"]
            # Those in the file are over samples.
            assert before["phases"][name]["ci95"] != [None, None] == phase["ci95"]
            assert phase["pass_starts"] == [0, len(phase["round_starts"]) - 1]


def test_merge_with_schema_2_is_refused(old: Path, new: Path, tmp_path: Path) -> None:
    done = bench("merge", tmp_path / "merged", new, old, expect=3)
    assert f"{old}: its results have schema 1, but 2 in {new}" in done.stderr
    assert not (tmp_path / "merged").exists()


def test_compare_with_itself(old: Path, tmp_path: Path) -> None:
    other = shutil.copytree(OLD, tmp_path / "other")
    answer = json.loads(bench("compare", old, other, "--json").stdout)
    assert len(answer["cases"]) == 4
    assert not [case for case in answer["cases"] if case["verdict"] == "regressed"]


@pytest.mark.parametrize("turned", [False, True])
def test_compare_with_schema_2_is_refused(old: Path, new: Path, turned: bool) -> None:
    done = bench("compare", *((new, old) if turned else (old, new)), expect=3)
    assert done.stdout == ""
    assert "schema" in done.stderr


def test_resume_is_refused(old: Path) -> None:
    before = {path.name: path.read_bytes() for path in old.iterdir()}
    done = bench("run", *SWEEP, "--out", old, "--resume", expect=2)
    assert (
        f"bench: {old} has schema 1, from an older version: results of schema 2 cannot be added to "
        "it; choose another --out"
    ) in done.stderr
    assert {path.name: path.read_bytes() for path in old.iterdir()} == before
