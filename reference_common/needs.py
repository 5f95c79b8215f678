"""What every worker needs on this machine, and how to install what is missing.

It must work where a worker does not: it imports only the standard library and uses no syntax newer
than Python 3.8, as does an engine's own part.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator

OLDEST_PYTHON = (3, 10)


class Unavailable(Exception):
    """Something is missing on this machine; the message says what and how to install it."""


class Lack(str):
    """What is missing, "reason: cure", and the two parts: an error's message has colons of its own."""

    reason: str
    cure: str

    def __new__(cls, reason: str, cure: str) -> Lack:
        lack = super().__new__(cls, f"{reason}: {cure}")
        lack.reason, lack.cure = reason, cure
        return lack


def pip_install(package: str, *options: str) -> str:
    """Return the command that installs a package for this Python, as a shell takes it."""
    return shlex.join([sys.executable, "-m", "pip", "install", *options, package])


def install(apt: str, dnf: str, pacman: str) -> str:
    """Return the command that installs a system package, as `bench/io/fs.c` does."""
    names = {"apt-get install": apt, "dnf install": dnf, "pacman -S": pacman}
    here = [command for command in names if shutil.which(command.split()[0])]
    command = (here or ["apt-get install"])[0]
    return f"{command} {names[command]}"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or the error's type."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and its causes: a compiler or a graph capture wraps the original error."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def visible_devices() -> str:
    """Return ", with CUDA_VISIBLE_DEVICES=…", which may hide every GPU; "" if it is not set."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return "" if visible is None else f", with CUDA_VISIBLE_DEVICES={visible}"


# ---- Python and its packages ---------------------------------------------------------------------


def python_lacks(engine: str, variable: str = "BENCH_PYTHON") -> Lack | None:
    """Return why this Python cannot run the worker; None: it can."""
    if sys.version_info >= OLDEST_PYTHON:
        return None
    oldest, found = (
        ".".join(map(str, version[:2])) for version in (OLDEST_PYTHON, sys.version_info)
    )
    reason = f"{engine} cases need Python {oldest} or newer, found {found}"
    return Lack(reason, f"set ${variable} to one")


def start(lacks: str | None, findings: Callable[[], list[dict]]) -> None:
    """Start a worker's script: it ends here for `--needs`, or if this Python cannot run it."""
    if "--needs" in sys.argv[1:]:
        print(json.dumps(findings()))
        sys.exit(0)
    if lacks:
        sys.exit(decline(lacks))


def decline(reason: str) -> int:
    """Answer every request with the reason instead of running; return the exit code."""
    for line in sys.stdin.buffer:
        try:
            op = json.loads(line.decode("utf-8"))["op"]
        except (ValueError, KeyError, TypeError):
            op = None
        answer = {"status": "ok"} if op == "bye" else {"status": "failed", "reason": reason}
        print(json.dumps(answer), flush=True)
        if op == "bye":
            break
    return 0


def missing(module: str, name: str, install: Callable[..., str]) -> Lack | None:
    """Return that a package is not installed, without importing it: imports are timed."""
    if importlib.util.find_spec(module) is None:
        return Lack(f"{name} is not installed for this Python", install(module))
    return None


def version_lacks(
    name: str, version: str, oldest: tuple[int, int], install: Callable[[], str]
) -> Lack | None:
    """Return that a package's version is too old; None: it is not."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or tuple(map(int, numbers.groups())) >= oldest:
        return None
    return Lack(f"{name} {version} is older than {'.'.join(map(str, oldest))}", install())


def expect_module(name: str) -> None:
    """Import a module, or raise `Unavailable` with the first line of the error."""
    try:
        importlib.import_module(name)
    except (ImportError, OSError) as error:
        message = first_line(error)
        raise Unavailable(f"{name} cannot be imported ({message}): reinstall it") from error


# ---- for bench doctor ----------------------------------------------------------------------------


def finding(what: str, lacks: Lack | None, detail: str, costs: str) -> dict:
    """Return a line of `bench doctor`; `lacks` is None if it was found."""
    return {
        "what": what,
        "found": lacks is None,
        "detail": detail if lacks is None else lacks.reason,
        "costs": costs,
        "install": "" if lacks is None else lacks.cure,
    }


def module_version(name: str, install: Callable[..., str]) -> tuple[str, Lack | None]:
    """Import a module; return its version, or why it cannot be imported."""
    try:
        return str(importlib.import_module(name).__version__), None
    except Exception as error:  # any error keeps the worker from starting
        # pip would leave a broken package as it is.
        options = [] if importlib.util.find_spec(name) is None else ["--force-reinstall"]
        return "", Lack(first_line(error), install(name, *options))
