#!/usr/bin/env python3
"""Check that both commands of the README work on a bare machine.

debootstrap makes a bare Debian or Ubuntu in a temporary folder, HEAD is cloned into it, and
./run_all.sh and make check run there: first as a user without root and sudo, who must get a message
with what to install, then as root. Skips are counted by reason. With --short, make check-installed
runs in place of make check: a tenth of its tests, those that use what was installed.

The bare system gets this machine's package settings: apt's mirror and proxies, pip's configuration
with the folders and files that it names, certificates, host names.

exit codes: 0 both work; 1 one does not; 2 the check cannot run here
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from fresh_host import Host, apt_mirror, host_settings
from fresh_skips import read_check, read_run

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = {"run_all": "./run_all.sh", "check": "make check"}
SHORT = {**COMMANDS, "check": "make check-installed"}
INTERRUPTIONS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
USER = 1000
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Separate mount and process namespaces: however this script ends, nothing stays mounted or running.
ALONE = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"]
ENTER = """
set -e
root=$1 user=$2 folder=$3
shift 3
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
while [ "$1" != -- ]; do
    mount --bind "$1" "$root$1"
    mount -o remount,bind,ro "$root$1"
    shift
done
shift
exec chroot --userspec="$user:$user" "$root" sh -c 'cd "$0" && exec "$@"' "$folder" "$@"
"""


def say(text: str) -> None:
    print(f"check-fresh: {text}", flush=True)


def cannot(why: str) -> NoReturn:
    say(f"not run: {why}")
    sys.exit(2)


def options() -> argparse.Namespace:
    first, rest = str(__doc__).split("\n\n", 1)
    parser = argparse.ArgumentParser(
        "make check-fresh",
        description=first,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--suite", help="a suite of Debian or Ubuntu (this machine's, or bookworm)")
    parser.add_argument("--mirror", help="its package mirror (default: apt's)")
    parser.add_argument(
        "--only", choices=["user", "run_all"], help="only the user without root, or no make check"
    )
    parser.add_argument("--short", action="store_true", help="make check-installed, not make check")
    parser.add_argument("--logs", help="folder for logs (build/check-fresh)")
    parser.add_argument("--keep", action="store_true", help="keep the system's folder")
    return parser.parse_args()


def expect_prerequisites() -> None:
    if os.geteuid() != 0:
        cannot("it makes a machine in a folder, which takes root: sudo make check-fresh")
    for program, package in (
        ("debootstrap", "debootstrap"),
        ("unshare", "util-linux"),
        ("git", "git"),
    ):
        if shutil.which(program) is None:
            cannot(f"{program} is not here: apt-get install -y {package}")
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode != 0:
        cannot("nothing can be mounted here (a container without CAP_SYS_ADMIN?)")


class Machine:
    """A bare system in a folder."""

    def __init__(self, folder: Path, host: Host, logs: Path) -> None:
        self.folder, self.host, self.logs = folder, host, logs

    def bootstrap(self, suite: str, mirror: str, components: str) -> None:
        command = ["debootstrap", "--variant=minbase", f"--components={components}"]
        with (self.logs / "debootstrap.log").open("wb") as log:
            code = wait_for([*command, suite, str(self.folder), mirror], log, dict(os.environ))
        if code != 0:
            tail(self.logs / "debootstrap.log", 10)
            cannot(f"debootstrap {suite} from {mirror} failed ({self.logs}/debootstrap.log)")
        self.host.install(self.folder)

    def clone(self, place: str, owner: int) -> None:
        target = self.folder / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, target], check=True)
        for path in [target.parent, target, *target.rglob("*")] if owner else []:
            os.chown(path, owner, owner, follow_symlinks=False)

    def run(self, name: str, command: str, place: str, user: int) -> tuple[int, float]:
        """Run a command; return its exit code and duration in seconds."""
        home = str(Path(place).parent)
        environment = {**self.host.environment, "PATH": PATH, "HOME": home}
        folders = [*map(str, self.host.folders), "--"]
        inside = [*ALONE, "sh", "-c", ENTER, "enter", str(self.folder), str(user), place]
        begun = time.monotonic()
        with self.log(name).open("wb") as log:
            code = wait_for([*inside, *folders, "sh", "-c", command], log, environment)
        return code, time.monotonic() - begun

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"


def wait_for(command: list[str], log, environment: dict[str, str]) -> int:
    """Run a command in a new session: Ctrl-C goes to this script, which ends the command."""
    # A signal between the command's start and the try would leave the command running.
    signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTIONS)
    with subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTIONS),
    ) as process:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPTIONS)
            return process.wait()
        finally:
            # Kill debootstrap's children, too.
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def tail(path: Path, lines: int) -> None:
    for line in path.read_text(errors="replace").splitlines()[-lines:]:
        print(f"    {line}")


# ---- the user without root -----------------------------------------------------------------------


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if ".git" not in path.parts}


def try_as_user(machine: Machine, name: str, command: str) -> bool:
    """Expect exit code 2, a complete command that installs what is missing, and no new files."""
    place = "/home/newcomer/bench"
    folder = machine.folder / place.lstrip("/")
    if not folder.exists():
        machine.clone(place, USER)
    before = files_of(folder)
    code, seconds = machine.run(f"{name}-as-user", command, place, USER)
    output = machine.log(f"{name}-as-user").read_text(errors="replace")
    named = re.search(r"run: (.*apt-get install -y [^\n]*)", output)
    created = sorted(str(path.relative_to(folder)) for path in files_of(folder) - before)
    say(f"{command} as a user without root: exit code {code} in {seconds:.1f} s")
    if named:
        print(f"    told to run: {named[1]}")
    for path in created:
        print(f"    left behind: {path}")
    # GNU make's exit code is 2, too.
    good = code == 2 and named is not None and not created
    if not good:
        tail(machine.log(f"{name}-as-user"), 20)
    return good


# ---- root ----------------------------------------------------------------------------------------


def try_as_root(machine: Machine, name: str, command: str) -> bool:
    place = "/root/bench"
    if not (machine.folder / "root/bench").exists():
        machine.clone(place, 0)
    say(f"{command} …")
    code, seconds = machine.run(name, command, place, 0)
    text = machine.log(name).read_text(errors="replace")
    read = read_run if name == "run_all" else read_check
    lines, good = read(text, machine.folder / "root/bench")
    say(f"{command}: exit code {code} in {seconds:.0f} s ({machine.log(name)})")
    for line in lines:
        print(f"    {line}")
    if code != 0:
        tail(machine.log(name), 40)
    return code == 0 and good


def try_all(machine: Machine, commands: dict[str, str], only: str | None) -> list[str]:
    """Return the commands that failed."""
    bad = []
    for name, command in commands.items():
        # ./run_all.sh installs make; before that, `make check` cannot print anything.
        can_run = name == "run_all" or (machine.folder / "usr/bin/make").exists()
        if can_run and not try_as_user(machine, name, command):
            bad.append(f"{command} as a user without root")
        if only in (None, name) and not try_as_root(machine, name, command):
            bad.append(command)
    return bad


def system_of_this_machine() -> tuple[str, str]:
    """Return this machine's system and suite; Debian bookworm if it is neither Debian nor Ubuntu."""
    lines = Path("/etc/os-release").read_text().splitlines()
    fields = dict(line.split("=", 1) for line in lines if "=" in line)
    system, suite = (fields.get(key, "").strip('"') for key in ("ID", "VERSION_CODENAME"))
    return (system, suite) if system in ("debian", "ubuntu") and suite else ("debian", "bookworm")


def main() -> int:
    chosen = options()
    expect_prerequisites()
    for number in INTERRUPTIONS:
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    system, suite = system_of_this_machine()
    suite = chosen.suite or suite
    mirror = chosen.mirror or apt_mirror(system, suite)
    logs = Path(chosen.logs or ROOT / "build/check-fresh").absolute()
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    folder = Path(tempfile.mkdtemp(prefix="bench-fresh-"))
    folder.chmod(0o755)
    try:
        machine = Machine(folder, host_settings(ROOT), logs)
        begun = time.monotonic()
        machine.bootstrap(suite, mirror, "main,universe" if system == "ubuntu" else "main")
        say(f"a bare {suite} from {mirror}: {time.monotonic() - begun:.0f} s")
        if subprocess.run(["git", "-C", ROOT, "diff", "--quiet", "HEAD"], check=False).returncode:
            say("what is not committed is no part of it")
        bad = try_all(machine, SHORT if chosen.short else COMMANDS, chosen.only)
    finally:
        if chosen.keep:
            say(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    say(f"does not work on a bare {suite}: {', '.join(bad)}" if bad else f"works on a bare {suite}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
