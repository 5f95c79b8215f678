"""`make install`: all of bench from a folder that is not ours, with results and charts there."""

import contextlib
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from charts import needs_gnuplot
from project import BENCH, ROOT, compiler_options, ran

PREFIX = "/usr"
MEASURE = ("--quick", "--time-limit", "50ms", "--set", "device=cpu", "--set", "rows=64")


def install(what: str, destination: Path) -> str:
    script = ROOT / "tests" / "tools" / "install.sh"
    call = [script, what, BENCH, PREFIX, destination]
    return ran(*call, cwd=ROOT).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inst") / "of a package"
    install("install", folder)
    return folder / PREFIX.lstrip("/")


class Own:
    """A folder of the user's, and the installed program called there."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder, self.home = program, folder / "my kernels", folder / "home"
        self.folder.mkdir()
        self.home.mkdir()

    def bench(self, *arguments: str | Path, expect: int = 0, **environment: str) -> str:
        inherited = {"PATH": "/usr/bin:/bin", "HOME": str(self.home), **environment}
        call = [str(self.program), *map(str, arguments)]
        return ran(*call, env=inherited, cwd=self.folder, expect=expect).stdout


@pytest.fixture
def own(installed: Path, tmp_path: Path) -> Own:
    return Own(installed / "bin" / "bench", tmp_path)


@needs_gnuplot
def test_a_kernel_in_a_folder_of_the_users(own: Own, python_with_torch: Path) -> None:
    own.bench("workload", "new", "my_kernel")
    python = {"BENCH_PYTHON": str(python_with_torch)}
    options = (*MEASURE, "--variant", "eager,spelled_out", "--out", "results/one")
    own.bench("run", "--workload", "./my_kernel", *options, **python)
    own.bench("plot", "results/one")
    own.bench("report", "results/one")
    # Without a ratio, as on a busy machine, there is no picture.
    made = {path.name for path in own.folder.iterdir()} - {"REPORT.svg"}
    assert sorted(made) == [
        "REPORT.md",
        "my_kernel",
        "plots",
        "results",
    ]
    assert list(own.folder.glob("plots/one/*.svg"))
    page = (own.folder / "results" / "one" / "my_kernel.md").read_text()
    assert "plots/one/" in page
    report = (own.folder / "REPORT.md").read_text()
    assert "\n    bench run --workload ./my_kernel " in report
    assert "\n    bench report results/one\n" in report
    assert "build/bench" not in report + page + own.bench("report", "results/one", "--html", "-")
    own.bench("report", "--check", "REPORT.md")


@pytest.mark.long
def test_pytorch_compiles_in_a_folder_with_a_space(own: Own, python_with_torch: Path) -> None:
    """Its compiler's command line is split at spaces: `compile` failed, wherever bench is from."""
    own.bench("workload", "new", "my_kernel")
    options = (*MEASURE, "--variant", "compile,eager", "--out", "results/one")
    # Without programs that try which vector instructions there are: they take longer than all else.
    python = {"BENCH_PYTHON": str(python_with_torch), "TORCHINDUCTOR_VEC_ISA_OK": "0"}
    own.bench("run", "--workload", "my_kernel", *options, **python)


def test_own_contender_and_own_operator_of_the_folder(own: Own) -> None:
    contender = own.folder / "reference_mine"
    shutil.copytree(ROOT / "tests" / "fixtures" / "sweep_root" / "reference_mine", contender)
    own.bench("workload", "new", "my_kernel", "--dir", "kernels")
    assert "my_kernel" in own.bench("list", "workloads")
    told = own.bench("doctor", "--short", BENCH_PYTHON="none", BENCH_JAX_PYTHON="none")
    assert " mine " in told


def test_programs_are_in_the_cache_of_the_user(own: Own) -> None:
    own.bench("workload", "new", "my_kernel")
    call = ("compile", "--workload", "my_kernel", "--arch=sm_90", "--quick", *compiler_options())
    # NVRTC may be in the environment of the tests.
    own.bench(*call, VIRTUAL_ENV=str(ROOT / ".venv"))
    assert any((own.home / ".cache" / "bench").iterdir())
    assert [path.name for path in own.folder.iterdir()] == ["my_kernel"]


def test_sweeps_are_found_by_their_name(own: Own) -> None:
    assert " cases in " in own.bench("plan", "sweeps/mlp_infer_quick.json", "--no-pytorch")


def test_in_a_checkout_it_is_the_checkout_that_counts(installed: Path, tmp_path: Path) -> None:
    own = Own(installed / "bin" / "bench", tmp_path)
    (own.folder / "sweeps").mkdir()
    (own.folder / "kernels").mkdir()
    assert "mlp_infer_quick" in own.bench("list", "sweeps"), "a folder of that shape is anyone's"
    shutil.copy(ROOT / "kernels" / "workload.schema.json", own.folder / "kernels")
    assert own.bench("list", "sweeps") == ""


def test_workloads_and_sweeps_are_installed(own: Own, installed: Path) -> None:
    variants = own.bench("list", "variants", BENCH_PYTHON="none")
    assert "mlp_infer    cuda     01_study" in variants
    sweep = installed / "share" / "bench" / "sweeps" / "mlp_infer_quick.json"
    assert " cases in " in own.bench("plan", sweep, "--no-pytorch", "--no-jax")
    assert list(own.folder.iterdir()) == []


