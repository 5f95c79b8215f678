"""Programs that hang, without a time-out that a busy machine could exceed elsewhere."""

from pathlib import Path

from fake_driver import compile_fake
from project import wait_until


def watched(folder: Path) -> dict[str, str]:
    """Return the environment in which a process that hangs says so in the folder."""
    (folder / "hanging").mkdir(parents=True)
    compile_fake(folder / "patience.so", ["patience"])
    return {"LD_PRELOAD": str(folder / "patience.so"), "HANGING": str(folder / "hanging")}


def impatient(folder: Path) -> dict[str, str]:
    """Return the environment in which bench has waited for an hour as soon as a child of it hangs."""
    return {**watched(folder), "PATIENCE": "none"}


def wait_for_a_hang(environment: dict[str, str]) -> None:
    """Wait until a process hangs that runs in what watched() returned."""
    wait_until("a process that hangs", lambda: any(Path(environment["HANGING"]).iterdir()))
