"""Scripts that cheat: each gets the verdict that its file in `tests/cheats/` names.

make check has one of each kind whose verdict no busy machine can change; make cheats has all.
"""

import os
import re
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest
from project import (
    QUICK_MEASURE,
    ROOT,
    bench,
    make_root,
    read_lines,
    write_sweep,
)
from rung_cheats import CHEATS as RUNGS
from rung_cheats import NORMS, OPERATOR, TURNS
from rung_cheats import verdict_of as rung_verdict

pytestmark = pytest.mark.usefixtures("warm_workers")

CHEATS = ROOT / "tests" / "cheats"
FILES = [CHEATS / "honest.py", *sorted((CHEATS / "scripts").glob("*.py"))]
IMPLEMENTATIONS = [
    file
    for folder in (OPERATOR, NORMS)
    for file in sorted(folder.glob("[!_]*.py"))
    if file.stem != "reference"
]
ONE_OF_EACH = {
    *("honest", "zeros", "keeps_result", "only_for_checks", "another_shape", "not_a_number"),
    *("constant_time", "two_in_three", "no_audit", "no_time", "endless_time", "many_samples"),
    *("no_last", "undeclared_phase", "first_result", "lazy", "mode_left_on", "first_norm"),
    *("lazy_list", "idle_forward", "patched_clock", "view_later", "other_dtype_later"),
    *("lazy_copy", "profiled", "called_by_the_collector", "thread_beside", "timer_beside"),
    *("patched_answer", "audit_hook"),
}


def is_run(file: Path) -> bool:
    return file.stem in ONE_OF_EACH or bool(os.environ.get("CHECK_LONG"))


def each_of(files: list[Path]) -> list[Any]:
    """Return the parameters of a test, those that make check leaves out as long ones."""
    long = pytest.mark.long
    marks = {file: () if file.stem in ONE_OF_EACH else long for file in files}
    return [pytest.param(file, marks=marks[file], id=file.stem) for file in files]


def verdict_of(file: Path) -> dict[str, str]:
    """Return the verdict in a file without running the rest of it."""
    line = next(x for x in file.read_text(encoding="utf-8").splitlines() if x.startswith("VERDICT"))
    found: dict[str, str] = literal_eval(line.partition("=")[2].strip())
    return found


def run_all(
    folder: Path, workload: str, files: list[Path], **keys: dict[str, Any]
) -> dict[str, dict[str, Any]]:
    """Return the last lines of one run, in one process: none may disturb the others."""
    root = make_root(folder / "root")
    (root / "reference_cheat").symlink_to(CHEATS)
    contender = {"engine": "cheat", "device": ["cpu"], "variants": [file.stem for file in files]}
    sweep = write_sweep(folder / "cheats.json", workload, [contender], **keys)
    bench("run", sweep, "--out", folder / "run", root=root, expect=None)
    return {case["variant"]: case for case in read_lines(folder / "run")}


def run_scripts(folder: Path, files: list[Path]) -> dict[str, dict[str, Any]]:
    folder.mkdir(exist_ok=True)
    passes = max(int(verdict_of(file).get("passes", 1)) for file in files)
    measure = {**QUICK_MEASURE, "passes": passes, "time_limit_s": 0.05 * passes, "min_rounds": 6}
    return run_all(folder, "mlp_infer", files, axes={"batch": [65536]}, measure=measure)


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    in_one_pass = [file for file in FILES if is_run(file) and "passes" not in verdict_of(file)]
    return run_scripts(tmp_path_factory.mktemp("cheats"), in_one_pass)


ROWS = "rows=16384" if os.environ.get("CHECK_LONG") else "rows=1024"
SIZES = {OPERATOR: ("--set", ROWS), NORMS: ()}


