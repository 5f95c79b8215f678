"""`bench merge` of shards that are missing or not finished: told, and the rest is merged."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from project import (
    ROOT,
    bench,
    make_root,
    null_sweep,
    read_header,
    read_passes,
    report_of,
    write_sweep,
)

N_SHARDS = 4
WORK_NS = [1000 * i for i in range(1, 15)]
THIRD = [3000, 6000, 11000, 14000]  # of the shards


def case(work_ns: int) -> str:
    return f"null/null/steady/work_ns={work_ns}"


def measured(run: Path) -> set[str]:
    return {name for name, _ in read_passes(run)}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return all shards of a run with two passes."""
    folder = tmp_path_factory.mktemp("shards")
    sweep = null_sweep(folder / "s.json", ["steady"], WORK_NS)
    folders = [folder / str(i) for i in range(1, N_SHARDS + 1)]
    for i, shard in enumerate(folders, start=1):
        bench("run", sweep, "--passes", "2", "--shard", f"{i}/{N_SHARDS}", "--out", shard)
    return folders


def without_lines(shard: Path, out: Path, *dropped: tuple[int, int]) -> Path:
    """Copy a shard without these cases' passes."""
    shutil.copytree(shard, out)
    lines = (shard / "cases.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    keys = {(case(work_ns), number) for work_ns, number in dropped}
    kept = [
        line for line in lines if (json.loads(line)["id"], json.loads(line)["pass"]) not in keys
    ]
    assert len(kept) == len(lines) - len(dropped)
    (out / "cases.jsonl").write_text("".join(kept), encoding="utf-8")
    change(out, digest=None)  # as if it had not been closed
    return out


def change(run: Path, **keys: Any) -> None:
    header = {k: v for k, v in {**read_header(run), **keys}.items() if v is not None}
    (run / "run.json").write_text(json.dumps(header), encoding="utf-8")


def test_nothing_is_missing(shards: list[Path], tmp_path: Path) -> None:
    merged = tmp_path / "merged"
    done = bench("merge", merged, *shards)
    assert (done.stdout, done.stderr) == (f"{merged}\n", "")
    assert measured(merged) == {case(work_ns) for work_ns in WORK_NS}
    assert "shard" not in read_header(merged)
    assert [sweep["passes"] for sweep in read_header(merged)["sweeps"]] == [2]


def test_missing_shards_and_their_first_cases_are_told(shards: list[Path], tmp_path: Path) -> None:
    merged = tmp_path / "merged"
    done = bench("merge", merged, shards[2], expect=1)
    first = [work_ns for work_ns in WORK_NS if work_ns not in THIRD]
    assert done.stdout == f"{merged}\n"
    assert done.stderr == (
        f"{merged}: missing shards: 1-2,4 of 4\n"
        f"{merged}: 14 cases: 10 missing, 0 unfinished:\n"
        + "".join(f"  {case(work_ns)}\n" for work_ns in first)
        + f"bench: {merged} is incomplete: 10 of 14 cases\n"
    )
    assert len(first) == 10
    assert measured(merged) == measured(shards[2])
    report = report_of(merged, out=tmp_path / "REPORT.md")
    assert "**it did not finish**" in report
    assert "**The run did not finish:** it has only the finished cases" in report


def test_no_more_than_ten_cases_are_told(shards: list[Path], tmp_path: Path) -> None:
    short = without_lines(shards[2], tmp_path / "short", (3000, 1), (3000, 2))
    done = bench("merge", tmp_path / "merged", short, expect=1)
    told = [line for line in done.stderr.splitlines() if line.startswith("  ")]
    assert told[:2] == [f"  {case(1000)}", f"  {case(2000)}"]
    assert (len(told), told[-1]) == (11, "  and 1 more")


def test_a_case_with_passes_left_is_unfinished(shards: list[Path], tmp_path: Path) -> None:
    first = without_lines(shards[0], tmp_path / "first", (8000, 2), (9000, 1), (9000, 2))
    merged = tmp_path / "merged"
    done = bench("merge", merged, first, *shards[1:], expect=1)
    assert done.stderr == (
        f"{merged}: 14 cases: 1 missing, 1 unfinished:\n"
        f"  {case(8000)} (1 of 2 passes)\n"
        f"  {case(9000)}\n"
        f"bench: {merged} is incomplete: 2 of 14 cases\n"
    )
    assert read_header(merged)["finished"] is None
    # The rest can be measured there.
    sweep = shards[0].parent / "s.json"
    bench("run", sweep, "--passes", "2", "--out", merged, "--resume")
    assert read_header(merged)["finished"]
    bench("merge", tmp_path / "again", merged)


def test_the_most_passes_that_a_shard_was_asked_for(shards: list[Path], tmp_path: Path) -> None:
    more = tmp_path / "more"
    shutil.copytree(shards[3], more)
    sweep = shards[0].parent / "s.json"
    bench("run", sweep, "--passes", "3", "--shard", "4/4", "--out", more, "--resume")
    done = bench("merge", tmp_path / "merged", *shards[:3], more, expect=1)
    assert "14 cases: 0 missing, 10 unfinished" in done.stderr
    assert f"  {case(1000)} (2 of 3 passes)\n" in done.stderr


@pytest.mark.parametrize("there", [False, True])
def test_a_folder_without_a_run_is_left_out(
    shards: list[Path], tmp_path: Path, there: bool
) -> None:
    merged, nothing = tmp_path / "merged", tmp_path / "nothing"
    if there:
        nothing.mkdir()
    done = bench("merge", merged, nothing, *shards[1:], expect=1)
    why = "it has no run.json" if there else "no such folder"
    assert done.stderr.startswith(f"{nothing}: left out: {why}\n")
    assert f"{merged}: missing shards: 1 of 4\n" in done.stderr
    assert done.stdout == f"{merged}\n"
    assert len(measured(merged)) == 11


def test_a_folder_left_out_is_told_if_no_case_is_missing(
    shards: list[Path], tmp_path: Path
) -> None:
    merged = tmp_path / "merged"
    done = bench("merge", merged, *shards, tmp_path / "nothing", expect=1)
    assert done.stderr.endswith(f"bench: {merged}: 1 folder was left out\n")
    assert len(measured(merged)) == len(WORK_NS)
    assert read_header(merged)["finished"] is None


def test_no_folder_has_a_run(tmp_path: Path) -> None:
    done = bench("merge", tmp_path / "merged", tmp_path / "a", tmp_path / "b", expect=2)
    assert f"{tmp_path / 'a'}" in done.stderr
    assert not (tmp_path / "merged").exists()


def test_an_unreadable_shard_is_an_error(shards: list[Path], tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "run.json").write_text("{", encoding="utf-8")
    bench("merge", tmp_path / "merged", shards[0], broken, expect=2)
    assert not (tmp_path / "merged").exists()


def test_two_divisions_of_a_sweep(shards: list[Path], tmp_path: Path) -> None:
    """Shard 1/2 has the cases of 1/4 and 4/4: nothing is missing, and no shard is counted."""
    sweep, half = shards[0].parent / "s.json", tmp_path / "half"
    bench("run", sweep, "--passes", "2", "--shard", "1/2", "--out", half)
    bench("merge", tmp_path / "merged", half, shards[1], shards[2])
    done = bench("merge", tmp_path / "other", half, shards[1], expect=1)
    assert "missing shards" not in done.stderr
    assert "14 cases: 4 missing" in done.stderr


def test_runs_of_older_versions_are_merged_as_before(shards: list[Path], tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(shards[0], old)
    header = read_header(old)
    change(old, shard=None, sweeps=[{k: s[k] for k in ("path", "text")} for s in header["sweeps"]])
    assert bench("merge", tmp_path / "merged", old).stderr == ""


@pytest.mark.parametrize("passes", [0, 65, -1])
def test_impossible_passes_are_refused(shards: list[Path], tmp_path: Path, passes: int) -> None:
    bad = tmp_path / "bad"
    shutil.copytree(shards[0], bad)
    sweeps = read_header(bad)["sweeps"]
    change(bad, sweeps=[{**sweeps[0], "passes": passes}])
    done = bench("merge", tmp_path / "merged", bad, expect=2)
    assert f"{bad}/run.json: sweeps[0].passes: expected 1 to 64" in done.stderr


def test_a_sweep_that_cannot_be_expanded_any_more(tmp_path: Path) -> None:
    """What the sweep's text means depends on the project folder: here a rung was removed."""
    root = make_root(tmp_path / "root", copy="kernels")
    rungs = [{"engine": "cuda", "variants": ["01_study", "03_vectorized"]}]
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", rungs, axes={"batch": [1]})
    bench("run", sweep, "--out", tmp_path / "run", root=root, CUDA_VISIBLE_DEVICES="")
    (rung,) = (root / "kernels" / "mlp_infer").glob("03_vectorized.cu")
    rung.unlink()
    merged = tmp_path / "merged"
    done = bench("merge", merged, tmp_path / "run", root=root, expect=1)
    assert f"bench: {merged}: cannot tell what is missing: " in done.stderr
    assert "03_vectorized" in done.stderr
    assert len(measured(merged)) == 2
    assert read_header(merged)["finished"] is None


def test_skipped_cases_and_engines_left_out_are_not_missing(tmp_path: Path) -> None:
    contenders = [
        {"engine": "cpu", "variants": ["ref"]},
        {"engine": "cuda", "variants": ["01_study"]},
        {"engine": "pytorch", "variants": ["eager"]},
    ]
    sweep = write_sweep(tmp_path / "s.json", "mlp_infer", contenders, axes={"batch": [1, 2]})
    shards = [tmp_path / "1", tmp_path / "2"]
    for i, shard in enumerate(shards, start=1):
        options = ("--passes", "2", "--no-pytorch", "--shard", f"{i}/2")
        bench("run", sweep, "--out", shard, *options, root=ROOT, CUDA_VISIBLE_DEVICES="")
        assert read_header(shard)["left_out"] == ["pytorch"]
    assert bench("merge", tmp_path / "merged", *shards).stderr == ""
    assert read_header(tmp_path / "merged")["left_out"] == ["pytorch"]
    # An engine that only some shards left out is missing from these.
    change(shards[1], left_out=None)
    done = bench("merge", tmp_path / "other", *shards, expect=1)
    assert "8 cases: 4 missing" in done.stderr
    assert "left_out" not in read_header(tmp_path / "other")
