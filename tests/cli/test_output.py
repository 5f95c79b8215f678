"""Where the output goes: nothing is lost without a word, and no device or pipe becomes a file."""

import json
import os
import resource
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from charts import needs_gnuplot
from fake_driver import build_gpu, cuda_sweep
from make_pair import Run
from project import BENCH, FIXTURES, NO_PYTHON, ROOT, TIMEOUT_S, bench, null_sweep, ran

RUN = FIXTURES / "report" / "gpu"
ODD = "x\x1b[31mred"  # would colour a terminal


def start(
    *arguments: str | Path, cwd: Path | None = None, **options: object
) -> subprocess.CompletedProcess[str]:
    """Run bench with other streams than bench() gives it."""
    environment = {**os.environ, "BENCH_ROOT": str(ROOT)}
    command = [str(BENCH), *map(str, arguments)]
    defaults = {"stderr": subprocess.PIPE, "text": True, "timeout": TIMEOUT_S, "env": environment}
    return subprocess.run(command, cwd=cwd, check=False, **{**defaults, **options})


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """Return a folder with the runs base and same."""
    run = Run(tmp_path / "base")
    run.write()
    other = run.copy_to(tmp_path / "same")
    other.noise(2)
    other.write()
    return tmp_path


# ---- stdout --------------------------------------------------------------------------------------

LONG_OUTPUT = [
    *(["report", RUN, "--out", "-"], ["report", RUN, "--html", "-"]),
    *(["report", RUN, "--out", "/dev/stdout"], ["list", "workloads"], ["help", "run"]),
    *(["history", "base", "same", "--all", "--json"], ["repeat", "base", "same", "--json"]),
    ["compare", "base", "same", "--all"],
]


@pytest.mark.parametrize("command", LONG_OUTPUT, ids=lambda words: f"{words[0]} {words[-1]}")
def test_a_full_disk_below_stdout_is_an_error(pair: Path, command: list[str | Path]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = start(*command, cwd=pair, stdout=full)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("bench: cannot write to stdout"), done.stderr


def test_a_run_whose_json_is_lost_is_an_error(tmp_path: Path) -> None:
    """The JSON is longer than a buffer; the last flush has nothing left that could fail."""
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000, 3000])
    with Path("/dev/full").open("wb") as full:
        done = start("run", sweep, "--json", "--out", tmp_path / "run", stdout=full)
    assert done.returncode == 2
    assert done.stderr.endswith("bench: cannot write to stdout\n"), done.stderr


def test_a_worker_whose_answers_are_lost_ends() -> None:
    request = '{"op": "bye"}\n'
    with Path("/dev/full").open("wb") as full:
        done = start("worker", "--engine", "null", stdout=full, input=request)
    assert done.returncode == 2, done.stderr
    assert "cannot write an answer" in done.stderr


@pytest.mark.parametrize("command", [["list", "workloads"], ["report", RUN, "--out", "-"]])
def test_a_reader_that_leaves_ends_it_quietly(pair: Path, command: list[str | Path]) -> None:
    """As what starts other processes, it ignores SIGPIPE here, as Python does."""
    reader, writer = os.pipe()
    os.close(reader)
    done = start(*command, cwd=pair, stdout=writer, restore_signals=False)
    os.close(writer)
    assert (abs(done.returncode) % 128, done.stderr) == (13, "")


