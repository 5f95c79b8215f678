#!/usr/bin/env python3
"""Write a problem of a kernel benchmark as a workload's folder, for `bench workload import`.

    python3 reference_described/import_problem.py [--train] FOLDER PROBLEM.py [CANDIDATE.py…]

It prints what is to be known about the result; after an error, the reason (exit code 1). On stderr it
says what it does next: a large problem takes a minute.
"""

from __future__ import annotations

import json
import os
import re
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(1, str(Path(__file__).absolute().parents[1] / "reference_common"))
sys.path.insert(2, str(Path(__file__).absolute().parents[1] / "reference_pytorch"))

import defined
import needs
import problem_files
import user_file
from workload import CaseError

PROBLEM, TRAIN = "problem", "--train"


def name_of(path: Path) -> str:
    """Return a file's name as an identifier without its ending."""
    return re.sub(r"\W", "_", path.stem, flags=re.ASCII)


def write(
    folder: Path,
    problem: Path,
    candidates: list[Path],
    *,
    train: bool = False,
    tell: Callable[[str], None] = print,
) -> list[str]:
    """Write the folder and return the notes; `tell` gets what is done next."""
    stems = [name_of(path) for path in candidates]
    for stem in stems:
        if stem == "reference" or stems.count(stem) > 1:
            raise CaseError(f"{stem}.py: this name is taken: rename the candidate")
    for path in (problem, *candidates):
        path.read_bytes()  # before anything is imported
    for path in candidates:
        if found := defined.complaint(path, "ModelNew", "class"):
            raise CaseError(found)
    from problem import Problem

    found = Problem(problem, train=train, tell=tell)
    about = found.describe(f"imported_{name_of(problem)}")
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "workload.json": json.dumps(about, indent=2) + "\n",
        f"_{PROBLEM}.py": problem.read_text(encoding="utf-8"),
        "reference.py": problem_files.reference(problem.name, found),
    }
    for stem, path in zip(stems, candidates, strict=True):
        texts[f"_candidate_{stem}.py"] = path.read_text(encoding="utf-8")
        texts[f"{stem}.py"] = problem_files.candidate(path.name, stem, found)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return found.notes


def reason(error: BaseException) -> str:
    """Return one line about what went wrong, with its place in a user's file."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, (CaseError, OSError)):
        return str(error)
    return user_file.located(error) or f"{type(error).__name__}: {needs.first_line(error)}"


def main(arguments: list[str]) -> int:
    """Return the exit code."""
    # What the user's files print does not belong to the answer.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    train = arguments[0] == TRAIN
    folder, problem, *candidates = (Path(path).absolute() for path in arguments[train:])

    def tell(what: str) -> None:
        print(f"import {problem.name}: {what}", file=sys.stderr, flush=True)

    try:
        notes = write(folder, problem, candidates, train=train, tell=tell)
    except BaseException as error:  # what users' files raise, SystemExit too
        traceback.print_exc(file=sys.stderr)
        print(reason(error), file=answers, flush=True)
        return 1
    for note in notes:
        print(note, file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
