"""Results folders that cannot be written, or only in part: no finished case is lost."""

import json
import resource
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
from project import (
    BENCH,
    bench,
    null_sweep,
    ran,
    read_cases,
    read_header,
    report_of,
    write_sweep,
)


@pytest.mark.parametrize("below", ["", "run"])
def test_folder_that_cannot_be_created(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("someone's notes", encoding="utf-8")
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    done = bench("run", sweep, "--out", file / below, expect=2)
    assert done.stderr == f"bench: {file}: cannot make folder: File exists\n"
    assert file.read_text(encoding="utf-8") == "someone's notes"


def test_folder_on_a_read_only_system(tmp_path: Path) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("no /proc here")
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    done = bench("run", sweep, "--out", "/proc/bench/run", expect=2)
    assert done.stderr.startswith("bench: /proc/bench: cannot make folder: ")


def bench_on_a_small_disk(limit_bytes: int, *arguments: str | Path) -> Any:
    """Run bench with a limit on file size that gives an error, not a signal."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    return ran(BENCH, *arguments, preexec_fn=limit, expect=None)


@pytest.mark.parametrize(
    ("limit_bytes", "file"), [(20, "run.lock"), (500, "run.json"), (5000, "cases.jsonl")]
)
def test_full_disk_keeps_finished_cases(tmp_path: Path, limit_bytes: int, file: str) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady", "noisy"], [1000, 2000, 3000])
    run = tmp_path / "run"
    done = bench_on_a_small_disk(limit_bytes, "run", sweep, "--out", run, "--quiet")
    assert done.returncode in {1, 2}
    assert done.stderr.startswith(f"bench: {run}/{file}: cannot ")
    assert "File too large" in done.stderr
    hint = f"free some disk space, then resume with the same command and --resume --out {run}"
    assert (hint in done.stderr) == (file == "cases.jsonl")
    journal = run / "cases.jsonl"
    whole = journal.read_bytes().split(b"\n")[:-1] if journal.exists() else []
    if whole:
        report = report_of(run, out=tmp_path / "REPORT.md")
        assert json.loads(whole[0])["id"] in report
    bench("run", sweep, "--out", run, "--resume")
    assert journal.read_bytes().split(b"\n")[: len(whole)] == whole
    assert {case["status"] for case in read_cases(run).values()} == {"ok"}
    assert len(read_cases(run)) == 6
    assert read_header(run)["finished"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of real work."""
    folder = tmp_path_factory.mktemp("finished")
    sweep = write_sweep(
        folder / "s.json",
        "mlp_infer",
        [{"engine": "cpu", "variants": ["ref", "omp"]}],
        axes={"batch": [4, 8]},
    )
    bench("run", sweep, "--out", folder / "run")
    return folder / "run"


def test_truncated_journal_can_be_read(finished: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    text = (run / "cases.jsonl").read_bytes()
    (run / "cases.jsonl").write_bytes(text[:-100])
    report = report_of(run, out=tmp_path / "REPORT.md")
    whole = read_cases(finished)
    assert "The last line of `cases.jsonl` was incomplete and was dropped." in report
    bench("merge", tmp_path / "merged", run, expect=1)
    merged = read_cases(tmp_path / "merged")
    assert len(merged) == len(whole) - 1
    assert all(whole[name] == case for name, case in merged.items())