def run_implementations(run: Path, files: list[Path]) -> dict[str, dict[str, Any]]:
    cases: dict[str, dict[str, Any]] = {}
    # The long ones are found by their times.
    limit = "2s" if os.environ.get("CHECK_LONG") else "200ms"
    measure = ("--set", "device=cpu", "--passes", "1", "--time-limit", limit)
    for folder, sizes in SIZES.items():
        names = [file.stem for file in files if file.parent == folder]
        if names:
            options = ("--engine", "python", "--variant", ",".join(names), *measure, *sizes)
            bench("run", "--workload", folder, *options, "--out", run / folder.name, expect=None)
            cases |= {case["variant"]: case for case in read_lines(run / folder.name)}
    return cases


@pytest.fixture(scope="module")
def implementations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    pytest.importorskip("torch")
    files = [file for file in IMPLEMENTATIONS if is_run(file)]
    return run_implementations(tmp_path_factory.mktemp("implementations") / "run", files)


def was_interrupted(case: dict[str, Any]) -> bool:
    return case["trust"] == "self-reported" and any(x.startswith("busy: ") for x in case["flags"])


def expect_verdict(file: Path, case: dict[str, Any], *, is_last_try: bool = True) -> None:
    expected = verdict_of(file)
    if is_last_try and expected["status"] == "implausible" and was_interrupted(case):
        return  # it wins nothing, either
    if is_last_try and expected.get("trust") == "self-reported" and case["status"] == "implausible":
        return  # a pause in a sample on new inputs has found its false times before the audit
    assert case["status"] == expected["status"], case["reason"]
    assert expected.get("reason", "") in (case["reason"] or "")
    assert case["trust"] == expected.get("trust", case["trust"])


# A busy machine can disturb an audit: once more, alone. An honest script may be disturbed again; it is
# enough that one try vouches for it. A cheat has to be found in the second.
TRIES_ALONE = {"audited": 6}


@pytest.mark.parametrize("file", each_of(FILES))
def test_verdict(file: Path, cases: dict[str, dict[str, Any]], tmp_path: Path) -> None:
    if has_verdict(file, cases.get(file.stem)):
        return
    tries = TRIES_ALONE.get(verdict_of(file).get("trust", ""), 1)
    folders = [tmp_path / f"{i}" for i in range(tries)]
    for folder in folders[:-1]:
        if has_verdict(file, run_scripts(folder, [file]).get(file.stem)):
            return
    expect_verdict(file, run_scripts(folders[-1], [file])[file.stem])


def has_verdict(file: Path, case: dict[str, Any] | None) -> bool:
    if case is None:
        return False
    try:
        expect_verdict(file, case, is_last_try=False)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("file", each_of(IMPLEMENTATIONS))
def test_verdict_of_an_implementation(
    file: Path, implementations: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    try:
        expect_verdict(file, implementations[file.stem], is_last_try=False)
    except AssertionError:  # as above
        alone = run_implementations(tmp_path / "run", [file])
        expect_verdict(file, alone[file.stem])


def test_the_documentation_has_every_verdict() -> None:
    text = (ROOT / "docs" / "cheating.md").read_text(encoding="utf-8")
    documented = {}
    for row in re.findall(r"^\| (`\w+`[^|]*)\| `([\w-]+)` \|$", text, re.MULTILINE):
        documented |= dict.fromkeys(re.findall(r"`(\w+)`", row[0].partition(":")[0]), row[1])
    of_workloads = [file for folder in (OPERATOR, NORMS, TURNS) for file in folder.glob("*.cu")]
    rungs = [file for file in of_workloads if rung_verdict(file) not in ("ok", "audited")]
    for rung in (*RUNGS.glob("*.cu"), *rungs):
        assert documented.pop(rung.stem) == rung_verdict(rung)
    for file in (*FILES[1:], *IMPLEMENTATIONS):
        verdict = verdict_of(file)
        if verdict["status"] == "ok" and verdict.get("trust", "audited") == "audited":
            continue  # honest
        assert documented.pop(file.stem) == verdict.get("trust", verdict["status"])
    assert not documented.keys() - {"sealed", "audited"}