def test_the_active_environment_is_used(own: Own, tmp_path: Path) -> None:
    python = tmp_path / "env" / "bin" / "python3"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    told = own.bench("doctor", "--short", VIRTUAL_ENV=str(tmp_path / "env"))
    assert f"{python}: the active environment, $VIRTUAL_ENV" in told


def test_uninstall_removes_what_was_installed(tmp_path: Path) -> None:
    install("install", tmp_path)
    prefix = tmp_path / PREFIX.lstrip("/")
    kept = prefix / "share" / "bench" / "mine.txt"
    kept.write_text("not installed", encoding="utf-8")
    old, listed = (
        prefix / "share" / "bench" / "old.cu",
        prefix / "share" / "bench" / "installed.txt",
    )
    old.write_text("of an older version", encoding="utf-8")
    outside = tmp_path / "outside"
    outside.write_text("not below the prefix", encoding="utf-8")
    named = f"{listed.read_text(encoding='utf-8')}share/bench/old.cu\n../outside\n"
    listed.write_text(named, encoding="utf-8")
    (old.parent / "reference_common" / "__pycache__").mkdir()
    (old.parent / "reference_common" / "__pycache__" / "timing.pyc").write_bytes(b"")
    install("install", tmp_path)  # again: nothing is left of the first
    assert not old.exists() and outside.exists()
    install("uninstall", tmp_path)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == {kept, outside}


def commands_of(program: Path) -> dict[str, list[str]]:
    def text_of(*words: str) -> str:
        return ran(program, *words).stdout

    names = re.findall(r"^  ([a-z]+)  +\S", text_of("help"), re.MULTILINE)
    return {name: re.findall(r"^  (--[a-z-]+)", text_of("help", name), re.M) for name in names}


def test_the_manual_has_every_command_and_option(installed: Path, own: Own) -> None:
    page = installed / "share" / "man" / "man1" / "bench.1"
    text = page.read_text().replace("\\-", "-")
    for command, options in commands_of(own.program).items():
        assert f"bench {command}" in text
        for option in options:
            assert option in text, f"{command} {option}"
    if shutil.which("man"):
        call = ["man", "--warnings", "-l", page]
        done = ran(*call)
        assert done.stderr == ""


def completed(installed: Path, *words: str) -> list[str]:
    script = installed / "share" / "bash-completion" / "completions" / "bench"
    code = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bench; echo "${COMPREPLY[@]}"'
    call = ["bash", "--norc", "-c", code, script, "bench", *words]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()


def test_bash_completes_commands_and_options(installed: Path, own: Own) -> None:
    commands = commands_of(own.program)
    assert completed(installed, "ru") == ["run"]
    assert set(commands) <= set(completed(installed, ""))
    for command in ("run", "report"):
        assert set(completed(installed, command, "--")) >= set(commands[command])


# Each line is completed by ^T, with all matches in place; then its words go to a file, not to bench.
ZSH = """fpath=({functions} $fpath)
autoload -Uz compinit && compinit -u -D
all() {{ _main_complete; compstate[insert]=all }}
zle -C all complete-word all
bindkey '^T' all
"""


def completed_by_zsh(installed: Path, folder: Path, *lines: str) -> list[list[str]]:
    """Return the words of each line after its completion, in a zsh on a terminal of its own."""
    functions = installed / "share" / "zsh" / "site-functions"
    (folder / "setup.zsh").write_text(ZSH.format(functions=str(functions).replace(" ", "\\ ")))
    typed = ["source setup.zsh\r"]
    for i, line in enumerate(lines):
        typed.append(f"{line}\x14\x01print -rl >words{i} -- \r")  # ^A: to the line's start
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", HOME=str(folder))
        os.execvp("zsh", ["zsh", "-f", "-i"])
    for text in [*typed, "exit\r"]:
        os.write(terminal, text.encode())
    with contextlib.suppress(OSError):  # the terminal's end
        while os.read(terminal, 4096):
            pass
    os.waitpid(pid, 0)
    return [(folder / f"words{i}").read_text().splitlines() for i in range(len(lines))]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes_commands_options_and_values(
    installed: Path, own: Own, tmp_path: Path
) -> None:
    commands = commands_of(own.program)
    folder = tmp_path / "of zsh"
    folder.mkdir()
    (folder / "mine.json").touch()
    some = completed_by_zsh(installed, folder, "bench ", "bench -", "bench run --", "bench help ru")
    assert set(some[0]) == {"bench", *commands, "help"}
    assert some[1] == ["bench", "--help", "--version"]
    assert set(some[2]) == {"bench", "run", "--help", *commands["run"]}
    assert some[3] == ["bench", "help", "run"]
    expected = {
        "bench run --compiler ": ["nvcc", "nvrtc"],
        "bench run --compiler=nv": ["--compiler=nvcc", "--compiler=nvrtc"],
        "bench run --quick --out=x mi": ["mine.json"],
        "bench run mine.json --time-l": ["--time-limit"],
        "bench run --out mi": ["mine.json"],
        "bench run --passes ": [],
        "bench workload check --em": ["--emulate"],
        "bench workload ch": ["check"],
        "bench list wo": ["workloads"],
        "bench report --print=h": ["--print=headline"],
    }
    found = completed_by_zsh(installed, folder, *expected)
    for (line, words), all_words in zip(expected.items(), found, strict=True):
        given = line.split(" ")[:-1]
        assert (line, [*given, *words]) == (line, [word for word in all_words if word])
