"""`bench cluster` without Slurm: its scripts, run by a shell, and what it asks a fake sbatch.

tests/slurm/ has the same with a real one.
"""

import os
import subprocess
from pathlib import Path

import pytest
from project import (
    QUICK_MEASURE,
    bench,
    make_root,
    ran,
    read_header,
    read_passes,
    write_sweep,
)
from test_folder_lock import TASK, is_taken_over, planted

# Writes down its words; its jobs are 1, 2, 3, … and the one after $MOST is refused.
FAKE_SBATCH = """#!/bin/bash
here=$(dirname "$0")
[ "$(basename "$0")" = sbatch ] || { echo "$*" >>"$here/cancelled"; exit; }
[ "$(cat "$here/submitted" 2>/dev/null | wc -l)" -lt "${MOST:-9}" ] || { echo "no more" >&2; exit 1; }
echo "$*" >>"$here/submitted"
echo "$(wc -l <"$here/submitted");a_cluster"
"""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    folder = tmp_path / "fake"
    folder.mkdir()
    for name in ("sbatch", "scancel"):
        (folder / name).write_text(FAKE_SBATCH, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "pro ject", copy="plots")


def path_with(fake: Path) -> str:
    return f"{fake}:{os.environ['PATH']}"


def null_sweep(folder: Path) -> Path:
    contender = {"engine": "null", "variants": ["steady", "noisy"]}
    measure = {**QUICK_MEASURE, "time_limit_s": 0.01}
    axes = {"work_ns": [1, 2, 3]}
    return write_sweep(folder / "s.json", "null", [contender], axes=axes, measure=measure)


def script(path: Path, task: int) -> subprocess.CompletedProcess[str]:
    """Run a script as Slurm does: in any folder, with the number of the task."""
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task), "SLURMD_NODENAME": "here"}
    environment.pop("BENCH_ROOT", None)
    return ran("bash", path, env=environment, cwd="/", expect=None)


def test_scripts_measure_merge_and_report(fake: Path, root: Path, tmp_path: Path) -> None:
    out = tmp_path / "o u't%#$x`\"" / "t%w o"
    sweep = null_sweep(tmp_path)
    command = ("cluster", "s.json", "--shards", "2", "--out", out, "--", "--passes", "3")
    done = bench(*command, root=root, cwd=tmp_path, PATH=path_with(fake))
    shards, merge = out / "shard.sh", out / "merge.sh"
    submitted = (fake / "submitted").read_text().splitlines()
    assert submitted == [
        f"--parsable {shards}",
        f"--parsable --dependency=afterany:1 {merge}",
    ]
    assert done.stdout.splitlines()[0] == "job 1: 2 shards"
    assert "scancel 1 2\n" in done.stdout
    first = script(shards, 1)
    assert (first.returncode, first.stdout.splitlines()[0]) == (
        0,
        "shard 1 of 2 on here, restarts: 0",
    )
    lacking = script(merge, 0)
    assert lacking.returncode == 1
    assert "shard" in lacking.stderr and "missing" in lacking.stderr, lacking.stderr
    merged = out / "merged" / "t%w o"
    n_first = len(read_passes(merged))
    assert (out / "REPORT.md").exists() and 0 < n_first < 18
    assert script(shards, 2).returncode == 0
    kept = read_passes(out / "shards" / "1")
    assert script(shards, 1).returncode == 0  # again: nothing is left to measure
    assert read_passes(out / "shards" / "1") == kept
    complete = script(merge, 0)
    assert complete.returncode == 0, complete.stderr
    bench("run", sweep, "--passes", "3", "--out", tmp_path / "whole", root=root)
    assert set(read_passes(merged)) == set(read_passes(tmp_path / "whole"))
    assert read_header(merged)["finished"]
    bench("report", "--check", out / "REPORT.md", root=root)


@pytest.mark.parametrize("out", [".", "..", "new/./"])
def test_the_folder_has_a_name_whatever_it_is_called(
    fake: Path, root: Path, tmp_path: Path, out: str
) -> None:
    """The merged run is named after it, and replaced by the next merge."""
    here = tmp_path / "above" / "here"
    here.mkdir(parents=True)
    null_sweep(here)
    top = {".": here, "..": here.parent}.get(out, here / "new")
    command = ("cluster", here / "s.json", "--shards", "1", "--out", out)
    bench(*command, root=root, cwd=here, PATH=path_with(fake))
    assert script(top / "shard.sh", 1).returncode == 0
    for _ in range(2):
        done = script(top / "merge.sh", 0)
        assert done.returncode == 0, done.stderr
    assert (top / "merged" / top.name / "run.json").exists()
    assert (top / "REPORT.md").exists()


def test_a_folder_without_a_name_is_refused(fake: Path, root: Path, tmp_path: Path) -> None:
    null_sweep(tmp_path)
    for out, said in (("/", "expected a folder with a name"), ("no/..", "No such file")):
        command = ("cluster", "s.json", "--shards", "1", "--dry-run", "--out", out)
        done = bench(*command, root=root, cwd=tmp_path, expect=2, PATH=path_with(fake))
        assert said in done.stderr


def test_without_a_shard_there_is_no_report(fake: Path, root: Path, tmp_path: Path) -> None:
    null_sweep(tmp_path)
    command = ("cluster", "s.json", "--shards", "2", "--out", "out")
    bench(*command, root=root, cwd=tmp_path, PATH=path_with(fake))
    done = script(tmp_path / "out" / "merge.sh", 0)
    assert done.returncode == 1
    assert not (tmp_path / "out" / "REPORT.md").exists()


