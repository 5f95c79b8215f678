"""The set-up on machines that lack software: the command that it prints, and what it installs."""

import shutil
from pathlib import Path

import pytest
from project import ROOT, ran

FILES = ["tests/tools/setup.sh", "tests/tools/python.sh"]
# Programs that the script runs and every system has.
TOOLS = [*("bash", "sh", "env", "cat", "dirname", "mktemp", "rm", "sed", "sort", "tail", "mkdir")]
TOOLS += ["grep", "true"]
PACKAGES = {
    "apt-get": {"build-essential", "libjansson-dev", "zlib1g-dev", "libxxhash-dev", "gnuplot-nox"}
    | {"python3", "python3-venv", "python3-dev", "g++"},
    "dnf": {"gcc", "make", "jansson-devel", "zlib-devel", "xxhash-devel", "gnuplot"}
    | {"python3", "python3-devel", "gcc-c++"},
    "pacman": {"base-devel", "jansson", "zlib", "xxhash", "gnuplot", "python", "gcc"},
}
TEST_PACKAGES = {
    "apt-get": {"libcmocka-dev", "cppcheck", "git"},
    "dnf": {"libcmocka-devel", "cppcheck", "git", "libasan", "libubsan"},
    "pacman": {"cmocka", "cppcheck", "git"},
}


class Bare:
    """A project on a machine whose $PATH has only what tests add."""

    def __init__(self, folder: Path) -> None:
        self.project, self.bin, self.log = folder / "project", folder / "bin", folder / "log"
        self.bin.mkdir()
        for name in TOOLS:
            (self.bin / name).symlink_to(str(shutil.which(name)))
        for name in FILES:
            target = self.project / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
        self.program("id", "echo 1000")

    def program(self, name: str, script: str) -> None:
        (self.bin / name).unlink(missing_ok=True)
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def manager(self, name: str, code: int = 0) -> None:
        self.program(name, f'echo "{name} $*" >>"{self.log}"; exit {code}')

    def setup(self, *arguments: str, expect: int = 2) -> str:
        done = ran(self.project / FILES[0], *arguments, env={"PATH": str(self.bin)}, expect=None)
        assert done.stdout == ""
        assert done.returncode == expect, done.stderr
        return done.stderr

    def files(self) -> set[str]:
        paths = self.project.rglob("*")
        return {str(path.relative_to(self.project)) for path in paths if path.is_file()}

    def called(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.exists() else []


@pytest.fixture
def bare(tmp_path: Path) -> Bare:
    return Bare(tmp_path)


def words_after(text: str, begin: str) -> set[str]:
    """Return the packages of a command, without certificates, which depend on the machine."""
    assert text.startswith(begin), text
    return set(text[len(begin) :].rstrip('"\n').split()) - {"ca-certificates"}


COMMANDS = {
    "apt-get": ["apt-get update", "apt-get install -y "],
    "dnf": ["dnf install -y "],
    "pacman": ["pacman -Sy --needed --noconfirm "],
}


@pytest.mark.parametrize("level", ["run", "check"])
@pytest.mark.parametrize("manager", PACKAGES)
def test_without_root_one_command_is_printed_and_nothing_is_done(
    bare: Bare, manager: str, level: str
) -> None:
    bare.manager(manager)
    _, _, command = bare.setup(level).partition(" — run: ")
    begin = 'su -c "' + " && ".join(COMMANDS[manager])
    wanted = PACKAGES[manager] | (TEST_PACKAGES[manager] if level == "check" else set())
    assert words_after(command.replace("pacman -S ", "pacman -Sy "), begin) == wanted
    assert bare.called() == []
    assert bare.files() == set(FILES)


def test_sudo_with_a_password_is_left_to_the_user(bare: Bare) -> None:
    bare.manager("apt-get")
    bare.program("sudo", "exit 1")
    _, _, command = bare.setup("build").partition(" — run: ")
    begin = "sudo apt-get update && sudo apt-get install -y "
    wanted = {"build-essential", "libjansson-dev", "zlib1g-dev", "libxxhash-dev"}
    assert words_after(command, begin) == wanted
    assert bare.called() == []


@pytest.mark.parametrize("root", [True, False], ids=["root", "sudo"])
def test_root_and_free_sudo_install(bare: Bare, root: bool) -> None:
    bare.manager("apt-get")
    if root:
        bare.program("id", "echo 0")
    else:
        bare.program("sudo", '[ "$1" = -n ] && shift; exec "$@"')
    printed = bare.setup("build", expect=0)
    update, install = bare.called()
    assert update == "apt-get update"
    assert words_after(install, "apt-get install -y ") == words_after(
        printed, "set-up: apt-get install -y "
    )


def test_packages_that_cannot_be_installed_are_listed(bare: Bare) -> None:
    bare.manager("dnf", code=1)
    bare.program("id", "echo 0")
    assert "set-up: could not install: gcc make jansson-devel " in bare.setup("build")


def test_a_failed_update_of_package_lists_is_ignored(bare: Bare) -> None:
    bare.program("id", "echo 0")
    bare.program("apt-get", f'echo "$*" >>"{bare.log}"; [ "$1" = install ]')
    assert "apt-get update failed; continuing with the existing package lists" in bare.setup(
        "build", expect=0
    )
    assert len(bare.called()) == 2


def test_without_a_package_manager_everything_is_described(bare: Bare) -> None:
    printed = bare.setup("check")
    assert printed.startswith("set-up: install ")
    for thing in ("gcc with OpenMP, make", "jansson with headers", "Python's headers", "cmocka"):
        assert thing in printed
    assert bare.files() == set(FILES)


def test_without_pytorch_its_headers_are_not_required(bare: Bare) -> None:
    bare.manager("apt-get")
    printed = bare.setup("run", "--no-pytorch")
    assert "python3-venv" in printed
    assert "python3-dev" not in printed


# ---- Python ----------------------------------------------------------------------------------------


def fake_python(bare: Bare, prefix: str, headers: Path) -> None:
    """Make a Python without PyTorch that answers the set-up's checks."""
    bare.program(
        "python3",
        f"""case "$2" in
        *get_path*) echo "{headers}" ;;
        *base_prefix*) echo "{prefix}" ;;
        *version_info*) echo 3.12 ;;
        esac""",
    )


def test_a_venv_that_fails_is_not_left_half_made(bare: Bare) -> None:
    """It would pass for a complete one the next time."""
    bare.program("id", "echo 0")
    for name in ("make", "cc", "gnuplot", "g++", "apt-get"):
        bare.program(name, "exit 0")
    half = "mkdir -p .venv/bin; ln -s /bin/true .venv/bin/python3; exit 1"
    bare.program("python3", f'case "$*" in "-m venv"*) {half} ;; *) exit 1 ;; esac')
    assert "python3 -m venv failed" in bare.setup("run", "--no-jax")
    assert not (bare.project / ".venv").exists()


def test_headers_match_the_python_in_use(bare: Bare, tmp_path: Path) -> None:
    bare.manager("apt-get")
    fake_python(bare, "/usr", tmp_path)
    assert " python3.12-dev " in bare.setup("run")
    (tmp_path / "Python.h").touch()
    assert "python3" not in bare.setup("run")


def test_no_package_is_named_for_a_python_from_another_source(bare: Bare, tmp_path: Path) -> None:
    bare.manager("apt-get")
    fake_python(bare, "/opt/python", tmp_path)
    assert "python3" not in bare.setup("run")
