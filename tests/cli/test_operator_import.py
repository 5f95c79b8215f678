"""`bench workload import`: each candidate gets the verdict that its file names."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from project import FIXTURES, bench, read_cases, read_header
from test_cheats import verdict_of

pytestmark = pytest.mark.usefixtures("warm_workers")

pytest.importorskip("torch")

PROBLEMS = FIXTURES / "problems"
CANDIDATES = sorted((PROBLEMS / "candidates").glob("*/*.py"))
IMPORTS = "import linear.py: Python loads PyTorch"
QUICK = ("--quick", "--time-limit", "50ms", "--set", "device=cpu", "--engine", "python")


Imported = Callable[[str], Path]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Imported:
    """Return a function that imports a problem with its candidates, and runs them."""

    @cache
    def run(name: str) -> Path:
        top = tmp_path_factory.mktemp(name)
        files = sorted((PROBLEMS / "candidates" / name).glob("*.py"))
        given = [part for file in files for part in ("--candidate", file)]
        as_they_are = ["--variant", ",".join(file.stem for file in files)]  # not compiled, too
        out = ["--out", top / "operator", "--", *QUICK, *as_they_are, "--out", top / "run"]
        done = bench("workload", "import", PROBLEMS / f"{name}.py", *given, *out, expect=1)
        (top / "stderr").write_text(done.stderr, "utf-8")
        return top

    return run


def case_of(file: Path, imported: Imported) -> dict[str, Any]:
    cases = read_cases(imported(file.parent.name) / "run").values()
    return next(case for case in cases if case["variant"] == file.stem)


@pytest.mark.long
@pytest.mark.parametrize("file", CANDIDATES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_verdict(file: Path, imported: Imported) -> None:
    case, expected = case_of(file, imported), verdict_of(file)
    assert case["status"] == expected["status"], case["reason"]
    assert expected.get("reason", "") in (case["reason"] or "")
    assert case["trust"] == expected.get("trust", case["trust"])
    copied = expected.get("weights_copied")
    if copied is not None:
        assert case["results"]["weights_copied"] == copied
        assert bool(case["flags"]) == (copied < case["results"]["weights"])


def test_weights_that_are_not_copied_are_a_flag(imported: Imported) -> None:
    case = case_of(PROBLEMS / "candidates" / "linear" / "other_names.py", imported)
    flag = "weights: 0 of 2 copied from Model; equal draws are assumed for others"
    assert case["flags"] == [flag]


def test_the_folder_is_kept_with_unedited_files(imported: Imported) -> None:
    kept, candidates = imported("linear") / "operator", PROBLEMS / "candidates" / "linear"
    assert (kept / "_problem.py").read_bytes() == (PROBLEMS / "linear.py").read_bytes()
    assert (kept / "_candidate_right.py").read_bytes() == (candidates / "right.py").read_bytes()
    plan = bench("plan", "--workload", kept, "--engine", "python", "--set", "device=cpu").stdout
    assert sorted(re.findall(r"imported_linear/python-cpu/(\w+)/", plan)) == [
        file.stem for file in sorted(candidates.glob("*.py"))
    ]
    assert "import" in read_header(kept.parent / "run")["argv"]
    done = bench("workload", "import", PROBLEMS / "linear.py", "--out", kept, expect=2)
    assert done.stderr == f"bench: --out {kept}: exists already\n"


def test_each_step_is_told_as_it_begins(imported: Imported) -> None:
    lines = (imported("linear") / "stderr").read_text("utf-8").splitlines()
    steps = [
        lines.index(IMPORTS),
        lines.index("import linear.py: reference in float64 on the CPU, on two inputs"),
        next(i for i, line in enumerate(lines) if line.startswith("[1/")),
    ]
    assert steps == sorted(steps)


def test_quiet_tells_no_step(tmp_path: Path) -> None:
    (tmp_path / "linear.py").write_text("raise ValueError('no problem')\n", "utf-8")
    for words in ((), ("--", "--quiet")):
        done = bench("workload", "import", tmp_path / "linear.py", *words, expect=2)
        assert (IMPORTS in done.stderr) == (words == ())


def test_one_candidate_has_a_verdict(tmp_path: Path) -> None:
    """As few cases are printed one by one, too, and steps are told before them."""
    (tmp_path / "linear.py").symlink_to(PROBLEMS / "linear.py")
    (tmp_path / "right.py").symlink_to(PROBLEMS / "candidates" / "linear" / "right.py")
    files = ["linear.py", "--candidate", "right.py"]
    quick = ["--quick", "--time-limit", "50ms", "--set", "device=cpu"]
    variants = ["--variant", "inference,right", "--out", tmp_path / "run"]
    done = bench("workload", "import", *files, "--", *quick, *variants, cwd=tmp_path)
    assert done.stderr.startswith(f"{IMPORTS}\nimport linear.py: Model runs on the CPU, as it is\n")
    # A busy machine may leave nothing to compare: times that the supervisor's clock does not confirm.
    verdict = re.search(
        r"^imported_linear( f32, CPU|: nothing to compare)", done.stdout, re.MULTILINE
    )
    assert verdict is not None
    assert "imported_linear/python-cpu/right/elements=131072  ok" in done.stdout[verdict.end() :]
    check_commands(tmp_path)


def check_commands(folder: Path) -> None:
    """They are of any folder, and as measured: no folder of the operator is left."""
    call = f"build/bench workload import {folder}/linear.py --candidate {folder}/right.py -- "
    report = bench("report", "run", "--out", "-", cwd=folder).stdout
    assert f"\n    {call}--quick --time-limit 50ms --set device=cpu " in report
    html = bench("report", "run", "--html", "-", cwd=folder).stdout
    assert f"  repeat       {call}--engine python --variant right --set=device=cpu " in html


def test_bad_command_lines(tmp_path: Path) -> None:
    problem, missing = PROBLEMS / "gelu.py", tmp_path / "missing.py"
    for arguments, message in (
        ([], "bench workload import: expected PROBLEM.py"),
        ([missing], f"bench: bench workload import: {missing}: no such file\n"),
        ([problem, "--candidate", missing], f"bench: --candidate {missing}: no such file\n"),
        ([problem, "--quick"], '--quick; options of bench run follow "--": -- --quick\n'),
        ([problem, "--cadidate", "x"], "unknown option --cadidate; did you mean --candidate?"),
        (
            [problem, "--candidate", PROBLEMS / "mlp.py", "--candidate", PROBLEMS / "mlp.py"],
            "mlp.py",
        ),
    ):
        assert message in bench("workload", "import", *arguments, expect=2).stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--quik"], "bench run: unknown option --quik; did you mean --quick?"),
        (["--time-limit", "5x"], '--time-limit: "5x": unknown unit "x", '),
        (["other.py"], "bench run: found other.py, expected options only"),
    ],
)
def test_options_of_run_are_read_before_the_problem(
    tmp_path: Path, words: list[str], said: str
) -> None:
    (tmp_path / "no_problem.py").write_text("raise ValueError", "utf-8")
    call = ["workload", "import", tmp_path / "no_problem.py", "--out", tmp_path / "kept", "--"]
    done = bench(*call, *words, expect=2)
    assert done.stderr.startswith(f"bench: {said}")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("class Model: pass\ndef f():\n    class ModelNew: pass\n", "new/a.py: no class ModelNew"),
        ("class ModelNew(:\n", "new/a.py:1: SyntaxError: invalid syntax"),
        ("from other import *\n", None),
        ("globals()['ModelNew'] = 1\n", None),
        ("if True:\n    from b import B as ModelNew\n", None),
        ("ModelNew = 1\n", None),
    ],
)
def test_a_candidate_is_read_before_the_problem_runs(
    tmp_path: Path, text: str, said: str | None
) -> None:
    problem, new = tmp_path / "no_problem.py", tmp_path / "new" / "a.py"
    new.parent.mkdir()
    problem.write_text("raise ValueError('as a problem runs')", "utf-8")
    new.write_text(text, "utf-8")
    done = bench("workload", "import", problem, "--candidate", new, expect=2)
    last = done.stderr.splitlines()[-1]
    assert last == f"bench: {said}" if said else last.endswith("ValueError: as a problem runs")


def test_a_random_model_is_refused(tmp_path: Path) -> None:
    source = (PROBLEMS / "gelu.py").read_text("utf-8")
    drawn = source + "\n\nMODEL = Model\n\n\nclass Model(MODEL):\n    def forward(self, x):\n"
    drawn += "        return super().forward(x) + torch.rand_like(x)\n"
    (tmp_path / "drawn.py").write_text(drawn, encoding="utf-8")
    message = bench("workload", "import", tmp_path / "drawn.py", expect=2).stderr
    assert "drawn.py: two runs of Model on the same inputs differ: it draws random" in message