def test_options_of_sbatch(fake: Path, root: Path, tmp_path: Path) -> None:
    null_sweep(tmp_path)
    options = ("--partition", "p q", "--sbatch-option", "--comment=a # b", "--gres", "gpu:1")
    command = ("cluster", "s.json", "--shards", "1", "--out", "out", *options)
    bench(*command, root=root, cwd=tmp_path, PATH=path_with(fake))
    out = tmp_path / "out"
    submitted = (fake / "submitted").read_text().splitlines()
    assert submitted[-1] == f"--parsable --dependency=afterany:1 {out}/merge.sh"
    lines = (out / "shard.sh").read_text().splitlines()
    assert [line for line in lines if line.startswith("#SBATCH")][-4:] == [
        "#SBATCH --open-mode=append",
        "#SBATCH --array=1-1",
        "#SBATCH --gres=gpu:1",
        '#SBATCH "--comment=a # b"',
    ]
    assert '#SBATCH "--partition=p q"' in lines
    merge = (out / "merge.sh").read_text()
    assert "--partition" in merge and "--gres" not in merge and "--comment" not in merge


def test_all_jobs_are_submitted_or_none(fake: Path, root: Path, tmp_path: Path) -> None:
    null_sweep(tmp_path)
    command = ("cluster", "s.json", "--shards", "2", "--out", "out")
    done = bench(*command, root=root, cwd=tmp_path, expect=2, PATH=path_with(fake), MOST="1")
    assert "merge.sh: no more" in done.stderr
    assert (fake / "cancelled").read_text() == "1\n"


def test_a_dry_run_writes_nothing(root: Path, tmp_path: Path) -> None:
    null_sweep(tmp_path)
    command = ("cluster", "s.json", "--shards", "2", "--out", "out", "--dry-run")
    image = ("--container", "me/image:1 2")
    done = bench(*command, *image, root=root, cwd=tmp_path, PATH="/nowhere")
    assert not (tmp_path / "out").exists()
    assert '--container-image="me/image:1 2"' in done.stdout
    for text in done.stdout.split("#!/bin/bash")[1:]:
        ran("bash", "-n", input=text.rpartition("\n\n")[0] or text)
        assert f"cd {tmp_path} || exit" in text


def test_a_container_starts_bench(fake: Path, root: Path, tmp_path: Path) -> None:
    null_sweep(tmp_path)
    (fake / "srun").write_text('#!/bin/bash\nprintf "<%s>" "$@"\n', encoding="utf-8")
    (fake / "srun").chmod(0o755)
    command = ("cluster", "s.json", "--shards", "1", "--out", "o t", "--container", "i m")
    bench(*command, root=root, cwd=tmp_path, PATH=path_with(fake))
    shard = (tmp_path / "o t" / "shard.sh").read_text()
    (tmp_path / "o t" / "shard.sh").write_text(f"PATH={path_with(fake)!r}\n{shard}")
    words = script(tmp_path / "o t" / "shard.sh", 1).stdout.split("\n")[1]
    mounts = f"{tmp_path}:{tmp_path},{root}:{root},{tmp_path}/o t:{tmp_path}/o t"
    assert f"<--container-image=i m><--container-workdir={tmp_path}>" in words
    assert f"<--container-mounts={mounts}>" in words
    assert words.endswith(f"<--out><{tmp_path}/o t/shards/1><--resume>")


@pytest.mark.parametrize(
    ("squeue", "taken"),
    [
        ('[ "$*" = "--noheader --states=running,suspended,completing,stopped --jobs 70_3" ]', True),
        ("echo slurm_load_jobs error: Invalid job id specified >&2; exit 1", True),
        ("echo 70_3 RUNNING", False),
        ("echo Unable to contact slurm controller >&2; exit 1", False),
    ],
)
def test_the_folder_of_a_task_that_slurm_has_ended(
    squeue: str, taken: bool, fake: Path, tmp_path: Path
) -> None:
    """On another node, and submitted again: only Slurm knows that the first task has ended."""
    (fake / "squeue").write_text(f"#!/bin/bash\n{squeue}\n", encoding="utf-8")
    (fake / "squeue").chmod(0o755)
    sweep, run = planted(tmp_path)
    assert not is_taken_over(sweep, run, PATH=path_with(fake))  # nobody says which Slurm
    again = {**TASK, "SLURM_ARRAY_JOB_ID": "80", "PATH": path_with(fake)}
    assert is_taken_over(sweep, run, **again) == taken


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--out", "a\\b"), "a path without backslashes"),
        *(
            (words, "expected no control characters")
            for words in (
                ("--out", "a\nb"),
                ("--out", "o", "--sbatch-option", "--x\n#SBATCH --y"),
                ("--out", "o", "--gres", "a\nb"),
                ("--out", "o", "--container", "a\nb"),
                ("--out", "o", "--", "--cpus", "0\n1"),
            )
        ),
    ],
)
def test_what_a_script_cannot_say_is_refused(
    options: tuple[str, ...], told: str, root: Path, tmp_path: Path
) -> None:
    null_sweep(tmp_path)
    command = ("cluster", "s.json", "--shards", "1", "--dry-run", *options)
    done = bench(*command, root=root, cwd=tmp_path, expect=2)
    assert told in done.stderr
    assert not done.stdout
