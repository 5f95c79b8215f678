"""Looks for what is not its own and changes what it can; its notes tell what that was."""

import ctypes
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import honest

VERDICT = {"status": "ok"}
DETACHED = 2  # MNT_DETACH


def changes(path: Path, text: str) -> bool:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return False
    return True


def sees_processes() -> bool:
    """See bench itself, or one of its workers."""
    names = [Path("/proc", pid, "cmdline") for pid in os.listdir("/proc") if pid.isdigit()]
    own = {"/proc/1", f"/proc/{os.getpid()}"}
    return any("worker" in name.read_text() for name in names if str(name.parent) not in own)


def sees_results() -> bool:
    """Take away what hides them, if it is root."""
    ctypes.CDLL(None).umount2(os.environ["CHEAT_RUN"].encode(), DETACHED)
    return Path(os.environ["CHEAT_RUN"], "run.json").exists()


def edits_results() -> bool:
    """Edit the line of a case that was measured before."""
    journal = Path(os.environ["CHEAT_RUN"], "cases.jsonl")
    if not journal.is_file():
        return False
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    return changes(journal, json.dumps({**lines[0], "reason": "edited"}) + "\n") if lines else False


def sees_outputs_of_others() -> bool:
    """Find folders that bench makes for others, such as the oracle."""
    base = Path(os.environ.get("CHEAT_TMPDIR") or tempfile.gettempdir())
    own = Path(os.environ["BENCH_SCRATCH"])
    others = [path for path in base.glob("bench-*/*") if path != own]
    return bool(others)


def edits_the_reference() -> bool:
    return changes(Path(os.environ["BENCH_ROOT"], "reference.py"), "# edited\n")


def leaves_a_pth_file() -> bool:
    return changes(Path(os.environ["CHEAT_SITE_PACKAGES"], "cheat.pth"), "import os\n")


TRICKS: tuple[Callable[[], bool], ...] = (
    sees_processes,
    sees_results,
    edits_results,
    sees_outputs_of_others,
    edits_the_reference,
    leaves_a_pth_file,
)


class Contender(honest.Contender):
    def __init__(self, spec: dict[str, Any], seed: int) -> None:
        super().__init__(spec, seed)
        self.notes = tuple(trick.__name__ for trick in TRICKS if trick())