@pytest.mark.parametrize("closed", [">&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_no_file_gets_the_number_of_a_closed_stream(tmp_path: Path, closed: str) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000, 2000])
    environment = {**os.environ, "BENCH_ROOT": str(ROOT)}
    command = ("sh", "-c", f'exec "$0" run "$1" --out "$2" {closed}')
    ran(*command, BENCH, sweep, tmp_path / "run", env=environment, expect=2)  # the table is lost
    lines = (tmp_path / "run" / "cases.jsonl").read_text("utf-8").splitlines()
    assert len([json.loads(line) for line in lines]) == 2
    bench("report", tmp_path / "run", "--out", "-")


def test_who_closes_stdin_loses_nothing(tmp_path: Path) -> None:
    sweep = null_sweep(tmp_path / "s.json", ["steady"], [1000])
    command = ("sh", "-c", 'exec "$0" run "$1" --out "$2" <&-')
    environment = {**os.environ, "BENCH_ROOT": str(ROOT)}
    ran(*command, BENCH, sweep, tmp_path / "run", env=environment)


# ---- files that the user names -------------------------------------------------------------------


def through_a_fifo(fifo: Path, cwd: Path, *command: str | Path) -> str:
    """Return what bench writes to a pipe that has a name."""
    os.mkfifo(fifo)
    taken = fifo.with_suffix(".taken")
    with taken.open("wb") as stream, subprocess.Popen(["cat", fifo], stdout=stream) as reader:
        try:
            done = start(*command, cwd=cwd, stdout=subprocess.PIPE)
            assert done.returncode == 0, done.stderr
            assert stat.S_ISFIFO(fifo.lstat().st_mode), "it was replaced"
            assert reader.wait(TIMEOUT_S) == 0
        finally:
            reader.kill()
    return taken.read_text("utf-8")


def test_reports_to_pipes_and_descriptors(tmp_path: Path) -> None:
    run = shutil.copytree(RUN, tmp_path / "run")
    wanted = bench("report", "run", "--out", "-", cwd=tmp_path).stdout
    assert wanted.startswith("# Hand-written code against PyTorch")
    assert bench("report", "run", "--out", "/dev/stdout", cwd=tmp_path).stdout == wanted
    assert through_a_fifo(tmp_path / "fifo", tmp_path, "report", "run", "--out", "fifo") == wanted
    both = tmp_path / "both"
    with both.open("w", encoding="utf-8") as stream:
        stream.write("before\n")
        stream.flush()
        start("report", "run", "--out", "/dev/stdout", cwd=tmp_path, stdout=stream)
    assert both.read_text("utf-8") == "before\n" + wanted
    words = f'"{BENCH}" report run --out >(cat >piped); wait $!'
    environment = {**os.environ, "BENCH_ROOT": str(ROOT)}
    ran("bash", "-c", words, env=environment, cwd=tmp_path)
    assert (tmp_path / "piped").read_text("utf-8") == wanted
    html = bench("report", "run", "--html", "-", cwd=tmp_path).stdout
    assert through_a_fifo(tmp_path / "f2", tmp_path, "report", "run", "--html", "f2") == html
    assert not list(run.glob("*.md")), "no pages"


def test_a_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    shutil.copytree(RUN, tmp_path / "run")
    (tmp_path / "elsewhere.md").touch()
    (tmp_path / "R.md").symlink_to("elsewhere.md")
    bench("report", "run", "--out", "R.md", cwd=tmp_path)
    assert (tmp_path / "R.md").is_symlink()
    assert (tmp_path / "elsewhere.md").read_text("utf-8").startswith("# Hand-written code")


@pytest.mark.parametrize("option", ["--markdown", "--junit"])
def test_compare_never_replaces_a_pipe(pair: Path, option: str) -> None:
    bench("compare", "base", "same", option, "file", cwd=pair)
    found = through_a_fifo(pair / "fifo", pair, "compare", "base", "same", option, "fifo")
    assert found == (pair / "file").read_text("utf-8")
    printed = bench("compare", "base", "same", option, "/dev/stdout", cwd=pair).stdout
    assert printed.endswith(found)


@pytest.mark.parametrize("option", ["--markdown", "--junit"])
def test_compare_never_replaces_a_device(pair: Path, option: str) -> None:
    null = pair / "null"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        null.open("wb").close()
    except OSError:
        pytest.skip("a device can only be made by root, on a file system that takes it")
    bench("compare", "base", "same", option, "null", cwd=pair)
    assert stat.S_ISCHR(null.lstat().st_mode), "it was replaced by a file"
    full = pair / "full"
    os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
    done = bench("compare", "base", "same", option, "full", cwd=pair, expect=2)
    assert done.stderr == "bench: full: cannot write: No space left on device\n"
    assert stat.S_ISCHR(full.lstat().st_mode)


def test_a_link_to_a_file_of_a_run_is_not_followed(pair: Path) -> None:
    header = pair / "base" / "run.json"
    before = header.read_bytes()
    (pair / "x.md").symlink_to(header)
    done = bench("compare", "base", "same", "--markdown", "x.md", cwd=pair, expect=2)
    assert "would overwrite a file of the run itself" in done.stderr
    assert header.read_bytes() == before


# ---- full disks ----------------------------------------------------------------------------------


def allow_files_of(most: int) -> None:
    """Let no file grow beyond `most` bytes, an error like a full disk: Python ignores the signal."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


@needs_gnuplot
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_full_disk_leaves_the_old_picture(pair: Path, kind: str) -> None:
    """Gnuplot ends with exit code 0 if it cannot write."""
    out = pair / "charts"
    command = ("plot", "base", "--case", "mlp_infer/cuda/03_vectorized/batch=4", "--out", out)
    bench(*command, "--format", kind, cwd=pair)
    picture, data = out / f"samples.{kind}", out / "samples.dat"
    before = picture.read_bytes()
    room = data.stat().st_size
    assert room < len(before)
    done = start(
        *(*command, "--format", kind),
        cwd=pair,
        stdout=subprocess.PIPE,
        restore_signals=False,
        preexec_fn=lambda: allow_files_of(room),  # noqa: PLW1509
    )
    assert done.returncode == 2, done.stderr
    assert f"samples.{kind}: cannot write: " in done.stderr
    assert picture.read_bytes() == before
    assert sorted(path.name for path in out.iterdir()) == sorted([picture.name, data.name])


def test_a_full_cache_is_not_a_program_that_does_not_compile(tmp_path: Path) -> None:
    gpu, sweep = build_gpu(tmp_path / "gpu"), cuda_sweep(tmp_path, [64, 128])
    done = start(
        *("compile", sweep, "--arch", "sm_90"),
        env={**os.environ, "BENCH_ROOT": str(ROOT), **gpu},
        stdout=subprocess.PIPE,
        restore_signals=False,
        preexec_fn=lambda: allow_files_of(0),  # noqa: PLW1509
    )
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert "cannot write: File too large (BENCH_CACHE names another folder)" in line
    assert "do not compile" not in line


# ---- names that would control the terminal -------------------------------------------------------


def test_no_name_controls_the_terminal(pair: Path) -> None:
    for name in ("base", "same"):
        (pair / name).rename(pair / f"{name}{ODD}")
    base, same = f"base{ODD}", f"same{ODD}"
    shutil.copytree(pair / same, pair / f"third{ODD}")
    sweep = null_sweep(pair / f"s{ODD}.json", ["steady"], [1000])
    commands: list[tuple[str | Path, ...]] = [
        *(("report", base, "--out", f"R{ODD}.md"), ("report", "--check", f"R{ODD}.md")),
        *(("report", base, "--html", f"R{ODD}.html"), ("report", base, "--print", "headline")),
        *(("compare", base, same, "--all"), ("history", base, same, "--all")),
        *(("repeat", base, same), ("merge", f"m{ODD}", base), ("plan", sweep)),
        *(("run", sweep, sweep, "--out", f"r{ODD}"), ("report", f"missing{ODD}")),
        ("fleet", base, same, f"third{ODD}"),
    ]
    if shutil.which("gnuplot"):
        commands += [("plot", base, "--out", f"p{ODD}")]
    for command in commands:
        done = bench(*command, cwd=pair, expect=None)
        assert "\x1b" not in done.stdout + done.stderr, command


# ---- temporary folders ---------------------------------------------------------------------------

NEED_TEMPORARY = [
    ("run", "--workload", "mlp_infer", "--variant", "omp", "--set", "batch=64", "--out", "run"),
    ("run", "--workload", "mlp_infer", "--variant", "omp", "--trace", "--out", "run"),
    ("workload", "check", ROOT / "kernels" / "softmax"),
    ("workload", "import", ROOT / "tests" / "fixtures" / "problems" / "argmax.py", "--out", "run"),
]


@pytest.mark.parametrize("command", NEED_TEMPORARY, ids=lambda words: " ".join(map(str, words[:5])))
def test_an_unusable_tmpdir_is_told_first(tmp_path: Path, command: tuple[str | Path, ...]) -> None:
    done = bench(*command, cwd=tmp_path, expect=2, TMPDIR="/no/such/folder")
    (line,) = done.stderr.splitlines()
    assert line.startswith("bench: /no/such/folder/bench-")
    assert line.endswith("No such file or directory: set TMPDIR to a folder with space")
    assert done.stdout == "" and not list(tmp_path.iterdir())


# ---- the doctor ----------------------------------------------------------------------------------


def test_doctor_names_the_variable_that_hides_all_gpus(tmp_path: Path) -> None:
    gpu = {**build_gpu(tmp_path / "gpu"), "FAKE_CUDA": "cuDeviceGetCount always value=0"}
    done = bench("doctor", "--json", **gpu, **NO_PYTHON, CUDA_VISIBLE_DEVICES="-1")
    (found,) = [item for item in json.loads(done.stdout) if item["what"] == "CUDA device"]
    assert not found["found"]
    assert found["detail"].endswith("finds no device: the environment has CUDA_VISIBLE_DEVICES=-1")
    assert found["install"] == "unset CUDA_VISIBLE_DEVICES, or name a GPU in it"


def test_doctor_tells_the_whole_error_of_an_import(tmp_path: Path) -> None:
    error = "libcudnn.so.9: cannot open shared object file: No such file or directory"
    for name in ("torch", "jax"):
        (tmp_path / name).mkdir()
        text = f"raise ImportError({error!r})\n"
        (tmp_path / name / "__init__.py").write_text(text, encoding="utf-8")
    python = {"BENCH_PYTHON": sys.executable, "BENCH_JAX_PYTHON": sys.executable}
    done = bench("doctor", "--json", **python, PYTHONPATH=str(tmp_path))
    found = {item["what"]: item for item in json.loads(done.stdout)}
    for what, package in (("PyTorch", "torch"), ("JAX", "jax")):
        assert found[what]["detail"] == error
        cure = f"{sys.executable} -m pip install --force-reinstall {package}"
        assert found[what]["install"] == cure, "pip leaves what is installed"
    assert found["torch.compile"]["detail"] == "PyTorch cannot be imported"


def test_doctor_quotes_for_the_shell(tmp_path: Path) -> None:
    for name, version in (("torch", "2.3.1"), ("jax", "0.4.0")):
        (tmp_path / name).mkdir()
        text = f"__version__ = {version!r}\n"
        if name == "torch":
            text += "class cuda:\n    is_available = staticmethod(lambda: False)\n"
        (tmp_path / name / "__init__.py").write_text(text, encoding="utf-8")
    python = {"BENCH_PYTHON": sys.executable, "BENCH_JAX_PYTHON": sys.executable}
    done = bench("doctor", "--json", **python, PYTHONPATH=str(tmp_path))
    found = {item["what"]: item for item in json.loads(done.stdout)}
    assert found["PyTorch"]["install"] == f"{sys.executable} -m pip install 'torch>=2.4'"
    assert found["PyTorch"]["detail"] == "PyTorch 2.3.1 is older than 2.4"
    assert found["JAX"]["install"] == f"{sys.executable} -m pip install 'jax>=0.6'"
