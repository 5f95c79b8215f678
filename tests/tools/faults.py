"""`make faults`: every fault in every phase of a CUDA case, and kills at random moments.

Prints a table of faults and phases, then how many kills the runs survived. Needs no GPU. Exit
code 1 if any outcome was wrong.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "cli"))

from fake_driver import build_gpu  # noqa: E402
from fault_matrix import (  # noqa: E402
    BREAKS_AS_IT_OPENS,
    CANNOT_BE_OPENED,
    CELLS,
    FAULTS,
    GONE,
    HANG,
    Cell,
    Fault,
    Outcome,
    check_cell,
    check_gone,
    check_not_opened,
    check_outcome,
    run_fault,
    run_gone,
    run_script,
)
from kill_anywhere import kill_supervisor, kill_workers  # noqa: E402

# For a hang, in each of the cells: short, but much longer than an answer takes.
TIMEOUT = "--timeout=3s"
NOT_APPLICABLE = "·"

Column = dict[Cell, str]  # the outcome of the faulty case

errors: list[str] = []


def attempt(what: str, check: Callable[[], object]) -> bool:
    """Run a check, record its error and return whether it passed."""
    try:
        check()
    except AssertionError as error:
        errors.append(f"{what}: {error}")
        return False
    return True


def word(outcome: Outcome, index: int, good: bool) -> str:
    status = outcome.case(index)["status"]
    return status if good else f"{status} !"


def inject_each(folder: Path, fault: Fault, gpu: dict[str, str], *options: str) -> Column:
    outcome = run_fault(folder, fault, CELLS, gpu, *options)
    column = {}
    for i, cell in enumerate(outcome.cells):

        def check(index: int = i) -> None:
            check_cell(outcome, fault, index)

        column[cell] = word(outcome, i, attempt(f"{fault.name}, {cell}", check))
    attempt(fault.name, lambda: check_outcome(outcome, fault))
    return column


def remove_device(folder: Path, gpu: dict[str, str]) -> Column:
    column = {}
    for i, cell in enumerate(CELLS):
        outcome = run_gone(folder / str(i), cell, gpu)

        def check(found: Outcome = outcome) -> None:
            check_gone(found)

        column[cell] = word(outcome, 1, attempt(f"{GONE.name}, {cell}", check))
    return column


def print_table(columns: dict[str, Column]) -> None:
    width = max(len(str(cell)) for cell in CELLS)
    names = list(columns)
    print(" " * width, *names, sep="  ")
    for cell in CELLS:
        words = [columns[name].get(cell, NOT_APPLICABLE) for name in names]
        padded = [word.ljust(len(name)) for name, word in zip(names, words, strict=True)]
        print("  ".join([str(cell).ljust(width), *padded]).rstrip())


def inject_at_opening(folder: Path, gpu: dict[str, str]) -> None:
    """Inject faults while the worker handles hello: CUDA cases must not run, others must."""
    print("as the device is opened:")
    for i, script in enumerate(CANNOT_BE_OPENED):

        def check(number: int = i, planted: str = script) -> None:
            check_not_opened(run_script(folder / str(number), planted, gpu, 2, TIMEOUT), planted)

        good = attempt(f"opening, {script}", check)
        fate = "failed" if script in BREAKS_AS_IT_OPENS else "skipped"
        print(f"  {script:<36} {fate}{'' if good else ' !'}: {CANNOT_BE_OPENED[script]}")


def note(what: str) -> None:
    print(f"  {what}", file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="of each kind")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        gpu = build_gpu(folder / "gpu")
        columns: dict[str, Column] = {}
        for i, fault in enumerate(FAULTS):
            note(fault.name)
            columns[fault.name] = inject_each(folder / str(i), fault, gpu)
        note(HANG.name)
        columns[HANG.name] = inject_each(folder / "hang", HANG, gpu, TIMEOUT)
        note(GONE.name)
        (folder / "gone").mkdir()
        columns[GONE.name] = remove_device(folder / "gone", gpu)
        print_table(columns)
        (folder / "opening").mkdir()
        inject_at_opening(folder / "opening", gpu)

        note(f"{arguments.kills} kills of the supervisor, then of workers")
        for kind in ("supervisor", "workers"):
            (folder / kind).mkdir()
        runs, places = kill_supervisor(folder / "supervisor", gpu, arguments.kills, arguments.seed)
        where = ", ".join(f"{count} {place}" for place, count in places.most_common())
        print(f"supervisor killed {arguments.kills} times over {runs} runs ({where}): nothing lost")
        runs, retried, failed = kill_workers(
            folder / "workers", gpu, arguments.kills, arguments.seed
        )
        print(
            f"workers killed {arguments.kills} times over {runs} runs: {retried} cases were opened "
            f"again, {failed} failed at that, all others finished"
        )
    n_faults = sum(len(column) for column in columns.values()) + len(CANNOT_BE_OPENED)
    print(f"{n_faults} faults, {len(errors)} not survived as they must be")
    for error in errors:
        print(f"  {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
